"""Batches, their memory, and the queue of the batches of one partition; for the producer and for bulk writing.

Rules:
- A batch keeps its sequence over every retry. A batch that is too large is split into two halves, which share its
  sequences, so that the sequences of later batches stay valid.
- A batch gets its sequence when it is first sent, or when it is built, so that the broker recognises a repeated batch.
- Several batches of a partition may be in flight. After a failure the queue waits for every in-flight batch to
  complete, then resends them in sequence order, one at a time, until one succeeds.
- A batch that was given up, or refused for good, leaves a sequence that the broker may never have seen. The epoch then
  increases by one, and the remaining batches start at sequence 0. No other partition is affected.
- Until the first batch of a producer id and epoch is acknowledged, it is in flight alone: a broker accepts any sequence
  from a producer that it does not know. A second batch could be stored before the first one is resent.
- Within a transaction the epoch only changes when the broker assigns another one.
- Clearing fresh memory of the system costs more than copying records into it. A transaction delivers all of its
  batches before the next one begins, so their memory would go back to the system each time.
- Only memory for the largest batch is kept, up to KEPT bytes. A batch that would use little of it gets its own.
- Memory that anything still refers to (a sink of the trace, bytes that a transport has not sent) is not used again.
  The longest free is used first: the request that was just answered still refers to its own, until its call ends.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._native import load
from kafkawire.records import Codec, add_sequence
from kafkawire.records.batch import stamp_producer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._produce import filling as form
    from kafkawire.client._produce.results import BatchResult
    from kafkawire.records import BatchBuilder, Buffer
else:
    form = load("kafkawire.client._produce._filling", "kafkawire.client._produce.filling")

MAX_EPOCH: Final = 32767
KEPT: Final = 2 * 1024 * 1024
_LEAST_USE: Final = 4


class Identity(NamedTuple):
    """The producer id and epoch that a broker assigned."""

    producer_id: int
    epoch: int


class Batch:
    """A batch in bytes, and how far its delivery is."""

    __slots__ = ("attempts", "count", "data", "first_error", "halves", "is_done", "is_expired", "opened_at", "sequence")

    def __init__(
        self, opened_at: float, data: Buffer | None = None, count: int = 0, sequence: int | None = None
    ) -> None:
        self.opened_at = opened_at
        self.data = data
        self.count = count
        self.sequence = sequence
        self.attempts = 0
        self.first_error: BaseException | None = None
        self.is_expired = False
        self.is_done = False
        self.halves: tuple[Batch, ...] = ()

    def build(self) -> Buffer:
        """The batch in bytes, made once."""
        assert self.data is not None
        return self.data

    @property
    def wire_size(self) -> int:
        """The bytes of the batch in a request."""
        return len(self.build())

    def stamp(self, identity: Identity, sequence: int) -> None:
        """Write producer and sequence into the batch."""
        data = bytearray(self.build())
        stamp_producer(data, identity.producer_id, identity.epoch, sequence)
        self.data, self.sequence = data, sequence

    def succeed(self, partition: TopicPartition, base_offset: int, append_time: int, log_start: int) -> None:
        """The broker has stored the batch."""
        self.is_done = True

    def fail(self, error: BaseException) -> None:
        """The batch is given up."""
        self.is_done = True

    def split(self, builders: tuple[BatchBuilder, BatchBuilder]) -> None:
        """Replace the batch by two `halves` of its records."""
        first, second = self.halves = self._halves(*builders)
        for half in self.halves:
            half.attempts = self.attempts
        if self.sequence is not None:
            first.sequence, second.sequence = self.sequence, add_sequence(self.sequence, first.count)
        self.is_done = True

    def _halves(self, first: BatchBuilder, second: BatchBuilder) -> tuple[Batch, Batch]:
        return Batch(self.opened_at, first.build(), first.count), Batch(self.opened_at, second.build(), second.count)


class BatchMemory:
    """Gives memory for batches of at most `size` bytes, and takes it back.

    >>> memory = BatchMemory(1000)
    >>> space = memory.take(900)
    >>> memory.give(space)
    >>> memory.take(900) is space
    True
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: deque[bytearray] = deque()

    def take(self, size: int) -> bytearray:
        """Memory of at least this many bytes, with any content."""
        if not self._size // _LEAST_USE <= size <= self._size:
            return bytearray(size)
        while self._free:
            space = self._free.popleft()
            try:
                space.append(space.pop())  # refused while a view of it exists
            except BufferError:
                continue
            return space
        return bytearray(self._size)

    def give(self, space: bytearray) -> None:
        """The batch in this memory is delivered."""
        if len(space) == self._size and (len(self._free) + 1) * self._size <= KEPT:
            self._free.append(space)


