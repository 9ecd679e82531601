"""Batches of topics as rows: the columns of the batches table of log files, but for where in a file they are.

Rules:
- Only headers are looked at: nothing is unpacked, and control batches and emptied ones have their row too.
- A batch is a row of the range that has its last offset, so that ranges that follow each other give each batch once.
- Filters of isolation do not apply: batches of aborted transactions have a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.spark.rows import MAX_ROWS, arrow_schema
from kafkawire.spark.tables import COLUMNS as TYPES
from kafkawire.spark.tables import TABLES
from kafkawire.spark.values import TIME, as_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.types import DataType

COLUMNS: Final[Mapping[str, DataType]] = {
    name: TYPES[name] for name in TABLES["batches"] if name not in ("position", "file", "fault")
}


class BatchShaper:
    """Headers of one partition's batches as rows with the columns asked for."""

    def __init__(self, columns: Sequence[str], topic: str, partition: int) -> None:
        self.schema = arrow_schema(columns)
        self._constants = {"topic": topic, "partition": partition}

    def rows(self, headers: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for first in range(0, headers.num_rows, MAX_ROWS):
            yield self._shaped(headers.slice(first, MAX_ROWS))

    def _shaped(self, headers: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            pa.repeat(pa.scalar(self._constants[field.name], field.type), headers.num_rows)
            if field.name in self._constants
            else _as_spark_has_it(field, headers.column(field.name))
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _as_spark_has_it(field: pa.Field[Any], column: pa.Array[Any]) -> pa.Array[Any]:
    if field.type == TIME:
        return as_microseconds(column)
    return column if column.type == field.type else column.cast(field.type)
