"""The parts of a report: chapters with tables and charts as plain values, and numbers as text.

Rules:
- A block holds numbers as they are in the tables, so that they can be compared; the page formats them.
- Series over time are sums over about 60 steps of equal, round length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Unit = Literal["text", "count", "bytes", "us", "share", "ms", "code", "exchange"]
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(second * 1000 for second in (1, 2, 5, 10, 15, 30)),
    *(minute * 60_000 for minute in (1, 2, 5, 10, 15, 30)),
    *(hour * 3_600_000 for hour in (1, 2, 3, 6, 12)),
    *(day * 86_400_000 for day in (1, 2, 7, 30, 90, 365, 3650)),
)

_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNTS: Final = ("", "k", "M", "G", "T")


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
        """The marks of an axis: their distance, which is round, and their times.

        >>> Steps(1_700_000_000_000, 200, 40).marks()
        (1000, range(1700000000000, 1700000008000, 1000))
        """
        end = self.start + self.step * self.count
        apart = next((each for each in _STEPS if (end - self.start) / each <= most), _STEPS[-1])
        return apart, range(-(-self.start // apart) * apart, end, apart)


@dataclass(frozen=True)
class OverTime:
    """Sums by step for each series; drawn as lines, as stacked bars, or as rates."""

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


@dataclass
class Chapter:
    """A part of a report."""

    title: str
    text: str = ""
    blocks: list[Block] = field(default_factory=list)


def show(value: Any, unit: Unit) -> str:
    """A value in full, for tables.

    >>> show(1234567, "count"), show(2048, "bytes"), show(1500, "us"), show(0.125, "share"), show(None, "count")
    ('1\\u202f234\\u202f567', '2.0 KiB', '1.5 ms', '12.5 %', '-')
    """
    if value is None:
        return "-"
    if unit == "count":
        return f"{value:,}".replace(",", "\u202f")
    if unit == "bytes":
        return _scaled(value, _SIZES, 1024)
    if unit == "us":
        return duration(value)
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "ms":
        return moment(value)
    return str(value)


def short(value: float, unit: Unit) -> str:
    """A value in short, for the axis of a chart.

    >>> short(1_500_000, "count"), short(3 << 20, "bytes"), short(20, "count"), short(0.5, "bytes"), short(1000, "us")
    ('1.5M', '3 MiB', '20', '0.5 B', '1 ms')
    """
    if unit == "bytes":
        return _scaled(value, _SIZES, 1024).replace(".0 ", " ") if value >= 1024 else f"{value:g} B"
    if unit == "us":
        return duration(value).replace(".0 ", " ")
    return _scaled(value, _COUNTS, 1000).replace(".0", "").replace(" ", "") if value >= 1000 else f"{value:g}"


def duration(microseconds: float) -> str:
    """A duration in a suitable unit.

    >>> duration(850), duration(12_300), duration(4_000_000)
    ('850 µs', '12.3 ms', '4.0 s')
    """
    if microseconds < 1000:
        return f"{microseconds:.0f} µs"
    return f"{microseconds / 1000:.1f} ms" if microseconds < 1_000_000 else f"{microseconds / 1_000_000:.1f} s"


def moment(milliseconds: int) -> str:
    """A time in UTC, to the millisecond."""
    try:
        when = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return when.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03}"


def _scaled(value: float, names: tuple[str, ...], base: int) -> str:
    rank = 0
    while value >= base and rank < len(names) - 1:
        value, rank = value / base, rank + 1
    return f"{value:.0f} {names[0]}".rstrip() if rank == 0 else f"{value:.1f} {names[rank]}"
