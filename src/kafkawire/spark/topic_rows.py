"""Rows of topics in the Arrow types that Spark takes: the columns of Spark's own Kafka connector.

Rules:
- Spark compares types exactly: microseconds, UTC, every column nullable.
- A schema that the user gives is a projection: any of the columns in any order, in exactly these types. Only what it
  names is decoded.
- A record without headers has null headers. A time that no Spark timestamp can hold is null.
- An Arrow batch has at most 50 000 rows; the reader keeps them under 8 MiB or so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkawire.spark import topic_batches, values
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_ROWS: Final = 50_000
HEADERS: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
COLUMNS: Final[Mapping[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": HEADERS,
}
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": values.TIME,
    "timestampType": pa.int32(),
    "headers": values.HEADERS,
}
_DECODED: Final = {"timestampType": "timestamp_type"}


def topic_schema(*, include_headers: bool, table: str = "records") -> StructType:
    """The columns of a topic's records, or of its batches.

    >>> topic_schema(include_headers=False).simpleString()[:50]
    'struct<key:binary,value:binary,topic:string,partit'
    """
    columns = _columns(table)
    names = [name for name in columns if name != "headers" or include_headers]
    return StructType([StructField(name, columns[name]) for name in names])


def check_projection(schema: StructType, table: str = "records") -> None:
    """Refuse a schema that asks for what topics have not."""
    columns = _columns(table)
    for field in schema.fields:
        expected = columns.get(field.name)
        if expected is None:
            raise SourceOptionError(f"topics have no column {field.name!r}; they have {', '.join(columns)}")
        if field.dataType != expected:
            raise SourceOptionError(
                f"column {field.name!r} of topics is {expected.simpleString()},"
                f" the schema says {field.dataType.simpleString()}"
            )
        if not field.nullable:
            raise SourceOptionError(f"column {field.name!r} of topics may be null, the schema says NOT NULL")


def _columns(table: str) -> Mapping[str, DataType]:
    return topic_batches.COLUMNS if table == "batches" else COLUMNS


class RowShaper:
    """Decoded records of one partition as rows with the columns asked for."""

    def __init__(self, columns: Sequence[str], topic: str, partition: int) -> None:
        self.schema = pa.schema([(name, _TYPES[name]) for name in columns])
        self.decoded = [_DECODED.get(name, name) for name in columns if name not in ("topic", "partition")] or [
            "offset"
        ]
        self._constants: dict[str, pa.Array[Any]] = {}
        if "topic" in columns:
            self._constants["topic"] = pa.repeat(pa.scalar(topic, pa.string()), MAX_ROWS)
        if "partition" in columns:
            self._constants["partition"] = pa.repeat(pa.scalar(partition, pa.int32()), MAX_ROWS)

    def rows(self, decoded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for first in range(0, decoded.num_rows, MAX_ROWS):
            yield self._shaped(decoded.slice(first, MAX_ROWS))

    def _shaped(self, decoded: pa.RecordBatch) -> pa.RecordBatch:
        count = decoded.num_rows
        arrays = [
            self._constants[field.name].slice(0, count)
            if field.name in self._constants
            else _as_spark_has_it(field, decoded.column(_DECODED.get(field.name, field.name)))
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _as_spark_has_it(field: pa.Field[Any], column: pa.Array[Any]) -> pa.Array[Any]:
    if field.name == "headers":
        return values.null_where_empty(column)
    if field.name == "timestamp":
        return values.as_microseconds(column)
    return column if column.type == field.type else column.cast(field.type)
