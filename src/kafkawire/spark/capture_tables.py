"""What captures give on Spark: the inspector's tables, in its columns, and what a task reads of them.

Rules:
- Columns and types are the inspector's, which Spark takes as they are.
- A task hands on what it read piece by piece, joined to Arrow batches that are neither small nor large.
- A row of `connections` is one of a connection as a whole. What its bodies tell is known to who reads all of them, so
  those columns are read undivided; the others need no bodies.
- `capture_files` has a row a file, and is made from packet headers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.inspect.capture import SUMMARIES
from kafkawire.inspect.conversations import FileFacts
from kafkawire.inspect.parts import stream_part, whole_connections
from kafkawire.inspect.tables import CONNECTIONS, EXCHANGES, GAPS, SCHEMAS
from kafkawire.spark.capture_files import hole_of, open_ranges, open_whole
from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.workers import settle_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql.types import StructType

    from kafkawire.inspect.plan import Part
    from kafkawire.spark.capture_files import CaptureFile
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
    "connections": frozenset(CONNECTIONS.names) - (set(SUMMARIES.names) - {"conn_id"}),
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


def needs_bodies(name: str, columns: Sequence[str]) -> bool:
    """Whether headers do not tell all of these columns of a table."""
    return not set(columns) <= _FROM_HEADERS.get(name, frozenset())


def needs_sessions(name: str, columns: Sequence[str]) -> bool:
    """Whether any of these columns of a table depends on what a fetch session holds."""
    wanted = {"exchanges": {"session_size"}, "exchange_partitions": {"fetch_offset", "max_bytes"}}
    return not wanted.get(name, set()).isdisjoint(columns)


def read_part(part: Part, options: Options, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a table that a part has, in the columns asked for."""
    settle_once()
    name, bodies, hole = options.table, needs_bodies(options.table, columns), hole_of(part.files)
    if name == "connections" and bodies:
        tables: Iterable[pa.Table] = iter([whole_connections(part, open_ranges, hole)])
    elif name in ("connections", "gaps"):
        tables = iter([part.tables()[name]])
    else:
        pieces = stream_part(
            part,
            bodies=bodies,
            partitions=name != "exchanges",
            records=name == "records",
            values=options.values,
            opened=open_ranges,
            hole=hole,
        )
        tables = (piece[name] for piece in pieces if name in piece)
    yield from _batches((table.select(columns) for table in tables), columns, name)


def read_file(file: CaptureFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The row of a file, in the columns asked for."""
    settle_once()
    capture = open_whole(file.name)
    facts = FileFacts(file.name, file.size, len(capture.packets), len(capture.flows), capture.faults)
    yield from files_table([file], [facts]).select(columns).to_batches()


def files_table(files: Sequence[CaptureFile], facts: Sequence[FileFacts]) -> pa.Table:
    """The table of files, with the sizes that they have where they lie."""
    rows = [
        {
            "file": file.name,
            "bytes": file.size,
            "packets": known.packets,
            "connections": known.connections,
            "faults": known.faults,
        }
        for file, known in zip(files, facts, strict=True)
    ]
    return pa.Table.from_pylist(rows, CAPTURE_FILES)


def _batches(tables: Iterable[pa.Table], columns: Sequence[str], name: str) -> Iterator[pa.RecordBatch]:
    """Tables as Arrow batches of a size that suits Spark."""
    schema = pa.schema([table_of(name).field(column) for column in columns])
    waiting = schema.empty_table()
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        if waiting.nbytes >= _TARGET_BYTES or len(waiting) >= _MAX_ROWS:
            yield from cut_table(waiting)
            waiting = schema.empty_table()
    yield from cut_table(waiting)


def cut_table(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as Arrow batches that are not large."""
    rows = max(1, min(_MAX_ROWS, len(table), 2 * _TARGET_BYTES * len(table) // max(table.nbytes, 1)))
    for start in range(0, len(table), rows):
        yield from table.slice(start, rows).combine_chunks().to_batches()
