"""What captures give on Spark: the inspector's tables, in its columns, and what a task reads of them.

Rules:
- Columns and types are the inspector's, which Spark takes as they are.
- A task reads its connections in pieces of some MiB and hands each on, joined to Arrow batches that are neither small
  nor large; so its memory is that of a piece and of the packet headers of its file.
- `capture_files` has a row a file, and is made from packet headers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.inspect.plan import stream_part
from kafkawire.inspect.sources.captures import open_capture
from kafkawire.inspect.tables import CONNECTIONS, EXCHANGES, GAPS, SCHEMAS
from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.workers import freeze_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from pyspark.sql.types import StructType

    from kafkawire.inspect.plan import Part
    from kafkawire.spark.captures import Options

_FILE_FIELDS: Final[list[tuple[str, pa.DataType]]] = [
    ("file", pa.string()),
    ("bytes", pa.int64()),
    ("packets", pa.int64()),  # of TCP
    ("connections", pa.int64()),
    ("faults", pa.list_(pa.string())),
]
CAPTURE_FILES: Final = pa.schema(_FILE_FIELDS)
_FROM_BODIES: Final = EXCHANGES.names[EXCHANGES.get_field_index("throttle_ms") :]
_FROM_HEADERS: Final[Mapping[str, frozenset[str]]] = {
    "connections": frozenset(CONNECTIONS.names) - {"undecoded", "software_name", "software_version", "inter_broker"},
    "gaps": frozenset(GAPS.names),
    # Whether an exchange could be decoded is a state that only decoding tells.
    "exchanges": frozenset(EXCHANGES.names) - {"state", *_FROM_BODIES},
}
_MAX_ROWS: Final = 50_000
_TARGET_BYTES: Final = 4 << 20


def table_of(name: str) -> pa.Schema:
    """The columns of a table."""
    return CAPTURE_FILES if name == "capture_files" else SCHEMAS[name]


def table_schema(name: str) -> StructType:
    """The columns of a table, as Spark says it.

    >>> table_schema("gaps").simpleString()[:36]
    'struct<conn_id:bigint,sender:string,'
    """
    return from_arrow_schema(table_of(name))


def check_projection(name: str, schema: StructType) -> None:
    """Refuse a schema that asks for what the table has not."""
    known = {field.name: field for field in table_schema(name).fields}
    for field in schema.fields:
        if field.name not in known:
            raise SourceOptionError(f"the {name} table has no column {field.name!r}; it has {', '.join(known)}")
        expected = known[field.name].dataType
        if field.dataType != expected:
            raise SourceOptionError(
                f"column {field.name!r} of the {name} table is {expected.simpleString()},"
                f" the schema says {field.dataType.simpleString()}"
            )
        if not field.nullable:
            raise SourceOptionError(f"column {field.name!r} of the {name} table may be null, the schema says NOT NULL")


def read_capture(
    part: Part, topics: Mapping[UUID, str], options: Options, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of a table that a part has, in the columns asked for."""
    freeze_once()
    if options.table == "capture_files":
        tables: Iterable[pa.Table] = iter([_file_row(part)])
    else:
        pieces = stream_part(
            part,
            topics,
            bodies=not set(columns) <= _FROM_HEADERS.get(options.table, frozenset()),
            partitions=options.table not in _FROM_HEADERS,
            records=options.table == "records",
            values=options.values,
        )
        tables = (piece[options.table] for piece in pieces if options.table in piece)
    yield from _batches((table.select(columns) for table in tables), columns, options.table)


def _file_row(part: Part) -> pa.Table:
    capture = open_capture(part.path)
    row = {
        "file": part.path,
        "bytes": part.bytes,
        "packets": len(capture.packets),
        "connections": len(capture.flows),
        "faults": capture.faults,
    }
    return pa.Table.from_pylist([row], CAPTURE_FILES)


def _batches(tables: Iterable[pa.Table], columns: Sequence[str], name: str) -> Iterator[pa.RecordBatch]:
    """Tables as Arrow batches of a size that suits Spark."""
    schema = pa.schema([table_of(name).field(column) for column in columns])
    waiting = schema.empty_table()
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        if waiting.nbytes >= _TARGET_BYTES or len(waiting) >= _MAX_ROWS:
            yield from _cut(waiting)
            waiting = schema.empty_table()
    yield from _cut(waiting)


def _cut(table: pa.Table) -> Iterator[pa.RecordBatch]:
    rows = max(1, min(_MAX_ROWS, len(table), 2 * _TARGET_BYTES * len(table) // max(table.nbytes, 1)))
    for start in range(0, len(table), rows):
        yield from table.slice(start, rows).combine_chunks().to_batches()