class RecordBatch(Batch):
    """A batch that is filled record by record: `grow` adds a record, whose timestamp belongs into `stamps`.

    It has its builder until it is built, and the memory in `space` until it is delivered.
    """

    __slots__ = ("_size", "builder", "finished", "grow", "lingers", "memory", "result", "space", "stamps", "timer")

    def __init__(self, builder: BatchBuilder, result: BatchResult, opened_at: float, memory: BatchMemory) -> None:
        super().__init__(opened_at)
        self.builder = builder
        self.memory = memory
        self.space: bytearray | None = None
        self.grow = builder.grow
        self.result = result
        self.stamps = result.timestamps
        self._size = 0
        self.lingers = 0.0
        self.timer: asyncio.TimerHandle | None = None
        self.finished: list[asyncio.Future[None]] = []

    @property
    def size(self) -> int:
        """The share of the producer's memory: the bytes of the records before compression."""
        return self._size or self.builder.size

    def build(self) -> Buffer:
        if self.data is None:
            self.data = self.builder.build()
            self._drop_builder()
        return self.data

    @property
    def wire_size(self) -> int:
        return self.builder.size if self._is_plain else len(self.build())

    def stamp(self, identity: Identity, sequence: int) -> None:
        if self._is_plain:
            self.space = self.memory.take(self.builder.size)
            self.data = self.builder.build_into(self.space, *identity, sequence)
            self.sequence = sequence
            self._drop_builder()
        else:
            super().stamp(identity, sequence)
            self.space = None

    def succeed(self, partition: TopicPartition, base_offset: int, append_time: int, log_start: int) -> None:
        self.result.succeed(partition, base_offset, append_time, log_start)
        self._finish()
        if self.space is not None:
            self.memory.give(self.space)

    def fail(self, error: BaseException) -> None:
        self.result.fail(error)
        self._finish()

    def split(self, builders: tuple[BatchBuilder, BatchBuilder]) -> None:
        super().split(builders)
        self._finish()

    def _halves(self, first: BatchBuilder, second: BatchBuilder) -> tuple[RecordBatch, RecordBatch]:
        results = self.result.split(first.count)
        one, other = (
            RecordBatch(builder, result, self.opened_at, self.memory)
            for builder, result in zip((first, second), results, strict=True)
        )
        one.build()
        other.build()
        one._size = self.size // 2
        other._size = self.size - one._size
        return one, other

    @property
    def _is_plain(self) -> bool:
        """Whether the batch is not built yet, and its records are sent as they are."""
        return self.data is None and self.builder.codec is Codec.NONE

    def _drop_builder(self) -> None:
        self.count = self.builder.count
        self._size = self.builder.size
        del self.builder, self.grow

    def _finish(self) -> None:
        self.is_done = True
        if self.timer is not None:
            self.timer.cancel()
        for waiter in self.finished:
            if not waiter.done():
                waiter.set_result(None)


