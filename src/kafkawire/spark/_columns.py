"""The columns of tables on Spark: their types, the projections that a schema may ask for, and their values.

Rules:
- Names and types are those of `inspect/_tables/schemas.py`, for log files, topics and captures alike.
- A schema given by the user is a projection: any columns of the table in any order, in exactly the table's types. Only
  the columns that it names are decoded.
- Spark compares types exactly: times are microseconds in UTC, and every column is nullable.
- A time that no Spark timestamp can hold is null. A record without headers has null headers, as Spark's Kafka source
  has it, not an empty list.
- `fault` is null in a row that was read, and states the problem where bytes could not be read. Other unknown columns
  are then null.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType, StructField, StructType

from kafkawire.inspect import BATCH_COLUMNS, LOG_SCHEMAS, OLD_NAMES, TIME, as_microseconds, warn_of_old_names
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from pyspark.sql.types import DataType

MAX_ROWS: Final = 50_000
"""The most rows of an Arrow batch."""
MAX_BYTES: Final = 3 * 1024 * 1024
"""About the most bytes of an Arrow batch. One of 8 MiB leaves the caches, which costs the JVM a tenth more."""
_HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
_log = logging.getLogger("kafkawire.spark")


def _field(field: pa.Field[Any]) -> pa.Field[Any]:
    """A column as Spark names its parts: those of a list are called `element`."""
    kind = field.type
    return pa.field(field.name, pa.list_(pa.field("element", kind.value_type))) if pa.types.is_list(kind) else field


_FIELDS: Final = {
    field.name: _field(field) for schema in (*LOG_SCHEMAS.values(), BATCH_COLUMNS) for field in schema
} | {"headers": pa.field("headers", _HEADERS)}


def spark_types(schema: pa.Schema) -> dict[str, DataType]:
    """The columns of an Arrow schema with Spark's types."""
    return {field.name: field.dataType for field in from_arrow_schema(schema).fields}


COLUMNS: Final[Mapping[str, DataType]] = spark_types(pa.schema(list(_FIELDS.values())))
TABLES: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(schema.names) for name, schema in LOG_SCHEMAS.items()}
"""The columns of the tables of log files, unless a schema asks for others."""
_TIMESTAMP_TYPE: Final = pa.field("timestampType", pa.int32())
_OF_THE_CONNECTOR: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
TOPIC_TABLES: Final[Mapping[str, Mapping[str, DataType]]] = {
    "records": {name: COLUMNS.get(name, IntegerType()) for name in _OF_THE_CONNECTOR},
    "batches": {name: COLUMNS[name] for name in TABLES["batches"] if name not in ("position", "file", "fault")},
}
"""The columns of topics: those of Spark's own Kafka connector for records, and those of log files for batches."""
_OLD: Final[Mapping[str, tuple[str, ...]]] = {"segment_files": ("batches",)}


def arrow_schema(columns: Iterable[str]) -> pa.Schema:
    """Columns of log files and topics in the types that Spark takes."""
    return pa.schema([_FIELDS[name] for name in columns])


def table_schema(table: str, *, old_names: bool = False) -> StructType:
    """The schema of a table of log files.

    >>> table_schema("records").simpleString()[:35]
    'struct<topic:string,partition:int,o'
    """
    schema = LOG_SCHEMAS[table]
    return with_old_names(table, schema, _OLD.get(table, ())) if old_names else as_struct(spark_types(schema))


def as_struct(columns: Mapping[str, DataType]) -> StructType:
    """Columns as a schema of Spark."""
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def with_old_names(table: str, schema: pa.Schema, old: Collection[str]) -> StructType:
    """The schema of a table with the names that its columns had before."""
    found = {OLD_NAMES[table][name].new: name for name in old}
    fields = [
        pa.field(found[field.name], OLD_NAMES[table][found[field.name]].type) if field.name in found else field
        for field in schema
    ]
    return from_arrow_schema(pa.schema(fields))


def check_segments_projection(table: str, schema: StructType) -> None:
    """Reject a schema with columns that a table of log files does not have."""
    known = dict.fromkeys((*TABLES[table], *(BATCH_COLUMNS.names if table == "records" else ())))
    check_projection(table, {name: COLUMNS[name] for name in known}, schema, _OLD.get(table, ()))


def check_projection(
    table: str, columns: Mapping[str, DataType], schema: StructType, old: Collection[str] = ()
) -> None:
    """Reject a schema with columns that a table does not have; `old` are names of before that it still accepts."""
    known = dict(columns)
    if old:
        known |= spark_types(pa.schema([(name, OLD_NAMES[table][name].type) for name in old]))
    for field in schema.fields:
        expected = known.get(field.name)
        if expected is None:
            raise SourceOptionError(f"the {table} table has no column {field.name!r}; it has {', '.join(columns)}")
        if field.dataType != expected:
            raise SourceOptionError(
                f"column {field.name!r} of the {table} table is {expected.simpleString()},"
                f" the schema says {field.dataType.simpleString()}"
            )
        if not field.nullable:
            raise SourceOptionError(f"column {field.name!r} of the {table} table may be null, the schema says NOT NULL")
    text = warn_of_old_names(table, [name for name in schema.names if name in old]) if old else None
    if text is not None:
        # Python hides deprecations in a worker of Spark, where this runs.
        _log.warning("%s", text)


def topic_schema(table: str = "records", *, include_headers: bool = True) -> StructType:
    """The columns of the records or batches of topics.

    >>> topic_schema(include_headers=False).simpleString()[:50]
    'struct<key:binary,value:binary,topic:string,partit'
    """
    columns = TOPIC_TABLES[table]
    return as_struct({name: kind for name, kind in columns.items() if name != "headers" or include_headers})


def topic_arrow_schema(columns: Iterable[str], decoded: Mapping[str, pa.Field[Any]] = {}) -> pa.Schema:
    """Columns of topics in the types that Spark takes; `decoded` are those with schemas."""
    known = {**_FIELDS, _TIMESTAMP_TYPE.name: _TIMESTAMP_TYPE, **decoded}
    return pa.schema([known[name] for name in columns])


def spark_column(field: pa.Field[Any], column: pa.Array[Any]) -> pa.Array[Any]:
    """A decoded column in the type that Spark takes."""
    if field.name == "headers":
        return null_where_empty(column)
    if field.type == TIME:
        return as_microseconds(column)
    return column if column.type == field.type else column.cast(field.type)


def in_parts(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows in batches of at most `MAX_ROWS` rows and about `MAX_BYTES` bytes, of the same size but for the last."""
    most = max(1, min(MAX_ROWS, MAX_BYTES * rows.num_rows // max(rows.nbytes, 1)))
    for first in range(0, rows.num_rows, most):
        yield rows.slice(first, most)


def null_where_empty(column: pa.Array[Any]) -> pa.Array[Any]:
    """Headers; null instead of an empty list."""
    assert isinstance(column, pa.ListArray)
    lengths = pc.list_value_length(column)
    if not pc.max(lengths).as_py():
        return pa.nulls(len(column), _HEADERS)
    # A mask needs offsets that start at the array's own beginning, which a slice's need not.
    whole = column if column.offset == 0 else pa.concat_arrays([column])
    empty = pc.equal(lengths, pa.scalar(0, pa.int32()))
    return pa.ListArray.from_arrays(whole.offsets, whole.values, type=_HEADERS, mask=empty)
