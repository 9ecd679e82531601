"""Collecting rows for a table of a given schema; what a row does not name is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping


class Rows:
    """Rows on their way into a table.

    >>> rows = Rows(pa.schema([("a", pa.int32()), ("b", pa.string())]))
    >>> rows.add({"b": "x"})
    >>> rows.table().to_pylist()
    [{'a': None, 'b': 'x'}]
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._columns: dict[str, list[Any]] = {name: [] for name in schema.names}

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row; keys that are no columns are left out."""
        for name, column in self._columns.items():
            column.append(row.get(name))

    def column(self, name: str) -> pa.Array[Any]:
        """One column as it stands."""
        made: pa.Array[Any] = pa.array(self._columns[name], self.schema.field(name).type)
        return made

    def table(self) -> pa.Table:
        """All rows so far."""
        return pa.Table.from_arrays([self.column(name) for name in self.schema.names], schema=self.schema)
