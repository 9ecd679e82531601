"""Collect rows for a table of a given schema.

Rules:
- A column that a row does not name is null. A name that the schema lacks is ignored.
- Rows become columns in runs, so that a long table costs little more than its Arrow form.
- Rows are kept uncopied, so they must not change after `add`.
- Times of records are milliseconds; tables have microseconds. A time that does not fit is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN: Final = 8192
_LARGEST: Final = (2**63 - 1) // 1000
TIME: Final = pa.timestamp("us", tz="UTC")


def microseconds(milliseconds: int) -> int | None:
    """A time in microseconds; None if 64 bits cannot hold it.

    >>> microseconds(1_700_000_000_000), microseconds(2**60)
    (1700000000000000, None)
    """
    return milliseconds * 1000 if -_LARGEST <= milliseconds <= _LARGEST else None


def as_microseconds(column: pa.Array[Any]) -> pa.Array[Any]:
    """A column of times in milliseconds as microseconds; null if they do not fit."""
    try:
        return column.cast(TIME)
    except pa.ArrowInvalid:
        milliseconds = column.cast(pa.int64())
        most, least = pa.scalar(_LARGEST, pa.int64()), pa.scalar(-_LARGEST, pa.int64())
        fits = pc.and_(pc.less_equal(milliseconds, most), pc.greater_equal(milliseconds, least))
        held: pa.Array[Any] = pc.if_else(fits, column, pa.scalar(None, column.type))
        return held.cast(TIME)


class Rows:
    """Collects the rows of a table.

    >>> rows = Rows(pa.schema([("a", pa.int32()), ("b", pa.string())]))
    >>> rows.add({"b": "x"})
    >>> rows.table().to_pylist()
    [{'a': None, 'b': 'x'}]
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._runs: list[pa.RecordBatch] = []
        self._waiting: list[Mapping[str, object]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row."""
        self._waiting.append(row)
        self._count += 1
        if len(self._waiting) == RUN:
            self._flush()

    def add_columns(self, rows: pa.RecordBatch) -> None:
        """Add rows that are columns."""
        self._flush()
        self._runs.append(rows)
        self._count += len(rows)

    def table(self) -> pa.Table:
        """All rows so far."""
        self._flush()
        return pa.Table.from_batches(self._runs, self.schema)

    def take(self) -> pa.Table:
        """All rows so far; the collection is then empty."""
        taken = self.table()
        self._runs, self._count = [], 0
        return taken

    def _flush(self) -> None:
        if self._waiting:
            rows = cast("pa.StructArray", pa.array(self._waiting, pa.struct(list(self.schema))))
            self._runs.append(pa.RecordBatch.from_arrays(rows.flatten(), schema=self.schema))
            self._waiting = []