class PartitionQueue(form.Tail):
    """The batches of one partition, in order."""

    __slots__ = (
        "identity",
        "in_flight",
        "is_known",
        "must_restart",
        "next_sequence",
        "not_before",
        "partition",
        "recovering",
        "waiting",
    )

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__()
        self.partition = partition
        self.waiting: deque[Batch] = deque()
        self.in_flight: list[Batch] = []
        self.identity: Identity | None = None
        self.next_sequence = 0
        self.is_known = False
        self.recovering = False
        self.must_restart = False
        self.not_before = 0.0

    def close_filling(self) -> None:
        """The batch that is being filled takes no further record."""
        if self.filling is not None:
            self.waiting.append(self.filling)
            self.filling = None

    def batches(self) -> list[Batch]:
        """All batches that are not delivered yet."""
        return [*self.in_flight, *self.waiting, *([] if self.filling is None else [self.filling])]

    def may_send(self, now: float, most: int) -> bool:
        """Whether the next batch may be sent, with at most so many in flight."""
        if not self.waiting or now < self.not_before:
            return False
        if self.recovering or self.must_restart or not self.is_known:
            return not self.in_flight
        return len(self.in_flight) < most

    def reserve(self, identity: Identity, count: int) -> tuple[Identity, int]:
        """Producer and first sequence of so many records that are built next."""
        if self._is_before(identity):
            self._start_sequences(identity)
        assert self.identity is not None
        first = self.next_sequence
        self.next_sequence = add_sequence(first, count)
        return self.identity, first

    def take(self, identity: Identity | None) -> Batch:
        """The next batch, with its sequence; it is in flight from now on."""
        if identity is not None:
            if self._is_before(identity):
                self._start_sequences(identity)
            elif self.must_restart and self.identity is not None:
                self._start_sequences(Identity(self.identity.producer_id, self.identity.epoch + 1))
        self.must_restart = False
        batch = self.waiting.popleft()
        if self.identity is not None and batch.sequence is None:
            batch.stamp(self.identity, self.next_sequence)
            self.next_sequence = add_sequence(self.next_sequence, batch.count)
        else:
            batch.build()
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def has_epochs_left(self, identity: Identity) -> bool:
        """Whether the producer id has an epoch for the next batch."""
        known = self.identity
        is_last = known is not None and known.producer_id == identity.producer_id and known.epoch >= MAX_EPOCH
        return not (is_last and self.must_restart)

    def has_older_producer(self, identity: Identity) -> bool:
        """Whether batches of another producer id are still in flight."""
        known = self.identity
        return bool(self.in_flight) and known is not None and known.producer_id != identity.producer_id

    def is_oldest(self, batch: Batch) -> bool:
        """Whether no earlier batch may still have to be resent."""
        if self.in_flight and self.in_flight[0] is not batch:
            return False
        return not any(other.attempts and _is_before(other, batch) for other in self.waiting)

    def acknowledge(self, batch: Batch) -> None:
        self.in_flight.remove(batch)
        self.recovering = False
        self.is_known = True

    def resend(self, batch: Batch, not_before: float) -> None:
        """Put a batch back to the front, behind batches that were sent before it."""
        self._put_back(batch, [batch])
        self.not_before = not_before

    def send_halves(self, batch: Batch) -> None:
        """Put the two halves of a batch in its place."""
        self._put_back(batch, batch.halves)

    def give_up(self, batch: Batch) -> None:
        """The batch will not be sent again; its sequence may be missing at the broker."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        elif batch in self.waiting:
            self.waiting.remove(batch)
        elif batch is self.filling:
            self.filling = None
        if batch.sequence is not None:
            self.must_restart = True

    def drop_waiting(self) -> list[Batch]:
        """Take all batches that are not in flight out of the queue."""
        self.close_filling()
        dropped = list(self.waiting)
        self.waiting.clear()
        self.recovering = self.must_restart = False
        return dropped

    def _is_before(self, identity: Identity) -> bool:
        """Whether the producer id, or the epoch that a broker assigned, is a new one for this queue."""
        known = self.identity
        return known is None or known.producer_id != identity.producer_id or known.epoch < identity.epoch

    def _put_back(self, sent: Batch, again: Sequence[Batch]) -> None:
        self.in_flight.remove(sent)
        self.recovering = True
        for batch in reversed(again):
            position = sum(1 for other in self.waiting if other.attempts and _is_before(other, batch))
            self.waiting.insert(position, batch)

    def _start_sequences(self, identity: Identity) -> None:
        self.identity, self.next_sequence = identity, 0
        self.is_known = False
        for batch in self.waiting:
            batch.sequence = None


def _is_before(one: Batch, other: Batch) -> bool:
    return one.sequence is not None and other.sequence is not None and (other.sequence - one.sequence) % 2**31 < 2**30
