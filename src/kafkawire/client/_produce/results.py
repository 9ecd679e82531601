"""The results of batches, and the futures of their records: for asyncio (`RecordFuture`), for plain calls (`Delivery`).

Rules:
- The place of a record follows from the answer to its batch and its number in the batch. So one answer completes all
  records at once; only records with a waiter are notified one by one.
- A RecordFuture follows asyncio's protocol: it is awaited, gathered, cancelled and given callbacks like any other, on
  the loop of its producer. It keeps the result of its batch alive, not the bytes.
- Cancelling a future only cancels the notification; the record is sent all the same.
- When a batch is split, registered waiters move to the right half at once; a future finds its half the next time it is
  queried.
- A Delivery reads the result of its batch too, from any thread. It registers with the batch only when a caller waits
  or adds a callback. `concurrent.futures.Future` makes a lock and a condition for each record, which takes longer than
  sending it. A callback that fails is logged, and the other waiters are still notified.
- `LOCK` orders the end of a batch, its split and its waiters; results are read without it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kafkawire._native import load
from kafkawire._platforms import call_at_fork
from kafkawire.client.errors import RequestTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextvars import Context

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._produce import filling as form
else:
    form = load("kafkawire.client._produce._filling", "kafkawire.client._produce.filling")

_log = logging.getLogger("kafkawire.client")
LOCK: Final = threading.Lock()
call_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class RecordMetadata(NamedTuple):
    """The place of a stored record; the offset is -1 with acks=0, because the broker does not answer."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int = 0
    log_start_offset: int = -1


class Waiter(Protocol):
    """Notified when the result of one record is known."""

    def finish(self) -> None: ...


