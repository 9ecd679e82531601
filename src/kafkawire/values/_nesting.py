"""The limit of the columns that one schema may have.

Rules:
- A schema that uses a type in several places has its columns in each of them. Types within types multiply them, so that
  a small text could have more columns than fit into memory.
- Columns are counted while they are made, and a schema with more than MOST_COLUMNS is refused.
"""

from __future__ import annotations

from typing import Final

from kafkawire.values.errors import SchemaError

MOST_COLUMNS: Final = 10_000


class ColumnCount:
    """The columns of a schema, on all levels, that were made so far."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        """Count a column; raise if the schema has too many."""
        self._count += 1
        if self._count > MOST_COLUMNS:
            raise SchemaError(f"the schema has more than {MOST_COLUMNS} columns, counted on all levels")
