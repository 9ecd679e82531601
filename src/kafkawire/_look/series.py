"""Series and amounts for charts, as plain values.

Rules:
- Numbers are as they are in the tables, so that they can be compared; a chart formats them.
- Series over time are sums over steps of equal, round length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire._look.amounts import Unit

COLOURS: Final = 8
"""The colours of series in theme.css."""
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(second * 1000 for second in (1, 2, 5, 10, 15, 30)),
    *(minute * 60_000 for minute in (1, 2, 5, 10, 15, 30)),
    *(hour * 3_600_000 for hour in (1, 2, 3, 6, 12)),
    *(day * 86_400_000 for day in (1, 2, 7, 30, 90, 365, 3650)),
)


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
    series: Mapping[str, Sequence[int | None]]
    stacked: bool = False
    is_rate: bool = False
    colours: Sequence[int] = tuple(range(COLOURS))
    """The number of the colour of each series."""


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
