"""One event loop in one background thread, for all clients of a process that are called without one.

Rules:
- The loop lives while any client is open.
- A call waits for its work; a call from the loop's own thread (a listener, a callback) is refused, it would wait for
  itself.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kafkawire.client.errors import ClientError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_Result = TypeVar("_Result")


class SharedLoop:
    """The loop of this process, started by its first client and ended by its last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self.loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self.loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self.loop.run_forever, name="kafkawire client", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self.loop.call_soon_threadsafe(self.loop.stop)
                self._thread.join()
                self.loop.run_until_complete(self.loop.shutdown_asyncgens())
                self.loop.close()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run on the loop and wait here; an interrupt here ends it there."""
        if threading.current_thread() is self._thread:
            work.close()
            raise ClientError("a call that waits, made on the clients' own thread, would wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


SHARED: Final = SharedLoop()


class BlockingClient:
    """Opening, closing and calling a client that lives on the shared loop."""

    _is_open = False

    def _open(self, make: Callable[[], Any]) -> Any:
        SHARED.enter()
        try:

            async def start() -> Any:
                client = make()
                await client.start()
                return client

            client = SHARED.run(start())
        except BaseException:
            SHARED.leave()
            raise
        self._is_open = True
        return client

    def _close(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._is_open:
            self._is_open = False
            try:
                SHARED.run(stop())
            finally:
                SHARED.leave()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        if not self._is_open:
            work.close()
            raise ClosedError("the client is closed")
        return SHARED.run(work)

    def _on_loop(self, call: Callable[[], _Result]) -> _Result:
        async def work() -> _Result:
            return call()

        return self._run(work())

    def __enter__(self) -> Self:
        return self
