"""Turns on the broker's loop: long work gives way to other connections.

Rules:
- A turn lasts TURN_SECONDS. Work that needs longer queues for its next turn.
- Each pass of the loop runs one queued turn, in order of arrival. Sockets and timers are served between two passes, so
  that a new request waits for one turn at most, however many are queued.
- A coroutine that waits in its first turn continues later (`StartedCoroutine`). One that does not wait costs no task.
- The broker's own work follows the same rules: a coroutine uses a `TurnBudget`, work in steps uses `Turns.run`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterator
    from typing import Any

    from kafkawire.broker._ops.watchdog import Watchdog

T = TypeVar("T")
TURN_SECONDS: Final = 0.004


class Turns:
    """The queue of work that waits for its next turn."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], bool]] = deque()
        self._is_scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def call(self, work: Callable[[], bool]) -> None:
        """Run `work` on its turn; it returns whether it had anything to do."""
        self._waiting.append(work)
        self._schedule()

    def run(self, steps: Iterator[None]) -> bool:
        """Run the steps of long work: as many as one turn allows at once, the others on later turns.

        Returns whether all of them have run.
        """

        def continue_work() -> bool:
            self.run(steps)
            return True

        ends = perf_counter() + TURN_SECONDS
        for _ in steps:
            if perf_counter() >= ends:
                self.call(continue_work)
                return False
        return True

    async def next(self) -> float:
        """Wait for the next turn; returns when it ends."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin() -> bool:
            if turn.done():
                return False
            turn.set_result(None)
            return True

        self.call(begin)
        await turn
        return perf_counter() + TURN_SECONDS

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        try:
            while self._waiting and not self._waiting.popleft()():
                """A cancelled turn costs nothing: the next one begins in its place."""
        finally:
            if self._waiting:
                self._schedule()


class TurnBudget:
    """The turns of a coroutine that does not serve a request."""

    __slots__ = ("_ends", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._ends = perf_counter() + TURN_SECONDS

    async def yield_if_due(self) -> None:
        """Let connections be served if this turn is over."""
        if perf_counter() >= self._ends:
            self._ends = await self._turns.next()


class StartedCoroutine(Generic[T]):
    """A coroutine that has run up to its first wait; `await` continues it and returns its result."""

    __slots__ = ("_name", "_waits_for", "_watchdog", "_work", "seconds")

    def __init__(self, work: Coroutine[Any, Any, T], waits_for: Any, watchdog: Watchdog, name: str) -> None:
        self._work = work
        self._waits_for = waits_for
        self._watchdog = watchdog
        self._name = name
        self.seconds = 0.0
        """The time that it worked after its first wait."""

    def __await__(self) -> Generator[Any, Any, T]:
        work, waits_for = self._work, self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:
                    waits_for = work.throw(error)
                else:
                    began = perf_counter()
                    try:
                        waits_for = work.send(sent)
                    finally:
                        self.seconds += perf_counter() - began
                        self._watchdog.check(began, self._name)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the coroutine's result
        finally:
            work.close()
