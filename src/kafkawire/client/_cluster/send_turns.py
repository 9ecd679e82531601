"""The requests of one connection that have to wait until they may be sent.

Rules:
- They are sent in the order in which they came. A request that comes while others wait queues behind them.
- A waiter that is let through counts as granted until it has sent, so that no other request takes its place.
- A waiter that was cancelled is skipped, and passes its turn on.
- When the connection ends, every waiter gets the reason.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class SendTurns:
    """The waiters, and how many of them have been let through and have not sent yet."""

    __slots__ = ("granted", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.granted = 0

    async def wait(self, seconds: float) -> None:
        """Wait for a turn, and use it; TimeoutError if it does not come in time."""
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and not turn.exception():
                self.granted -= 1
            elif turn in self.waiting:
                self.waiting.remove(turn)
            raise
        self.granted -= 1

    def pass_on(self, may_send: Callable[[], bool], reason: Exception | None) -> bool:
        """Let the first waiter send if it may, or fail all of them with the reason; whether one was let through."""
        while self.waiting and (reason is not None or may_send()):
            turn = self.waiting.popleft()
            if turn.done():
                continue
            if reason is not None:
                turn.set_exception(reason)
                continue
            self.granted += 1
            turn.set_result(None)
            return True
        return False
