"""Column names before 0.2, which readers accept for one release.

Rules:
- A column with an old name has its old values: times in milliseconds, null for header fields that a batch does not
  have.
- Every use of an old name raises a DeprecationWarning that names the new one.
- Tables have old names only on request: in `columns` of the Arrow readers, and in a schema on Spark.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._tables.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Column = pa.ChunkedArray[Any]


def _same(column: Column) -> Column:
    return column


def _milliseconds(column: Column) -> Column:
    milliseconds: Column = pc.divide(column.cast(pa.int64()), pa.scalar(1000, pa.int64()))
    return milliseconds


def _null_if_negative(column: Column) -> Column:
    is_known = pc.greater_equal(column, pa.scalar(0, column.type))
    known: Column = pc.if_else(is_known, column, pa.scalar(None, column.type))
    return known


def _clock(column: Column) -> Column:
    numbers = _null_if_negative(column).cast(pa.int32())
    return pa.chunked_array([pa.array(["create", "append"])]).take(numbers)


class OldName(NamedTuple):
    """The new name of a column, and how its old values follow from the new ones."""

    new: str
    type: pa.DataType
    restore: Callable[[Column], Any] = _same


OLD_NAMES: Final[Mapping[str, Mapping[str, OldName]]] = {
    "batches": {
        "count": OldName("record_count", pa.int32(), _null_if_negative),
        "ts_type": OldName("timestamp_type", pa.string(), _clock),
        "base_ts": OldName("base_timestamp", pa.int64(), _milliseconds),
        "max_ts": OldName("max_timestamp", pa.int64(), _milliseconds),
        "epoch": OldName("producer_epoch", pa.int16(), _null_if_negative),
        "base_seq": OldName("base_sequence", pa.int32(), _null_if_negative),
        "txn": OldName("is_transactional", pa.bool_()),
        "control": OldName("is_control", pa.bool_()),
        "bytes": OldName("size", pa.int64()),
    },
    "records": {"ts": OldName("timestamp", pa.int64(), _milliseconds)},
    "segment_files": {
        "bytes": OldName("size", pa.int64()),
        "batches": OldName("entries", pa.int64()),
        "max_ts": OldName("max_timestamp", pa.int64(), _milliseconds),
    },
    "index_errors": {"text": OldName("problem", pa.string())},
}


def new_names(table: str, columns: Iterable[str]) -> list[str]:
    """The columns that a selection reads, each once."""
    old = OLD_NAMES.get(table, {})
    return list(dict.fromkeys(old[name].new if name in old else name for name in columns))


def warn_of_old_names(table: str, columns: Iterable[str], *, stacklevel: int = 3) -> str | None:
    """Warn if a selection has old names; returns the text of the warning."""
    old = OLD_NAMES.get(table, {})
    found = [f"{name} is now {old[name].new}" for name in columns if name in old]
    if not found:
        return None
    text = f"old column names of the table {table}, which the next release removes: {', '.join(found)}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)
    return text


def selection_schema(table: str, columns: Iterable[str], schemas: Mapping[str, pa.Schema] = SCHEMAS) -> pa.Schema:
    """The schema of a selection; old names have their old types."""
    old, schema = OLD_NAMES.get(table, {}), schemas[table]
    return pa.schema([pa.field(name, old[name].type) if name in old else schema.field(name) for name in columns])


def select_columns(table: str, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Some columns of a table, by new or old names.

    >>> table = pa.table({"size": pa.array([61], pa.int64())})
    >>> select_columns("batches", table, ["bytes", "size"]).to_pylist()
    [{'bytes': 61, 'size': 61}]
    """
    old = OLD_NAMES.get(table, {})
    if old.keys().isdisjoint(columns):
        return rows.select(list(columns))
    arrays = [old[name].restore(rows[old[name].new]) if name in old else rows[name] for name in columns]
    return pa.table(dict(zip(columns, arrays, strict=True)))


def checked_columns(columns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """A selection of columns by table, once it is known that the tables have them; warns of old names."""
    for table, names in columns.items():
        schema = SCHEMAS.get(table)
        if schema is None:
            raise KeyError(f"no table {table!r}, expected one of {', '.join(SCHEMAS)}")
        unknown = [name for name in new_names(table, names) if name not in schema.names]
        if unknown:
            raise KeyError(f"the table {table} has no column {', '.join(unknown)}; it has {', '.join(schema.names)}")
        warn_of_old_names(table, names, stacklevel=4)
    return columns


def selected(tables: dict[str, pa.Table], columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
    """Tables with only the columns that a selection names; a table that it does not name keeps all of them."""
    return {
        name: select_columns(name, table, columns[name]) if name in columns else table for name, table in tables.items()
    }
