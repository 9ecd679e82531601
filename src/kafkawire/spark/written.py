"""The tables that a run has written, read back as frames.

Rules:
- Frames have the schema that was written: nothing is guessed, so that a topic called `2024` stays a word.
- A table that the run was not asked for is not there; who needs it asks `has` first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kafkawire.spark.outputs import OutputDirectory


@dataclass
class WrittenTables:
    """What is in the output directory so far."""

    spark: SparkSession
    output: OutputDirectory
    schemas: dict[str, StructType] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        return all(name in self.schemas for name in names)

    def frame(self, name: str) -> DataFrame:
        """A table as it lies on disk."""
        return self.spark.read.schema(self.schemas[name]).parquet(str(self.output.table(name)))
