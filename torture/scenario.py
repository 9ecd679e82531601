"""The parts that all scenarios share: a name, promises, a budget, figures, and a way to say that a promise was broken.

Rules:
- A scenario runs until its budget is spent, and ends at the first broken promise, with BrokenPromiseError.
- Everything random comes from the dice that a scenario is given, so that its seed repeats it.
- Figures are numbers by name: those of `MOST` keep the largest value, all others add up.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from random import Random

UNITS: Final[Mapping[str, str]] = {
    "kills": "",
    "restarts": "",
    "drivers killed": "",
    "executors killed": "",
    "workers killed": "",
    "records copied once": "",
    "power cuts": "",
    "faults injected": "",
    "clock jumps": "",
    "hostile frames sent": "",
    "hostile frames answered": "",
    "hostile connections closed": "",
    "hostile frames per second": "1/s",
    "floods": "",
    "records acknowledged": "",
    "records lost": "",
    "records duplicated (idempotent)": "",
    "records reordered": "",
    "offsets committed": "",
    "offsets gone back": "",
    "topics created": "",
    "fatal client errors": "",
    "group members dropped": "",
    "rounds of transactions": "",
    "transactions committed": "",
    "transactions aborted": "",
    "transactions in doubt": "",
    "inputs processed once": "",
    "workers that stood still": "",
    "neighbour requests": "",
    "neighbour p50": "ms",
    "neighbour p99": "ms",
    "neighbour max": "ms",
    "idle neighbour p50": "ms",
    "idle neighbour p99": "ms",
    "idle neighbour max": "ms",
    "resident memory max": "MB",
    "descriptors max": "",
    "longest step on the loop": "ms",
    "SIGTERM to exit": "ms",
}
"""Every figure, in the order of the table, and its unit."""
MOST: Final = frozenset(
    name for name in UNITS if name.endswith(("p50", "p99", "max", "per second", "the loop", "to exit"))
)


BROKEN: Final = (
    "records lost",
    "records duplicated (idempotent)",
    "records reordered",
    "offsets gone back",
    "fatal client errors",
    "group members dropped",
)
"""The figures that count broken promises: the table shows them also where they are 0."""


class BrokenPromiseError(Exception):
    """A promise that a client relied on does not hold."""

    def __init__(self, promised: str, found: str) -> None:
        super().__init__(f"promised: {promised}; found: {found}")
        self.promised, self.found = promised, found


class Figures:
    """Numbers by name.

    >>> figures = Figures()
    >>> for name, value in (("kills", 2), ("kills", 1), ("neighbour max", 5.5), ("neighbour max", 3)):
    ...     figures.add(name, value)
    >>> dict(figures.items())
    {'kills': 3, 'neighbour max': 5.5}
    """

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def add(self, name: str, value: float = 1) -> None:
        """Count a value, or keep the larger one."""
        if name not in UNITS:
            raise KeyError(name)
        before = self._values.get(name, 0)
        self._values[name] = max(before, value) if name in MOST else before + value

    def merge(self, other: Figures) -> None:
        for name, value in other.items():
            self.add(name, value)

    def items(self) -> list[tuple[str, float]]:
        """The figures that were counted, in the order of the table."""
        return [(name, self._values[name]) for name in UNITS if name in self._values]

    def get(self, name: str) -> float:
        return self._values.get(name, 0)


class Budget:
    """Seconds, and at most so many rounds."""

    def __init__(self, seconds: float, rounds: int = 10**9) -> None:
        self.end = monotonic() + seconds
        self.rounds = rounds

    @property
    def left(self) -> float:
        """Seconds that are left; none when the rounds are used up."""
        return self.end - monotonic() if self.rounds else 0.0

    def take(self) -> bool:
        """Take one round; whether there was one."""
        if self.left <= 0:
            return False
        self.rounds -= 1
        return True


class Stage:
    """The place where a scenario runs: a directory of its own, dice, figures, and a line that says how far it is."""

    def __init__(self, work: Path, dice: Random, tell: Callable[[str], None] = lambda _: None) -> None:
        self.work = work
        self.dice = dice
        self.figures = Figures()
        self.tell = tell


class Scenario(Protocol):
    """One way to hurt a broker."""

    @property
    def name(self) -> str: ...

    @property
    def promises(self) -> tuple[str, ...]: ...

    def run(self, budget: Budget, stage: Stage) -> None: ...
