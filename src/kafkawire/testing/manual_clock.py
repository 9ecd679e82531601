"""A clock that tests advance by hand.

Rules:
- `now` is the time of day and may be set; `elapsed` only advances.
- Timers run inside `advance`, in order, each at its own time.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class ManualTimer:
    """A timer of a manual clock."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """A clock that advances only by `advance`, for tests.

    >>> clock, heard = ManualClock(1000), []
    >>> timer = clock.call_later(50, lambda: heard.append(clock.now()))
    >>> clock.advance(49), heard, clock.advance(1), heard
    (None, [1050], None, [1050])
    """

    def __init__(self, now: int = 0) -> None:
        self._now = now
        self._set_by = 0
        self._order = count()
        self._timers: list[tuple[float, int, ManualTimer]] = []

    def now(self) -> int:
        return self._now + self._set_by

    def elapsed(self) -> int:
        return self._now

    def set(self, by: int) -> None:
        """Set the time of day, forwards or backwards; no timer runs."""
        self._set_by += by

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (self._now + delay_ms, next(self._order), timer))
        return timer

    @property
    def timers(self) -> int:
        """The number of timers that are set."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def advance(self, milliseconds: int) -> None:
        """Let time pass; timers run in order, each at its own time."""
        end = self._now + milliseconds
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, int(when))
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
        self._now = end
