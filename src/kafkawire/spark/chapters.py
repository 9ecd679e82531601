"""What a report is made of: chapters with tables and charts, as plain values that can be compared with the tables.

Rules:
- A block holds numbers as they are in the tables; how they look is the page's business.
- Series over time are sums over steps of equal length. The step is one that people know, and there are some 60.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Unit = Literal["text", "count", "bytes", "us", "share", "ms", "code"]
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(second * 1000 for second in (1, 2, 5, 10, 15, 30)),
    *(minute * 60_000 for minute in (1, 2, 5, 10, 15, 30)),
    *(hour * 3_600_000 for hour in (1, 2, 3, 6, 12)),
    *(day * 86_400_000 for day in (1, 2, 7, 30, 90, 365, 3650)),
)


@dataclass(frozen=True)
class Grid:
    """A table: columns with their units, and rows."""

    name: str
    columns: Sequence[tuple[str, Unit]]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    empty: str = "none"


@dataclass(frozen=True)
class Steps:
    """Equal steps of time, in milliseconds since 1970."""

    start: int
    step: int
    count: int

    @classmethod
    def over(cls, first: int, last: int, most: int = 60) -> Steps:
        """Steps that cover a span.

        >>> Steps.over(1_700_000_000_300, 1_700_000_059_000)
        Steps(start=1700000000000, step=1000, count=60)
        """
        span = max(last - first, 1)
        step = next((each for each in _STEPS if span / each <= most - 1), _STEPS[-1])
        start = first // step * step
        return cls(start, step, min((last - start) // step + 1, 10 * most))

    def marks(self, most: int = 8) -> tuple[int, range]:
        """Where an axis has its marks: how far they are apart, which people know too, and when they are.

        >>> Steps(1_700_000_000_000, 200, 40).marks()
        (1000, range(1700000000000, 1700000008000, 1000))
        """
        end = self.start + self.step * self.count
        apart = next((each for each in _STEPS if (end - self.start) / each <= most), _STEPS[-1])
        return apart, range(-(-self.start // apart) * apart, end, apart)


@dataclass(frozen=True)
class OverTime:
    """Sums by step, for each of some series; drawn as lines, or as bars on top of each other, or as rates."""

    name: str
    title: str
    unit: Unit
    steps: Steps
    series: Mapping[str, Sequence[int]]
    stacked: bool = False
    is_rate: bool = False


@dataclass(frozen=True)
class Bars:
    """Amounts by name."""

    name: str
    title: str
    unit: Unit
    items: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Ranges:
    """Percentiles by name, drawn on a logarithmic scale: 50, 90, 99 and the largest."""

    name: str
    title: str
    unit: Unit
    items: Sequence[tuple[str, Sequence[int]]]


def headings(text: str) -> list[tuple[str, Unit]]:
    """Columns with their units, text where none is said.

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


@dataclass
class Chapter:
    """A part of a report."""

    title: str
    text: str = ""
    blocks: list[Block] = field(default_factory=list)
