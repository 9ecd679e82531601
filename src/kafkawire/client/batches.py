"""What a producer holds for one partition: batches being filled, waiting, and on their way.

Rules:
- A batch takes its sequence when it is first sent, and keeps it over every retry, so that the broker can tell a repeat.
- Several batches of a partition may be on their way. After one fails they all come home before anything is sent again,
  in the order of their sequences, and one at a time until one succeeds.
- Where a sequence was used that the broker may never have seen (a batch given up, or refused for good), the epoch goes
  up by one and the sequences of what is left start at 0: the state is the partition's own, so no other one is touched.
- A batch that a broker finds too large goes on in two halves, which share its sequences, so that what follows keeps its
  own.
- Until the first batch of a producer id and epoch is acknowledged, it goes alone: a broker takes any sequence from a
  producer that it does not know, so a second batch could be stored before the first one's retry.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.records import BatchBuilder, add_sequence, crc32c, read_batches

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence

    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.options import ProducerOptions
    from kafkawire.client.outcome import Outcome

MAX_EPOCH: Final = 32767
MAX_IN_FLIGHT: Final = 5  # what a broker remembers of each producer
_PRODUCER: Final = struct.Struct(">qhi")
_CRC: Final = struct.Struct(">I")
_PRODUCER_AT, _CRC_AT, _CRC_FROM = 43, 17, 21


class Identity(NamedTuple):
    """The producer id and epoch that a broker gave us."""

    producer_id: int
    epoch: int


class SendBatch:
    """A batch, and what becomes of its records; `size` is what it counts for in the memory of the producer."""

    __slots__ = (
        "append",
        "attempts",
        "builder",
        "data",
        "done",
        "finished",
        "halves",
        "is_expired",
        "opened_at",
        "outcome",
        "sequence",
        "size",
        "timer",
    )

    def __init__(self, builder: BatchBuilder, outcome: Outcome) -> None:
        self.builder = builder
        self.append = builder.append
        self.outcome = outcome
        self.opened_at = outcome.loop.time()
        self.data: bytes | bytearray | None = None
        self.sequence: int | None = None
        self.attempts = 0
        self.size = 0
        self.is_expired = False
        self.done = False
        self.timer: asyncio.TimerHandle | None = None
        self.finished: list[asyncio.Future[None]] = []
        self.halves: tuple[SendBatch, ...] = ()

    def build(self) -> bytes | bytearray:
        """The batch in bytes, made once."""
        if self.data is None:
            self.data = self.builder.build()
        return self.data

    def stamp(self, identity: Identity, sequence: int) -> None:
        """Write producer and sequence into the batch."""
        data = bytearray(self.build())
        _PRODUCER.pack_into(data, _PRODUCER_AT, identity.producer_id, identity.epoch, sequence)
        _CRC.pack_into(data, _CRC_AT, crc32c(memoryview(data)[_CRC_FROM:]))
        self.data, self.sequence = data, sequence

    @property
    def count(self) -> int:
        return len(self.outcome.timestamps)

    def succeed(self, partition: TopicPartition, base_offset: int, append_time: int, log_start: int) -> None:
        """The broker has it."""
        self.outcome.succeed(partition, base_offset, append_time, log_start)
        self._finish()

    def fail(self, error: BaseException) -> None:
        """There will be nothing more."""
        self.outcome.fail(error)
        self._finish()

    def split(self, options: ProducerOptions) -> tuple[SendBatch, SendBatch]:
        """The same records in two batches; who waits for this one finds them in `halves`."""
        builders = split_batch(self.build(), options)
        outcomes = self.outcome.split(builders[0].count)
        first, second = (SendBatch(*each) for each in zip(builders, outcomes, strict=True))
        first.attempts = second.attempts = self.attempts
        first.size = self.size // 2
        second.size = self.size - first.size
        if self.sequence is not None:
            first.sequence, second.sequence = self.sequence, add_sequence(self.sequence, first.count)
        self.halves = first, second
        self._finish()
        return first, second

    def _finish(self) -> None:
        self.done = True
        if self.timer is not None:
            self.timer.cancel()
        for waiter in self.finished:
            if not waiter.done():
                waiter.set_result(None)


class PartitionQueue:
    """The batches of one partition, in order."""

    __slots__ = (
        "filling",
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
        self.partition = partition
        self.filling: SendBatch | None = None
        self.waiting: deque[SendBatch] = deque()
        self.in_flight: list[SendBatch] = []
        self.identity: Identity | None = None
        self.next_sequence = 0
        self.is_known = False
        self.recovering = False
        self.must_restart = False
        self.not_before = 0.0

    def close_filling(self) -> None:
        """The batch being filled is full, or its time has come."""
        if self.filling is not None:
            self.waiting.append(self.filling)
            self.filling = None

    def may_send(self, now: float, most: int) -> bool:
        """Whether the next batch may go out."""
        if not self.waiting or now < self.not_before:
            return False
        if self.recovering or self.must_restart or not self.is_known:
            return not self.in_flight
        return len(self.in_flight) < most

    def take(self, identity: Identity | None) -> SendBatch:
        """The next batch, stamped, on its way from now on."""
        if identity is not None:
            if self.identity is None or self.identity.producer_id != identity.producer_id:
                self._start_sequences(identity)
            elif self.must_restart:
                self._start_sequences(Identity(self.identity.producer_id, self.identity.epoch + 1))
        self.must_restart = False
        batch = self.waiting.popleft()
        if self.identity is not None and batch.sequence is None:
            batch.stamp(self.identity, self.next_sequence)
            self.next_sequence = add_sequence(self.next_sequence, batch.count)
        batch.build()
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def has_epochs_left(self, identity: Identity) -> bool:
        """Whether this producer id has an epoch for what is sent next."""
        known = self.identity
        is_last = known is not None and known.producer_id == identity.producer_id and known.epoch >= MAX_EPOCH
        return not (is_last and self.must_restart)

    def must_come_home(self, identity: Identity) -> bool:
        """Whether batches of another producer id are still on their way."""
        known = self.identity
        return bool(self.in_flight) and known is not None and known.producer_id != identity.producer_id

    def is_oldest(self, batch: SendBatch) -> bool:
        """Whether no batch before this one may still have to be sent again."""
        if self.in_flight and self.in_flight[0] is not batch:
            return False
        return not any(other.attempts and _is_before(other, batch) for other in self.waiting)

    def acknowledged(self, batch: SendBatch) -> None:
        self.in_flight.remove(batch)
        self.recovering = False
        self.is_known = True

    def send_again(self, batch: SendBatch, not_before: float) -> None:
        """Back to the front, behind those that were sent before it."""
        self._put_back(batch, [batch])
        self.not_before = not_before

    def send_halves(self, batch: SendBatch) -> None:
        """In its place, the two batches that it was split into."""
        self._put_back(batch, batch.halves)

    def give_up(self, batch: SendBatch) -> None:
        """The batch will not be sent again; its sequence may be missing at the broker."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        elif batch in self.waiting:
            self.waiting.remove(batch)
        elif batch is self.filling:
            self.filling = None
        if batch.sequence is not None:
            self.must_restart = True

    def _put_back(self, sent: SendBatch, again: Sequence[SendBatch]) -> None:
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


