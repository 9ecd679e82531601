"""Tables that a run has written, as the steps after them see them.

Rules:
- A table is listed once, when it was written: queries over it share the frame.
- A small table is read as one partition. Queries over it then are one task each: no shuffle, and nothing for Spark to
  plan again, which is most of what a query over few rows costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kafkawire.spark.outputs import OutputDirectory

_SMALL: Final = 16 * 1024 * 1024


@dataclass
class WrittenTables:
    """What is in the output directory so far."""

    spark: SparkSession
    output: OutputDirectory
    format: str = "parquet"
    schemas: dict[str, StructType] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """How many rows a table has, where they were counted."""
    _frames: dict[str, DataFrame] = field(default_factory=dict)

    def add(self, name: str, schema: StructType, rows: int | None = None) -> None:
        """A table was written, or has grown."""
        self.schemas[name] = schema
        self._frames.pop(name, None)
        self.rows.pop(name, None)
        if rows is not None:
            self.rows[name] = rows

    def has(self, *names: str) -> bool:
        return all(name in self.schemas for name in names)

    def frame(self, name: str) -> DataFrame:
        """A table as it lies on disk."""
        if name not in self._frames:
            frame = self._load(name)
            self._frames[name] = frame.coalesce(1) if _size(frame) <= _SMALL else frame
        return self._frames[name]

    def _load(self, name: str) -> DataFrame:
        reader = self.spark.read.format(self.format)
        if self.format == "parquet":  # without its schema, the type of the topic's column would be guessed
            reader = reader.schema(self.schemas[name])
        return reader.load(self.output.table(name))


def _size(frame: DataFrame) -> int:
    """The bytes of the files that a frame reads, which Spark knows since it listed them."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
