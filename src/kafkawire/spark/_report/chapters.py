"""The parts of a report: chapters with tables and charts as plain values.

Rules:
- A block holds numbers as they are in the tables, so that they can be compared; the page formats them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from kafkawire._look.amounts import Unit
from kafkawire._look.series import Bars, OverTime, Ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True)
class Grid:
    """A table: columns with their units, and rows."""

    name: str
    columns: Sequence[tuple[str, Unit]]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    empty: str = "none"


def headings(text: str) -> list[tuple[str, Unit]]:
    """Columns with their units; the default is text.

    >>> headings("topic | records:count | first:ms")
    [('topic', 'text'), ('records', 'count'), ('first', 'ms')]
    """
    found: list[tuple[str, Unit]] = []
    for column in text.split("|"):
        name, _, unit = column.strip().partition(":")
        assert not unit or unit in get_args(Unit)
        found.append((name, cast("Unit", unit or "text")))
    return found


Block = Grid | OverTime | Bars | Ranges


class Planned(NamedTuple):
    """Chapters that are computed in their turn, because their queries may take long."""

    subject: str
    compute: Callable[[], Iterable[Chapter]]


@dataclass
class Chapter:
    """A part of a report."""

    title: str
    text: str = ""
    blocks: list[Block] = field(default_factory=list)
