"""What a partition remembers of its producers: epochs, sequences, open transactions.

A pure state machine: batches in, refusals or offsets out; no file, no clock.
Rules:
- A duplicate is a batch with the producer, epoch and exact sequence range of one of the last five batches; it is
  recognised before anything else is checked, and answered with the offsets it got the first time.
- An epoch never falls. A new epoch starts at sequence 0 and forgets the cached batches.
- Within an epoch sequences follow each other without gaps; after 2147483647 comes 0.
- A producer that nobody remembers may start at any sequence, unless the disk refused an earlier batch of it: its
  other batches in flight are then out of order until that one comes again.
- A transaction opens with its first batch and closes with its marker; no plain batch comes between.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.aborted import AbortedTransaction
from kafkawire.messages.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from kafkawire.records.batch import add_sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CACHED_BATCHES = 5
MOST_EXPECTED = 1000
NONE = -1


class ProducerBatch(NamedTuple):
    """A batch of data as its producer numbered it; offsets are -1 until the log gave it some."""

    producer_id: int
    epoch: int
    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int
    transactional: bool


class Marker(NamedTuple):
    """The end of a transaction."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    commit: bool
    offset: int
    timestamp: int


class CachedBatch(NamedTuple):
    """A batch remembered to recognise it when it comes again."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class Producer:
    """One producer's state."""

    producer_id: int
    epoch: int
    coordinator_epoch: int = NONE
    last_timestamp: int = NONE
    transaction_start: int = NONE
    batches: deque[CachedBatch] = field(default_factory=lambda: deque(maxlen=CACHED_BATCHES))

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NONE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NONE


