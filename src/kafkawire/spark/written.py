"""Tables that a run has written, as the steps after them see them."""

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
    format: str = "parquet"

    def has(self, *names: str) -> bool:
        return all(name in self.schemas for name in names)

    def frame(self, name: str) -> DataFrame:
        """A table as it lies on disk."""
        reader = self.spark.read.format(self.format)
        if self.format == "parquet":  # without its schema, the type of the topic's column would be guessed
            reader = reader.schema(self.schemas[name])
        return reader.load(self.output.table(name))