class BatchResult:
    """The result of one batch, known or not yet."""

    __slots__ = (
        "_append_time",
        "_base_offset",
        "_log_start",
        "_partition",
        "_waiters",
        "error",
        "halves",
        "is_known",
        "loop",
        "timestamps",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.timestamps: list[int] = []
        self.is_known = False
        self.error: BaseException | None = None
        self.halves: tuple[BatchResult, BatchResult] | None = None
        self._waiters: list[tuple[int, Waiter]] = []

    def succeed(self, partition: TopicPartition, base_offset: int, append_time: int, log_start: int) -> None:
        """The batch is stored; the offset is -1 if it is not known."""
        self._partition, self._base_offset = partition, base_offset
        self._append_time, self._log_start = append_time, log_start
        self._finish()

    def fail(self, error: BaseException) -> None:
        """The batch is not delivered."""
        self.error = error
        self._finish()

    def place(self, number: int) -> RecordMetadata:
        """The place of a record of a stored batch."""
        offset = self._base_offset + number if self._base_offset >= 0 else self._base_offset
        is_appended = self._append_time >= 0
        time = self._append_time if is_appended else self.timestamps[number]
        return RecordMetadata(*self._partition, offset, time, int(is_appended), self._log_start)

    def notify(self, number: int, waiter: Waiter) -> None:
        """Notify this waiter when the result is known; it is not known yet, and the batch was not split."""
        self._waiters.append((number, waiter))

    def holder(self, number: int) -> tuple[BatchResult, int]:
        """The result that has the record now, after any splits, and the record's number in it."""
        result = self
        while (halves := result.halves) is not None:
            first = len(halves[0].timestamps)
            result, number = (halves[0], number) if number < first else (halves[1], number - first)
        return result, number

    def split(self, count: int) -> tuple[BatchResult, BatchResult]:
        """The results of the two batches that replace this one: the first records, and the others."""
        first, second = BatchResult(self.loop), BatchResult(self.loop)
        first.timestamps, second.timestamps = self.timestamps[:count], self.timestamps[count:]
        with LOCK:
            self.halves = first, second
            for number, waiter in self._waiters:
                holder, place = self.holder(number)
                holder.notify(place, waiter)
            self._waiters.clear()
        return first, second

    def _finish(self) -> None:
        with LOCK:
            self.is_known = True
            waiters, self._waiters = self._waiters, []
        for _, waiter in waiters:
            waiter.finish()


class _FutureDefaults:
    """The state of a future without waiters; instances override only values that changed."""

    __slots__ = ()

    _asyncio_future_blocking: bool = False
    _is_cancelled: bool = False
    _callbacks: list[tuple[Callable[[Any], object], Context | None]] | None = None


class RecordFuture(form.Placed, _FutureDefaults):
    """The place of a record, or the error, once it is known."""

    __slots__ = ("__dict__",)

    def done(self) -> bool:
        self.batch, self.number = self.batch.holder(self.number)
        return self.batch.is_known or self._is_cancelled

    def cancelled(self) -> bool:
        return self._is_cancelled

    def result(self) -> RecordMetadata:
        error = self.exception()
        if error is not None:
            raise error
        return self.batch.place(self.number)

    def exception(self) -> BaseException | None:
        if self._is_cancelled:
            raise asyncio.CancelledError
        if not self.done():
            raise asyncio.InvalidStateError("the result of the record is not known yet")
        return self.batch.error

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        self._is_cancelled = True
        self.finish()
        return True

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.batch.loop

    def add_done_callback(self, call: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        if self.done():
            self.batch.loop.call_soon(call, self, context=context)
        elif self._callbacks is None:
            self._callbacks = [(call, context)]
            self.batch.notify(self.number, self)
        else:
            self._callbacks.append((call, context))

    def remove_done_callback(self, call: Callable[[Any], object], /) -> int:
        before = self._callbacks or []
        self._callbacks = [each for each in before if each[0] != call]
        return len(before) - len(self._callbacks)

    def finish(self) -> None:
        """Call the callbacks: the result is known, or the future is cancelled."""
        callbacks, self._callbacks = self._callbacks, []
        for call, context in callbacks or ():
            self.batch.loop.call_soon(call, self, context=context)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.done():
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    __iter__ = __await__


class Delivery:
    """The place of a record, or the error, for plain calls.

    >>> delivery = Delivery()
    >>> delivery.done()
    False
    """

    __slots__ = ("_batch", "_callbacks", "_number", "_refusal", "_waiter")

    def __init__(self) -> None:
        self._batch: BatchResult | None = None
        self._refusal: BaseException | None = None
        self._waiter: threading.Event | None = None
        self._callbacks: list[Callable[[Delivery], object]] | None = None

    def done(self) -> bool:
        batch = self._batch
        if batch is None:
            return self._refusal is not None
        return batch.is_known or batch.holder(self._number)[0].is_known

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait for the place of the record; raises the error if it was not delivered."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        assert self._batch is not None
        batch, number = self._batch.holder(self._number)
        return batch.place(number)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the result: the error, or None if the record was delivered."""
        if not self.done():
            with LOCK:
                waiter = self._waiter
                if not self.done() and waiter is None:
                    self._register()
                    waiter = self._waiter = threading.Event()
            if waiter is not None and not waiter.wait(timeout):
                raise RequestTimeoutError(f"the record was not delivered within {timeout:g} s; it may be later")
        return self._refusal if self._batch is None else self._batch.holder(self._number)[0].error

    def add_done_callback(self, call: Callable[[Delivery], object]) -> None:
        """Call this with the delivery once it is done: on the thread of the clients, or at once if it is already."""
        with LOCK:
            if not self.done():
                self._register()
                self._callbacks = [*(self._callbacks or ()), call]
                return
        call(self)

    def attach(self, batch: BatchResult, number: int) -> None:
        """The record is in this batch, whose result is not known yet."""
        with LOCK:
            self.place(batch, number)

    def place(self, batch: BatchResult, number: int) -> None:
        """The same, for a caller that holds the lock."""
        self._number = number
        self._batch = batch
        if self._waiter is not None or self._callbacks is not None:
            batch.notify(number, self)

    def refuse(self, error: BaseException) -> None:
        """The record was not accepted."""
        self._refusal = error
        self.finish()

    def finish(self) -> None:
        """Wake the threads that wait, and call the callbacks: the result is known."""
        with LOCK:
            waiter, callbacks = self._waiter, self._callbacks
        if waiter is not None:
            waiter.set()
        for call in callbacks or ():
            try:
                call(self)
            except Exception:
                _log.exception("a callback of a delivery failed")

    def _register(self) -> None:
        """Have the batch call `finish`, for the first one that waits; the caller holds the lock."""
        if self._batch is not None and self._waiter is None and self._callbacks is None:
            batch, number = self._batch.holder(self._number)
            batch.notify(number, self)