class Producers:
    """All producers of a partition."""

    def __init__(self, entries: Iterable[Producer] = ()) -> None:
        self._entries = {entry.producer_id: entry for entry in entries}
        self._open = _open_transactions(self._entries.values())
        self._closed: list[AbortedTransaction] = []
        self._expected: dict[int, ProducerBatch] = {}
        """The first batch that the disk refused of producers without any other, by producer id."""

    @property
    def entries(self) -> Mapping[int, Producer]:
        return self._entries

    def find_duplicate(self, batch: ProducerBatch) -> CachedBatch | None:
        """The cached batch that this one repeats."""
        entry = self._entries.get(batch.producer_id)
        if entry is None or entry.epoch != batch.epoch:
            return None
        for cached in entry.batches:
            if cached.first_sequence == batch.first_sequence and cached.last_sequence == batch.last_sequence:
                return cached
        return None

    def check(self, batch: ProducerBatch, before: Iterable[ProducerBatch] = ()) -> None:
        """Refuse a batch that may not follow what its producer wrote, `before` it in the same append included."""
        entry = self._entries.get(batch.producer_id)
        known = None if entry is None else (entry.epoch, entry.last_sequence, entry.transaction_start >= 0)
        for earlier in before:
            if earlier.producer_id == batch.producer_id:
                known = earlier.epoch, earlier.last_sequence, earlier.transactional
        if known is None:
            self._check_first(batch)
            return
        epoch, last, in_transaction = known
        who = f"producer {batch.producer_id}"
        if batch.epoch < epoch:
            raise InvalidProducerEpochError(f"{who}: epoch {batch.epoch}, expected {epoch} or later")
        if batch.epoch > epoch:
            if batch.first_sequence:
                raise OutOfOrderSequenceError(
                    f"{who}: new epoch {batch.epoch} starts at sequence {batch.first_sequence}, expected 0"
                )
        elif batch.first_sequence != (expected := add_sequence(last, 1)):
            raise OutOfOrderSequenceError(
                f"{who} epoch {epoch}: sequence {batch.first_sequence}, expected {expected} after {last}"
            )
        if in_transaction and not batch.transactional:
            raise InvalidTxnStateError(f"{who}: plain batch while its transaction is open")

    def _check_first(self, batch: ProducerBatch) -> None:
        """Refuse the batch of a new producer that comes before an earlier one which the disk refused."""
        refused = self._expected.get(batch.producer_id)
        if refused is not None and refused.epoch == batch.epoch and refused.first_sequence < batch.first_sequence:
            raise OutOfOrderSequenceError(
                f"producer {batch.producer_id} epoch {batch.epoch}: sequence {batch.first_sequence}, "
                f"expected {refused.first_sequence}, which the disk refused"
            )

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> None:
        """Refuse a marker of a past epoch or of a past coordinator."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        if epoch < entry.epoch:
            raise InvalidProducerEpochError(
                f"producer {producer_id}: marker of epoch {epoch}, expected {entry.epoch} or later"
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"producer {producer_id}: marker of coordinator epoch {coordinator_epoch}, "
                f"expected {entry.coordinator_epoch} or later"
            )

    def expect(self, batch: ProducerBatch) -> None:
        """The disk refused a batch: a producer without any other begins with this one."""
        if batch.producer_id in self._entries or batch.producer_id in self._expected:
            return
        if len(self._expected) >= MOST_EXPECTED:
            del self._expected[next(iter(self._expected))]
        self._expected[batch.producer_id] = batch

    def append(self, batch: ProducerBatch) -> None:
        """A batch was written."""
        self._expected.pop(batch.producer_id, None)
        entry = self._entry(batch.producer_id, batch.epoch)
        entry.batches.append(
            CachedBatch(
                batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp
            )
        )
        entry.last_timestamp = batch.timestamp
        if batch.transactional and entry.transaction_start < 0:
            entry.transaction_start = self._open[batch.producer_id] = batch.first_offset

    def append_marker(self, marker: Marker) -> AbortedTransaction | None:
        """A marker was written; the transaction it aborted, if it aborted one."""
        entry = self._entry(marker.producer_id, marker.epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = marker.timestamp
        first = self._open.pop(marker.producer_id, NONE)
        entry.transaction_start = NONE
        if first == NONE:
            return None
        stable = next(iter(self._open.values()), marker.offset + 1)
        closed = AbortedTransaction(marker.producer_id, first, marker.offset, stable)
        self._closed.append(closed)
        return None if marker.commit else closed

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Where the earliest transaction starts that is open, or whose marker readers cannot see yet."""
        if self._closed and self._closed[0].last_offset < high_watermark:
            self._closed = [closed for closed in self._closed if closed.last_offset >= high_watermark]
        firsts = [closed.first_offset for closed in self._closed]
        if self._open:
            firsts.append(next(iter(self._open.values())))
        return min(firsts, default=None)

    def expire(self, now: int, after_ms: int) -> list[int]:
        """Forget producers that were silent for longer, open transactions aside."""
        gone = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.transaction_start < 0 and now - entry.last_timestamp >= after_ms
        ]
        for producer_id in gone:
            del self._entries[producer_id]
        return gone

    def copy_of(self, producer_id: int) -> Producer | None:
        """A producer's state as it is now; None if nobody remembers it."""
        entry = self._entries.get(producer_id)
        return None if entry is None else replace(entry, batches=entry.batches.copy())

    def restore(self, before: Mapping[int, Producer | None]) -> None:
        """Let producers be as they were when they were copied."""
        for producer_id, entry in before.items():
            if entry is None:
                self._entries.pop(producer_id, None)
            else:
                self._entries[producer_id] = entry
        self._open = _open_transactions(self._entries.values())

    def _entry(self, producer_id: int, epoch: int) -> Producer:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = Producer(producer_id, epoch)
        elif epoch > entry.epoch:
            entry.epoch = epoch
            entry.batches.clear()
        return entry


def _open_transactions(entries: Iterable[Producer]) -> dict[int, int]:
    """The producers with open transactions and where those start, the earliest first."""
    found = [(entry.transaction_start, entry.producer_id) for entry in entries if entry.transaction_start >= 0]
    return {producer_id: start for start, producer_id in sorted(found)}