def split_batch(data: bytes | bytearray | memoryview, options: ProducerOptions) -> tuple[BatchBuilder, BatchBuilder]:
    """The records of a batch in two, each with its part of the sequences."""
    (batch,) = read_batches(data, verify=False)
    records = list(batch.records(verify=False))
    middle = (len(records) + 1) // 2
    sequences = batch.base_sequence, batch.base_sequence
    if batch.base_sequence >= 0:
        sequences = batch.base_sequence, add_sequence(batch.base_sequence, middle)
    first, second = (
        BatchBuilder(
            compression=options.codec,
            level=options.compression_level,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=sequence,
        )
        for sequence in sequences
    )
    for number, record in enumerate(records):
        half = first if number < middle else second
        half.append(record.key, record.value, record.timestamp, record.headers)
    return first, second


def lower_limit(limits: dict[str, int], topic: str, halves: Iterable[BatchBuilder]) -> None:
    """From now on the topic's batches are no larger, uncompressed, than the larger half of one that was too large."""
    size = max(half.size for half in halves)
    limits[topic] = min(limits.get(topic, size), size)


def _is_before(one: SendBatch, other: SendBatch) -> bool:
    return one.sequence is not None and other.sequence is not None and (other.sequence - one.sequence) % 2**31 < 2**30
