"""The future of a record that was sent by a plain call.

Rules:
- It is set once, on the clients' thread, and asked for from any thread.
- A callback that fails is logged; whoever else waits is told all the same.
- It costs little until somebody waits: `concurrent.futures.Future` makes a lock and a condition for each, which is more
  than sending the record takes.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from kafkawire.client.errors import RequestTimeoutError
from kafkawire.platforms import call_at_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client.outcome import RecordMetadata

_log = logging.getLogger("kafkawire.client")
_LOCK: Final = threading.Lock()
call_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class Delivery:
    """Where a record ended up, once that is known.

    >>> delivery = Delivery()
    >>> delivery.done()
    False
    """

    __slots__ = ("_callbacks", "_done", "_error", "_place", "_waiter")

    def __init__(self) -> None:
        self._done = False
        self._place: RecordMetadata | None = None
        self._error: BaseException | None = None
        self._waiter: threading.Event | None = None
        self._callbacks: list[Callable[[Delivery], object]] | None = None

    def done(self) -> bool:
        return self._done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """The record's place, waited for; the reason is raised where there is none."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        assert self._place is not None
        return self._place

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Why the record was not delivered, or None; waited for."""
        if not self.done():
            with _LOCK:
                waiter = None if self._done else self._waiter or threading.Event()
                self._waiter = waiter
            if waiter is not None and not waiter.wait(timeout):
                raise RequestTimeoutError(f"the record was not delivered within {timeout:g} s; it may be later")
        return self._error

    def add_done_callback(self, call: Callable[[Delivery], object]) -> None:
        """Call this with the delivery once it is done: on the clients' thread, or at once if it is done already."""
        with _LOCK:
            if not self._done:
                self._callbacks = [*(self._callbacks or ()), call]
                return
        call(self)

    def set_result(self, place: RecordMetadata) -> None:
        self._place = place
        self._finish()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._finish()

    def _finish(self) -> None:
        with _LOCK:
            self._done = True
            waiter, callbacks = self._waiter, self._callbacks
        if waiter is not None:
            waiter.set()
        for call in callbacks or ():
            try:
                call(self)
            except Exception:
                _log.exception("a callback of a delivery failed")
