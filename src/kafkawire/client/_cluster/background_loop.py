"""One event loop in one background thread, for all clients of a process that are called without one.

Rules:
- The loop runs while any client is open.
- A call waits for its work. A blocking call from the loop's own thread (a callback of a delivery) is refused, because
  it would deadlock. Calls that wait when the loop ends fail with ClosedError.
- A client that is closing still serves calls, because a rebalance listener may commit.
- Threads do not survive a fork: in the child process the clients of the parent are closed, and new clients start a loop
  of their own.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
import weakref
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kafkawire._platforms import call_at_fork
from kafkawire.client.errors import ClientError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_Result = TypeVar("_Result")
CLOSED: Final = "the client is closed, or was created before this process was forked"


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and end it on the same thread; that of the caller may have a loop of its own."""
    loop.run_forever()
    loop.run_until_complete(_end_tasks())
    loop.close()


class SharedLoop:
    """The loop of this process, started by the first client and stopped by the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self.clients: weakref.WeakSet[BlockingClient] = weakref.WeakSet()
        self.loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread
        self._of_parent: list[asyncio.AbstractEventLoop] = []
        call_at_fork(after_in_child=self._start_over)

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self.loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self.loop,), name="kafkawire client", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self.loop.call_soon_threadsafe(self.loop.stop)
                self._thread.join()

    def is_here(self) -> bool:
        """Whether the caller is on the loop's own thread."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine on the loop and wait for it; an interrupt cancels it."""
        if self.is_here():
            work.close()
            raise ClientError(
                "a blocking call from the background thread of the clients would deadlock; use a callback"
            )
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except CancelledError:
            raise ClosedError("the client was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise

    def _start_over(self) -> None:
        if self._users:
            self._of_parent.append(self.loop)  # its selector belongs to the parent too, so it must not be closed here
        self._lock, self._users = threading.Lock(), 0
        for client in self.clients:
            client._is_open = False
        self.clients.clear()


async def _end_tasks() -> None:
    loop = asyncio.get_running_loop()
    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()


SHARED: Final = SharedLoop()


class BlockingClient:
    """Opening, closing and calling a client that lives on the shared loop."""

    _is_open = False
    _is_closing = False

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
        SHARED.clients.add(self)
        return client

    def _close(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._is_open and not self._is_closing:
            self._is_closing = True
            try:
                SHARED.run(stop())
            finally:
                self._is_open = False
                SHARED.clients.discard(self)
                SHARED.leave()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        if not self._is_open:
            work.close()
            raise ClosedError(CLOSED)
        return SHARED.run(work)

    def _on_loop(self, call: Callable[[], _Result]) -> _Result:
        if self._is_open and SHARED.is_here():
            return call()

        async def work() -> _Result:
            return call()

        return self._run(work())

    def __enter__(self) -> Self:
        return self

    def __del__(self) -> None:
        if self._is_open:
            warnings.warn(f"{type(self).__name__} was not closed", ResourceWarning, source=self, stacklevel=1)
