"""A line that says how far long work has come: share, amount, rate, time left.

Rules:
- It shows only on a terminal, on stderr, and only once the work has taken half a second.
- It redraws at most ten times a second, and leaves no trace when the work ends.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Literal, Self, TextIO

from kafkawire.cli import output

if TYPE_CHECKING:
    from collections.abc import Callable

_DELAY: Final = 0.5
_INTERVAL: Final = 0.1
_BAR: Final = 20


class Progress:
    """Tells how far work has come; `total` may be unknown.

    >>> with Progress("reading", total=100, unit="bytes") as progress:
    ...     progress.advance(50)
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        *,
        unit: Literal["bytes", "items"] = "items",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label, self._total, self._clock = label, total, clock
        self._amount = output.human_size if unit == "bytes" else output.human_count
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._done = 0
        self._drawn = False
        self._started = clock()
        self._next_draw = self._started + _DELAY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def advance(self, count: int) -> None:
        """So much more is done."""
        self._done += count
        if self._shown and self._clock() >= self._next_draw:
            self._draw()

    def line(self) -> str:
        """The line as it stands now."""
        elapsed = max(self._clock() - self._started, 1e-9)
        rate = self._done / elapsed
        speed = f"{self._amount(rate)}/s"
        if not self._total:
            return f"{self.label}  {self._amount(self._done)}  {speed}"
        share = min(self._done / self._total, 1.0)
        filled = round(share * _BAR)
        left = output.human_time((self._total - self._done) / rate) if 0 < self._done <= self._total else "?"
        bar = "#" * filled + "." * (_BAR - filled)
        amount = f"{self._amount(self._done)} of {self._amount(self._total)}"
        return f"{self.label}  [{bar}] {share:4.0%}  {amount}  {speed}  {left} left"

    def _draw(self) -> None:
        import shutil

        room = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r{self.line()[:room]}\x1b[K")
        self._stream.flush()
        self._drawn = True
        self._next_draw = self._clock() + _INTERVAL
