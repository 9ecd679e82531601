"""The inspector's tables on Spark, and the work of a task.

Rules:
- Columns and types are the inspector's.
- A task yields Arrow batches of medium size.
- A row of `connections` describes a whole connection. Some columns need all bodies of the connection, so one task reads
  them all. The others need no bodies.
- `capture_files` has one row per file, from packet headers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kafkawire.inspect import (
    CONNECTIONS,
    EXCHANGES,
    GAPS,
    OLD_NAMES,
    SCHEMAS,
    SUMMARIES,
    FileFacts,
    select_columns,
    selection_schema,
    stream_part,
    whole_connections,
)
from kafkawire.spark import _columns
from kafkawire.spark._captures.files import hole_of, open_ranges, open_whole
from kafkawire.spark._workers import tune_worker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql.types import StructType

    from kafkawire.inspect import CapturePart
    from kafkawire.spark._captures.files import CaptureFile
    from kafkawire.spark._captures.source import Options

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
    # The state includes whether an exchange could be decoded.
    "exchanges": frozenset(EXCHANGES.names) - {"state", *_FROM_BODIES},
}
_MAX_ROWS: Final = 50_000
_TARGET_BYTES: Final = 4 << 20


def table_of(name: str) -> pa.Schema:
    """The columns of a table."""
    return CAPTURE_FILES if name == "capture_files" else SCHEMAS[name]


def table_schema(name: str, *, old_names: bool = False) -> StructType:
    """The columns of a table as a schema of Spark.

    >>> table_schema("gaps").simpleString()[:36]
    'struct<conn_id:bigint,sender:string,'
    """
    schema = table_of(name)
    if old_names:
        return _columns.with_old_names(name, schema, _old(name))
    return _columns.as_struct(_columns.spark_types(schema))


def check_projection(name: str, schema: StructType) -> None:
    """Reject a schema with columns that the table does not have."""
    _columns.check_projection(name, _columns.spark_types(table_of(name)), schema, _old(name))


def _old(name: str) -> Collection[str]:
    return OLD_NAMES.get(name, {}).keys()


def needs_bodies(name: str, columns: Sequence[str]) -> bool:
    """Whether any of these columns needs bodies."""
    return not set(columns) <= _FROM_HEADERS.get(name, frozenset())


def needs_sessions(name: str, columns: Sequence[str]) -> bool:
    """Whether any of these columns depends on the content of fetch sessions."""
    wanted = {"exchanges": {"session_size"}, "exchange_partitions": {"fetch_offset", "max_bytes"}}
    return not wanted.get(name, set()).isdisjoint(columns)


def read_part(part: CapturePart, options: Options, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a part, in the requested columns."""
    tune_worker()
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
    yield from _batches((spark_rows(name, table, columns) for table in tables), columns, name)


def spark_rows(name: str, table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Columns of a table with the values that Spark's other tables have."""
    table = select_columns(name, table, columns)
    if name == "records" and "headers" in columns:
        found = table["headers"].combine_chunks()
        number, kind = table.schema.get_field_index("headers"), table.schema.field("headers").type
        table = table.set_column(number, "headers", _columns.null_where_empty(found).cast(kind))
    return table


def read_file(file: CaptureFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The row of a file, in the requested columns."""
    tune_worker()
    capture = open_whole(file.name)
    facts = FileFacts(file.name, file.size, len(capture.packets), len(capture.flows), capture.faults)
    yield from files_table([file], [facts]).select(columns).to_batches()


def files_table(files: Sequence[CaptureFile], facts: Sequence[FileFacts]) -> pa.Table:
    """The table of files, with their original sizes."""
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
    """Tables as Arrow batches of a suitable size."""
    schema = selection_schema(name, columns)
    waiting = schema.empty_table()
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        if waiting.nbytes >= _TARGET_BYTES or len(waiting) >= _MAX_ROWS:
            yield from cut_table(waiting)
            waiting = schema.empty_table()
    yield from cut_table(waiting)


def cut_table(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as Arrow batches of limited size."""
    rows = max(1, min(_MAX_ROWS, len(table), 2 * _TARGET_BYTES * len(table) // max(table.nbytes, 1)))
    for start in range(0, len(table), rows):
        yield from table.slice(start, rows).combine_chunks().to_batches()
