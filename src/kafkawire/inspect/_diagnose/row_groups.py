"""Groups and runs of rows, found in columns, so that rules make only the rows that they report.

Rules:
- A place is the number of a row. A code is a number that equal keys share.
- Groups are in the order of their first rows. The places of a group are in the order of the rows.
- A run is a stretch of a group with one value. `order` has the places of all groups, one group after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._tables.rows import LazyRows

    Places = NDArray[np.int64]
    Row = dict[str, Any]

K = TypeVar("K")


def codes_of(*columns: Places | pa.Array[Any]) -> Places:
    """One number per row; rows have the same number if they are equal in all columns.

    >>> codes_of(np.array([7, 9, 7]), pa.array(["a", "a", "a"])).tolist()
    [0, 1, 0]
    """
    found: Places = _dense(columns[0])
    for column in columns[1:]:
        more = _dense(column)
        found = _dense(found * (int(more.max(initial=0)) + 1) + more)
    return found


def _dense(column: Places | pa.Array[Any]) -> Places:
    """Numbers from 0 on, fewer than there are rows, and one for null."""
    values: Any = column if isinstance(column, pa.Array) else pa.array(column)
    indices: Any = values.dictionary_encode("encode").indices
    found: Places = indices.to_numpy().astype(np.int64)
    return found


class Groups:
    """Places by a code."""

    def __init__(self, codes: Places, places: Places | None = None) -> None:
        """`codes` has one number per place; without `places`, these are all rows."""
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        ranks = rank[inverse]
        order = np.argsort(ranks, kind="stable")
        self.order: Places = order if places is None else places[order]
        """The places of all groups, one group after the other."""
        self.numbers: Places = ranks[order]
        """The number of the group of each place in `order`."""

    def members(self) -> list[Places]:
        """The places of each group."""
        return np.split(self.order, np.flatnonzero(np.diff(self.numbers)) + 1) if len(self.order) else []

    def runs(self, values: Places, least: int = 1, *, null: int | None = None) -> list[Places]:
        """The places of the stretches with one value in a group; `values` has one item per place in `order`."""
        if not len(values):
            return []
        changes = (np.diff(self.numbers) != 0) | (np.diff(values) != 0)
        edges = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(changes) + 1, np.full(1, len(values))])
        wanted = np.diff(edges) >= max(least, 1)
        if null is not None:
            wanted &= values[edges[:-1]] != null
        return [self.order[edges[number] : edges[number + 1]] for number in np.flatnonzero(wanted).tolist()]

    def constant(self, values: Places, least: int) -> list[Places]:
        """The places of the groups that have one value and at least so many rows."""
        begins = np.flatnonzero(np.diff(self.numbers, prepend=-1))
        if not len(begins):
            return []
        alike = np.minimum.reduceat(values, begins) == np.maximum.reduceat(values, begins)
        sizes = np.diff(begins, append=len(values))
        long = np.flatnonzero(alike & (sizes >= least)).tolist()
        return [self.order[begins[number] : begins[number] + sizes[number]] for number in long]

    def falls(self, values: Places, *, null: int) -> list[Places]:
        """Pairs of neighbours in a group of which the second has a lower value; nulls are left out."""
        known = np.flatnonzero(values != null)
        places, numbers, values = self.order[known], self.numbers[known], values[known]
        lower = np.flatnonzero((np.diff(numbers) == 0) & (np.diff(values) < 0))
        return [places[place : place + 2] for place in lower.tolist()]


class RowGroups(Groups, Mapping[K, "list[Row]"]):
    """Rows by a key, in the order of the first row of each; rows are made when a group is asked for."""

    def __init__(self, rows: LazyRows, codes: Places, key: Callable[[Row], K], places: Places | None = None) -> None:
        super().__init__(codes, places)
        self._rows, self._key = rows, key

    @cached_property
    def places(self) -> dict[K, Places]:
        """The places of the rows of each key."""
        members = self.members()
        firsts = self._rows.at(np.array([own[0] for own in members], np.int64))
        return dict(zip(map(self._key, firsts), members, strict=True))

    def __getitem__(self, key: K) -> list[Row]:
        return self._rows.at(self.places[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
