"""Findings as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.inspect.diagnose import findings_table
from kafkawire.inspect.tables import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kafkawire.inspect.diagnose import Finding


def findings_frame(spark: SparkSession, findings: Sequence[Finding]) -> DataFrame:
    """Findings that the driver has, as a frame; none are a frame too."""
    if not findings:
        # Spark does not take an Arrow table that has no rows.
        return spark.createDataFrame([], from_arrow_schema(FINDINGS))
    return spark.createDataFrame(findings_table(findings))
