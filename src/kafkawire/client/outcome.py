"""What becomes of the records of a batch, and the futures that tell it.

Rules:
- Where a record is follows from its batch's answer and its number in the batch. So an answer settles all records at
  once; one by one are told only those that somebody waits for.
- A future speaks asyncio's protocol: it is awaited, gathered, waited for, cancelled and given callbacks like any other,
  on its producer's loop. It keeps the outcome alive, not the batch's bytes.
- Cancelling a future means not to be told; the record is sent all the same.
- A batch may go on in two. Who waits is handed on at once; a future follows its record when it is next asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextvars import Context

    from kafkawire.client.metadata import TopicPartition


class RecordMetadata(NamedTuple):
    """Where a record ended up; the offset is -1 where nobody was asked (acks=0)."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int = 0
    log_start_offset: int = -1


class Waiter(Protocol):
    """Who is told of one record."""

    def set_result(self, place: RecordMetadata, /) -> None: ...
    def set_exception(self, error: BaseException, /) -> None: ...


class Outcome:
    """The outcome of one batch, known or not yet."""

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
        self.halves: tuple[Outcome, Outcome] | None = None
        self._waiters: list[tuple[int, Waiter]] = []

    def succeed(self, partition: TopicPartition, base_offset: int, append_time: int, log_start: int) -> None:
        """The batch is stored there; the offset is -1 where nobody said."""
        self._partition, self._base_offset = partition, base_offset
        self._append_time, self._log_start = append_time, log_start
        self.is_known = True
        for number, waiter in self._waiters:
            waiter.set_result(self.place(number))
        self._waiters.clear()

    def fail(self, error: BaseException) -> None:
        """The batch was given up."""
        self.error, self.is_known = error, True
        for _, waiter in self._waiters:
            waiter.set_exception(error)
        self._waiters.clear()

    def place(self, number: int) -> RecordMetadata:
        """Where a record of a batch that is stored is."""
        offset = self._base_offset + number if self._base_offset >= 0 else self._base_offset
        is_appended = self._append_time >= 0
        time = self._append_time if is_appended else self.timestamps[number]
        return RecordMetadata(*self._partition, offset, time, int(is_appended), self._log_start)

    def tell(self, number: int, waiter: Waiter) -> None:
        """Tell this one when the outcome is known, which it is not yet."""
        self._waiters.append((number, waiter))

    def split(self, count: int) -> tuple[Outcome, Outcome]:
        """The outcomes of the first records and of the others, whose batch goes on in two."""
        first, second = self.halves = Outcome(self.loop), Outcome(self.loop)
        first.timestamps, second.timestamps = self.timestamps[:count], self.timestamps[count:]
        for number, waiter in self._waiters:
            if number < count:
                first.tell(number, waiter)
            else:
                second.tell(number - count, waiter)
        self._waiters.clear()
        return first, second


class _Unasked:
    """What a future is until somebody asks for it; instances override only what changed."""

    __slots__ = ()

    _asyncio_future_blocking: bool = False
    _is_cancelled: bool = False
    _callbacks: list[tuple[Callable[[Any], object], Context | None]] | None = None


class RecordFuture(_Unasked):
    """Where a record is, or why it is nowhere, once that is known."""

    __slots__ = ("__dict__", "number", "outcome")

    outcome: Outcome
    number: int

    def done(self) -> bool:
        self._follow()
        return self.outcome.is_known or self._is_cancelled

    def cancelled(self) -> bool:
        return self._is_cancelled

    def result(self) -> RecordMetadata:
        error = self.exception()
        if error is not None:
            raise error
        return self.outcome.place(self.number)

    def exception(self) -> BaseException | None:
        if self._is_cancelled:
            raise asyncio.CancelledError
        self._follow()
        if not self.outcome.is_known:
            raise asyncio.InvalidStateError("the record's fate is not known yet")
        return self.outcome.error

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        self._is_cancelled = True
        self._tell_all()
        return True

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.outcome.loop

    def add_done_callback(self, call: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        if self.done():
            self.outcome.loop.call_soon(call, self, context=context)
        elif self._callbacks is None:
            self._callbacks = [(call, context)]
            self.outcome.tell(self.number, self)
        else:
            self._callbacks.append((call, context))

    def remove_done_callback(self, call: Callable[[Any], object], /) -> int:
        before = self._callbacks or []
        self._callbacks = [each for each in before if each[0] != call]
        return len(before) - len(self._callbacks)

    def set_result(self, place: RecordMetadata, /) -> None:
        self._tell_all()

    def set_exception(self, error: BaseException, /) -> None:
        self._tell_all()

    def _follow(self) -> None:
        """Be about the batch that the record is in by now."""
        while (halves := self.outcome.halves) is not None:
            first = len(halves[0].timestamps)
            if self.number < first:
                self.outcome = halves[0]
            else:
                self.outcome, self.number = halves[1], self.number - first

    def _tell_all(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for call, context in callbacks or ():
            self.outcome.loop.call_soon(call, self, context=context)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.done():
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    __iter__ = __await__
