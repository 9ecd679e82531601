"""The broker's clock: a parameter, so that tests move it by hand.

Rules:
- `now` is the time of day, in milliseconds since 1970. It is for values that are stored, or compared with stored ones.
  An operator may set it, forwards and backwards.
- `elapsed` is monotonic: a deadline is `clock.elapsed() + timeout`. Setting the system's clock ends nothing.
- Nothing in the broker sleeps. A waiter holds a future and a timer; whichever completes first ends the wait.
- A timer's callback runs on the broker's loop, and never inside the call that set it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable


ROUNDING_MS: Final = 10
"""The difference of two readings of the clocks that does not mean that one was set."""


class Timer(Protocol):
    """A callback that runs later, unless it is cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The current time, and timers."""

    def now(self) -> int:
        """Milliseconds since 1970."""
        ...

    def elapsed(self) -> int:
        """Milliseconds since some moment, on a clock that cannot be set."""
        ...

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer: ...


async def wait(clock: Clock, future: Future[Any], timeout_ms: float) -> bool:
    """Wait until a future is done or the timeout expires; returns whether it is done. The future is never cancelled."""
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


class ClockJumps:
    """Detects that the system's time of day was set.

    Owners of times that are stored move their deadlines by the jump, so that nothing ends early or late.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apart = clock.now() - clock.elapsed()

    def take(self) -> int:
        """Milliseconds by which the time of day was set since the last call; 0 if it was not."""
        set_by = self._clock.now() - self._clock.elapsed() - self._apart
        if abs(set_by) <= ROUNDING_MS:
            return 0
        self._apart += set_by
        return set_by


class LoopClock:
    """The time of day, and the timers of the running loop."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def elapsed(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)
