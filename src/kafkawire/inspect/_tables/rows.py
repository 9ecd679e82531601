"""Collect rows for a table of a given schema, and read the rows of a table.

Rules:
- A column that a row does not name is null. A name that the schema lacks is ignored.
- Rows become columns in runs, so that a long table costs little more than its Arrow form.
- Rows are kept uncopied, so they must not change after `add`.
- Times of records are milliseconds; tables have microseconds. A time that does not fit is null.
- A row that is read becomes a dictionary when it is first used, and is then the same one until KEPT others were made.
  Conditions are checked on columns, because a table has many rows of which few are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Row = dict[str, Any]

RUN: Final = 8192
KEPT: Final = 1 << 14
AT_ONCE: Final = 1 << 12
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


class Block:
    """Rows that may be added several times."""

    __slots__ = ("first", "owner", "rows")

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.owner: Rows | None = None
        self.first = 0


class PlacedRows:
    """Collects blocks of rows for places; a block that is added again costs no further rows until `take`.

    `names` are the columns of the place, of 64 bits, which are the first ones.

    >>> rows, block = PlacedRows(pa.schema([("at", pa.int64()), ("a", pa.string())]), ("at",)), Block([{"a": "x"}])
    >>> for place in (5, 7):
    ...     rows.add(block, place)
    >>> rows.take().to_pylist()
    [{'at': 5, 'a': 'x'}, {'at': 7, 'a': 'x'}]
    """

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.schema, self._names = schema, names
        self._own = pa.schema(list(schema)[len(names) :])
        self._begin()

    def _begin(self) -> None:
        self._rows = Rows(self._own)
        self._firsts: list[int] = []
        self._sizes: list[int] = []
        self._places: list[tuple[int, ...]] = []

    def add(self, block: Block, *place: int) -> None:
        """Add the rows of a block for a place."""
        if not block.rows:
            return
        if block.owner is not self._rows:
            block.owner, block.first = self._rows, len(self._rows)
            for row in block.rows:
                self._rows.add(row)
        self._firsts.append(block.first)
        self._sizes.append(len(block.rows))
        self._places.append(place)

    def take(self) -> pa.Table:
        """All rows so far; the collection is then empty."""
        rows = self._rows.table()
        sizes, firsts = np.array(self._sizes, np.int64), np.array(self._firsts, np.int64)
        places = np.array(self._places, np.int64).reshape(len(sizes), len(self._names))
        ends = np.cumsum(sizes)
        total = int(sizes.sum())
        if total > len(rows):
            rows = rows.take(np.repeat(firsts - ends + sizes, sizes) + np.arange(total))
        self._begin()
        columns = [pa.array(np.repeat(places[:, at], sizes)) for at in range(len(self._names))]
        return pa.Table.from_arrays([*columns, *rows.columns], schema=self.schema)


class LazyRows(Sequence["Row"]):
    """The rows of a table in an order; times are whole microseconds.

    `link` is a further column and a function that returns its rows for places in that order.

    >>> rows = LazyRows(pa.table({"a": [3, None, 5]}), [2, 0, 1])
    >>> rows[0], rows.where(a=(3, None)), rows.above("a", 3).tolist(), rows.numbers("a", -1).tolist()
    ({'a': 5}, [{'a': 3}, {'a': None}], [0], [5, 3, -1])
    """

    def __init__(
        self,
        table: pa.Table,
        order: Places | Sequence[int],
        link: tuple[str, Callable[[Places], Iterable[Row]]] | None = None,
    ) -> None:
        self._table, self._link = table, link
        self._order = np.asarray(order, np.int64)
        self._made: dict[int, Row] = {}
        self._columns: dict[str, pa.Array[Any]] = {}

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return self.at(np.arange(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"place {place} of {len(self)} rows")
        return self.at(np.array([place % len(self)]))[0]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.at(np.arange(len(self))))

    def at(self, places: Places) -> list[Row]:
        """The rows at these places."""
        wanted, made = places.tolist(), self._made
        missing = [place for place in wanted if place not in made]
        if missing:
            if len(made) > KEPT:
                made.clear()
                missing = wanted
            self._make(missing)
        return [made[place] for place in wanted]

    def at_each(self, groups: Sequence[Places]) -> Iterator[list[Row]]:
        """The rows of groups of places; many are made at once, because to make a single row takes long.

        >>> rows = LazyRows(pa.table({"a": [3, 4, 5]}), [0, 1, 2])
        >>> [len(own) for own in rows.at_each([np.array([2]), np.array([0, 1])])]
        [1, 2]
        """
        ends = np.cumsum([len(each) for each in groups]) // AT_ONCE
        edges = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(groups)]
        for first, last in pairwise(edges):
            some = groups[first:last]
            rows = iter(self.at(np.concatenate(some)) if len(some) else ())
            yield from ([*islice(rows, len(places))] for places in some)

    def column(self, name: str) -> pa.Array[Any]:
        """A column, in the order of the rows."""
        known = self._columns.get(name)
        if known is None:
            found: Any = self._table[name]
            if pa.types.is_timestamp(found.type):
                found = found.cast(pa.int64())
            known = self._columns[name] = found.combine_chunks().take(self._order)
        return known

    def numbers(self, name: str, null: int) -> NDArray[np.int64]:
        """A column of whole numbers, with a number in place of null."""
        filled: Any = self.column(name).cast(pa.int64()).fill_null(null)
        found: NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
        return found

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of a column."""
        return list(pc.unique(self.column(name)).to_pylist())

    def places(self, **wanted: object) -> Places:
        """The places of the rows whose columns have one of the wanted values; None is null."""
        chosen = np.ones(len(self), np.bool_)
        for name, value in wanted.items():
            column = self.column(name)
            values: list[Any] = [*value] if isinstance(value, (tuple, list, set, frozenset)) else [value]
            found: Any = pc.is_in(column, pa.array(values, column.type))
            chosen &= found.to_numpy(zero_copy_only=False)
        return np.flatnonzero(chosen)

    def where(self, **wanted: object) -> list[Row]:
        """The rows whose columns have one of the wanted values."""
        return self.at(self.places(**wanted))

    def above(self, name: str, limit: float) -> Places:
        """The places of the rows whose column is not null and greater than a limit."""
        found: Any = pc.greater(self.column(name).cast(pa.float64()), pa.scalar(float(limit)))
        return np.flatnonzero(found.fill_null(False).to_numpy(zero_copy_only=False))

    def _make(self, missing: list[int]) -> None:
        names, values = self._table.schema.names, list[Any]()
        places = np.unique(missing)
        for name in names:
            if self._table[name].null_count == len(self._table):
                values.append(repeat(None, len(places)))
            else:
                values.append(self.column(name).take(places).to_pylist())
        rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        if self._link is not None:
            column, linked = self._link
            for row, value in zip(rows, linked(places), strict=True):
                row[column] = value
        for place, row in zip(places.tolist(), rows, strict=True):
            self._made[place] = row
