"""Time as the broker sees it: a parameter, so that tests move it by hand.

Rules:
- `now` is the time of day, in milliseconds since 1970: for what is written down, and compared with what was. Somebody
  may set it, forwards and backwards.
- `elapsed` only ever runs, and evenly: a deadline is `clock.elapsed() + timeout`. Nothing ends because a clock was set.
- Nothing in the broker sleeps. Who waits holds a future and a timer, and whichever comes first ends the wait.
- A timer's callback runs on the broker's loop, and never inside the call that set it.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable


class Timer(Protocol):
    """Something that will happen, unless it is cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What time it is, and what happens later."""

    def now(self) -> int:
        """Milliseconds since 1970, as far as anyone knows."""
        ...

    def elapsed(self) -> int:
        """Milliseconds since some moment; no one can set them."""
        ...

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer: ...


async def wait(clock: Clock, future: Future[Any], timeout_ms: float) -> bool:
    """Wait until a future is done or the time is over; whether it is done. The future itself is never cancelled."""
    if future.done() or timeout_ms <= 0:
        return future.done()
    woken = asyncio.get_running_loop().create_future()

    def wake(_: object = None) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = clock.call_later(timeout_ms, wake)
    future.add_done_callback(wake)
    try:
        await woken
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    return future.done()


class LoopClock:
    """The time of day, and the timers of the running loop."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def elapsed(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)


class ManualTimer:
    """A timer of a clock that stands still."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """A clock that moves when it is told to, for tests.

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
        """Somebody sets the time of day, forwards or backwards; nothing else happens."""
        self._set_by += by

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (self._now + delay_ms, next(self._order), timer))
        return timer

    @property
    def timers(self) -> int:
        """How many timers are set."""
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
