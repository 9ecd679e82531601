"""The formats that tables are written in, and what Spark must be started with to know them.

Rules:
- Parquet is always there. Delta is there where `delta-spark` is installed; its jars are fetched by Spark at the start,
  unless the settings name them already.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from kafkawire.spark.errors import PipelineError

FORMATS: Final = ("parquet", "delta")
_SCALA: Final = "2.13"


def settings_of(table_format: str) -> dict[str, str]:
    """Settings of Spark that a format needs; a format that is not installed is refused."""
    if table_format == "parquet":
        return {}
    try:
        found, spark = version("delta-spark"), version("pyspark")
    except PackageNotFoundError:
        raise PipelineError(
            "--format delta needs the package delta-spark, of a version made for this PySpark;"
            " run: pip install delta-spark"
        ) from None
    return {
        "spark.jars.packages": f"io.delta:delta-spark_{spark.rpartition('.')[0]}_{_SCALA}:{found}",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
