"""The formats that tables are written in, and what Spark must be started with to know them.

Rules:
- Parquet is always there. Delta is there where `delta-spark` is installed; its jars are fetched by Spark at the start,
  unless the user's settings name jars already.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCALA: Final = "2.13"


def settings_of(table_format: str, given: Mapping[str, str]) -> dict[str, str]:
    """Settings of Spark that a format needs besides those given; a format that is not installed is refused."""
    if table_format == "parquet":
        return {}
    try:
        found, spark = version("delta-spark"), version("pyspark")
    except PackageNotFoundError:
        raise PipelineError(
            "--format delta needs the package delta-spark, of a version made for this PySpark;"
            " run: pip install delta-spark"
        ) from None
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    if not {"spark.jars", "spark.jars.packages"} & given.keys():
        settings["spark.jars.packages"] = f"io.delta:delta-spark_{spark.rpartition('.')[0]}_{_SCALA}:{found}"
    return settings
