"""A line with the progress of long work.

Rules:
- It is shown only on a terminal, on stderr, after half a second of work. It is redrawn at most ten times per
  second, and removed when the work ends.
- Rich draws it, and is imported when the line is first shown.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Literal, Self, TextIO

from kafkawire.cli._support.output import console, human_count, human_size, human_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire._rich.progress import Progress as Bar

_DELAY: Final = 0.5
_INTERVAL: Final = 0.1


class Progress:
    """The progress of work: share, amount, rate, time left. `total` may be unknown.

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
        self._amount = human_size if unit == "bytes" else human_count
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._done = 0
        self._bar: Bar | None = None
        self._started = clock()
        self._next_draw = self._started + _DELAY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Count more work as done."""
        self._done += count
        if self._shown and self._clock() >= self._next_draw:
            self._draw()

    def amounts(self) -> str:
        """The amount of work, its rate, and the time left."""
        elapsed = max(self._clock() - self._started, 1e-9)
        rate = self._done / elapsed
        speed = f"{self._amount(rate)}/s"
        if not self._total:
            return f"{self._amount(self._done)}  {speed}"
        left = human_time((self._total - self._done) / rate) if 0 < self._done <= self._total else "?"
        return f"{self._amount(self._done)} of {self._amount(self._total)}  {speed}  {left} left"

    def _draw(self) -> None:
        bar = self._bar or self._start()
        task = bar.tasks[0]
        bar.update(task.id, completed=self._done, description=self.label, amounts=self.amounts())
        bar.refresh()
        self._next_draw = self._clock() + _INTERVAL

    def _start(self) -> Bar:
        from kafkawire._rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from kafkawire._rich.progress import Progress as Bar

        bars = (BarColumn(20), TaskProgressColumn()) if self._total else ()
        text = TextColumn("{task.description}", markup=False)
        amounts = TextColumn("{task.fields[amounts]}", markup=False)
        self._bar = Bar(text, *bars, amounts, console=console(self._stream), auto_refresh=False, transient=True)
        self._bar.add_task(self.label, total=self._total or None, amounts="")
        self._bar.start()
        return self._bar
