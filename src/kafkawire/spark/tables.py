"""The tables that segments give: their columns, and what a user's schema may ask of them.

Rules:
- Names and meanings are those of the records layer, with where the row came from (topic, partition, file) around them.
- A schema given by the user is a projection: any columns of the table in any order, in exactly the table's types. Only
  what it names is decoded.
- Times are Spark timestamps. A time that no Spark timestamp can hold is null.
- A record without headers has null headers, as Spark's Kafka source has it.
- `fault` is null in a row that was read, and says what is wrong where bytes could not be; other columns that are
  unknown then are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

COLUMNS: Final[Mapping[str, DataType]] = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestamp_type": ByteType(),
    "key": BinaryType(),
    "value": BinaryType(),
    "headers": _HEADERS,
    "position": LongType(),
    "size": LongType(),
    "magic": ByteType(),
    "codec": StringType(),
    "attributes": ShortType(),
    "base_offset": LongType(),
    "last_offset": LongType(),
    "record_count": IntegerType(),
    "base_timestamp": TimestampType(),
    "max_timestamp": TimestampType(),
    "leader_epoch": IntegerType(),
    "producer_id": LongType(),
    "producer_epoch": ShortType(),
    "base_sequence": IntegerType(),
    "is_transactional": BooleanType(),
    "is_control": BooleanType(),
    "has_delete_horizon": BooleanType(),
    "crc": LongType(),
    "batches": LongType(),
    "records": LongType(),
    "first_offset": LongType(),
    "first_timestamp": TimestampType(),
    "tail_bytes": LongType(),
    "faults": LongType(),
    "problem": StringType(),
    "file": StringType(),
    "fault": StringType(),
}
OF_THE_SOURCE: Final = ("topic", "partition", "file", "fault")
_OF_A_RECORD: Final = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
_NAMES: Final = tuple(COLUMNS)
_OF_A_BATCH: Final = _NAMES[_NAMES.index("position") : _NAMES.index("crc") + 1]
_OF_A_FILE: Final = (
    *("base_offset", "size", "batches", "records", "first_offset", "last_offset", "first_timestamp", "max_timestamp"),
    *("tail_bytes", "faults"),
)

TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "records": ("topic", "partition", *_OF_A_RECORD, "file", "position", "fault"),
    "batches": ("topic", "partition", *_OF_A_BATCH, "file", "fault"),
    "segment_files": ("topic", "partition", *_OF_A_FILE, "file"),
    "index_errors": ("topic", "partition", "file", "position", "problem"),
}
"""The columns of a table where no schema asks for others."""

_MORE: Final[Mapping[str, tuple[str, ...]]] = {"records": _OF_A_BATCH}


def table_schema(table: str) -> StructType:
    """The schema of a table.

    >>> table_schema("records").simpleString()[:35]
    'struct<topic:string,partition:int,o'
    """
    return StructType([StructField(name, COLUMNS[name]) for name in TABLES[table]])


def check_projection(table: str, schema: StructType) -> None:
    """Refuse a schema that asks for what the table has not."""
    known = dict.fromkeys((*TABLES[table], *_MORE.get(table, ())))
    for field in schema.fields:
        if field.name not in known:
            raise SourceOptionError(f"the {table} table has no column {field.name!r}; it has {', '.join(known)}")
        expected = COLUMNS[field.name]
        if field.dataType != expected:
            raise SourceOptionError(
                f"column {field.name!r} of the {table} table is {expected.simpleString()},"
                f" the schema says {field.dataType.simpleString()}"
            )
        if not field.nullable:
            raise SourceOptionError(f"column {field.name!r} of the {table} table may be null, the schema says NOT NULL")
