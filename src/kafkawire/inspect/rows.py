"""Collecting rows for a table of a given schema.

Rules:
- What a row does not name is null; what it names beyond the schema is left out.
- Rows become columns in runs, so that a long table costs little more than its Arrow form.
- A row is kept as it is given: it must not change afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

_RUN: Final = 8192


class Rows:
    """Rows on their way into a table.

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
        if len(self._waiting) == _RUN:
            self._settle()

    def add_columns(self, rows: pa.RecordBatch) -> None:
        """Add rows that are columns already."""
        self._settle()
        self._runs.append(rows)
        self._count += len(rows)

    def table(self) -> pa.Table:
        """All rows so far."""
        self._settle()
        return pa.Table.from_batches(self._runs, self.schema)

    def take(self) -> pa.Table:
        """All rows so far, which are then forgotten."""
        taken = self.table()
        self._runs, self._count = [], 0
        return taken

    def _settle(self) -> None:
        if self._waiting:
            columns: list[pa.Array[Any]] = [
                pa.array([row.get(column.name) for row in self._waiting], column.type) for column in self.schema
            ]
            self._runs.append(pa.RecordBatch.from_arrays(columns, schema=self.schema))
            self._waiting = []
