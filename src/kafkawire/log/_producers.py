"""The state of a partition's producers: epochs, sequences, open transactions.

A pure state machine without files and clocks: it takes batches, and returns offsets or raises errors.
Rules:
- A duplicate is a batch with the producer, epoch and exact sequence range of one of the last five batches. It is
  detected before any other check, and returns the offsets that it got the first time.
- An epoch never decreases. A new epoch starts at sequence 0 and drops the cached batches.
- Within an epoch sequences follow each other without gaps; after 2147483647 comes 0.
- An unknown producer may start at any sequence, unless the disk refused an earlier batch of it. Its other batches in
  flight are then out of order until that one is sent again.
- A transaction opens with its first batch and closes with its marker. Plain batches between them are refused. A broker
  presents a verification with the first batch (`_verification`).
- A marker of an earlier epoch is refused. If transactions have epochs of their own (level 2), a marker of the current
  epoch is refused too while a transaction is open. It belongs to an earlier one (KIP-1228). A repeated marker is
  accepted (KAFKA-19999), and so is the last epoch, which has no successor.
- A batch of a coordinator has no sequence, and is not cached.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._txn_index import AbortedTransaction
from kafkawire.log._verification import ONGOING, Verification, Verifications
from kafkawire.messages.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from kafkawire.records import ControlType, CorruptRecordError, add_sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.log._admission import AdmittedBatch
    from kafkawire.records import Batch

CACHED_BATCHES = 5
MOST_EXPECTED = 1000
NONE = -1
LAST_EPOCH = 2**15 - 1
EPOCH_PER_TRANSACTION = 2
"""The level of transaction.version from which every transaction has an epoch of its own."""


class ProducerBatch(NamedTuple):
    """A data batch with its producer's numbers; offsets are -1 until the log assigns them."""

    producer_id: int
    epoch: int
    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int
    transactional: bool


class TransactionEnd(NamedTuple):
    """The marker that ends a transaction of a producer."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    commit: bool
    offset: int
    timestamp: int


def transaction_end(batch: Batch) -> TransactionEnd | None:
    """The end of a transaction that a control batch marks; None if it is empty or of another kind."""
    try:
        marker = next(batch.markers(), None)
    except CorruptRecordError:
        return None
    if marker is None or marker.coordinator_epoch is None:
        return None
    commits = marker.type == ControlType.COMMIT
    producer = batch.producer_id, batch.producer_epoch, marker.coordinator_epoch
    return TransactionEnd(*producer, commits, batch.last_offset, batch.max_timestamp)


class CachedBatch(NamedTuple):
    """A batch that is remembered to detect duplicates."""

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

    def is_in_transaction(self, epoch: int) -> bool:
        """Whether a transaction of this epoch is open."""
        return self.transaction_start >= 0 and self.epoch == epoch


class Producers:
    """All producers of a partition."""

    def __init__(self, entries: Iterable[Producer] = ()) -> None:
        self._entries = {entry.producer_id: entry for entry in entries}
        self.open = _open_transactions(self._entries.values())
        """The offsets where open transactions start, by producer, the earliest first."""
        self.ended: list[AbortedTransaction] = []
        """Transactions that have ended, whose markers readers may not see yet."""
        self._expected: dict[int, ProducerBatch] = {}
        """The first batch that the disk refused of each unknown producer, by producer id."""
        self._verifications = Verifications()

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

    def begin_verification(self, producer_id: int, epoch: int, sequence: int, *, adds: bool) -> Verification:
        """Begin to verify that a batch is part of an open transaction; ONGOING if it is open here."""
        entry = self._entries.get(producer_id)
        if entry is not None:
            if entry.is_in_transaction(epoch):
                return ONGOING
            self.check_epoch(producer_id, epoch)
        return self._verifications.begin(producer_id, epoch, sequence, adds=adds)

    def check_append(
        self, admitted: Iterable[AdmittedBatch], verification: Verification | None = None
    ) -> CachedBatch | None:
        """Check the batches of one append; the cached batch if one is a duplicate."""
        checked: dict[int, ProducerBatch] = {}
        for each in admitted:
            batch = each.producer
            if batch is None:
                continue
            known = self.find_duplicate(batch)
            if known is not None:
                return known
            if verification is not None and batch.transactional:
                self._check_verified(batch, verification)
            self.check(batch, checked.get(batch.producer_id))
            checked[batch.producer_id] = batch
        return None

    def check(self, batch: ProducerBatch, before: ProducerBatch | None = None) -> None:
        """Refuse a batch that may not follow those of its producer; `before` is the last of them in the same append."""
        entry = self._entries.get(batch.producer_id)
        known = None if entry is None else (entry.epoch, entry.last_sequence, entry.transaction_start >= 0)
        if before is not None:
            known = before.epoch, before.last_sequence, before.transactional
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

    def _check_verified(self, batch: ProducerBatch, verification: Verification) -> None:
        entry = self._entries.get(batch.producer_id)
        if entry is None or not (entry.is_in_transaction(batch.epoch) or batch.epoch < entry.epoch):
            sequence, is_known = batch.first_sequence, entry is not None
            self._verifications.check(batch.producer_id, sequence, verification, is_known=is_known)

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Refuse an epoch before the current one."""
        entry = self._entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            raise InvalidProducerEpochError(f"producer {producer_id}: epoch {epoch}, expected {entry.epoch} or later")

    def _check_first(self, batch: ProducerBatch) -> None:
        """Refuse the batch of an unknown producer if the disk refused an earlier one of it."""
        refused = self._expected.get(batch.producer_id)
        if refused is not None and refused.epoch == batch.epoch and refused.first_sequence < batch.first_sequence:
            raise OutOfOrderSequenceError(
                f"producer {batch.producer_id} epoch {batch.epoch}: sequence {batch.first_sequence}, "
                f"expected {refused.first_sequence}, which the disk refused"
            )

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, level: int = 0) -> None:
        """Refuse a marker of an earlier transaction, producer epoch or coordinator epoch."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        is_earlier = level >= EPOCH_PER_TRANSACTION and entry.is_in_transaction(epoch) and epoch < LAST_EPOCH
        if epoch < entry.epoch or is_earlier:
            raise InvalidProducerEpochError(
                f"producer {producer_id}: marker of epoch {epoch}, expected {entry.epoch + is_earlier} or later"
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"producer {producer_id}: marker of coordinator epoch {coordinator_epoch}, "
                f"expected {entry.coordinator_epoch} or later"
            )

    def expect(self, batch: ProducerBatch) -> None:
        """Record that the disk refused a batch: an unknown producer must start with it."""
        if batch.producer_id in self._entries or batch.producer_id in self._expected:
            return
        if len(self._expected) >= MOST_EXPECTED:
            del self._expected[next(iter(self._expected))]
        self._expected[batch.producer_id] = batch

    def append(self, batch: ProducerBatch) -> None:
        """Record a batch that was written."""
        self._expected.pop(batch.producer_id, None)
        entry = self._entry(batch.producer_id, batch.epoch)
        if batch.first_sequence >= 0:
            entry.batches.append(
                CachedBatch(
                    batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp
                )
            )
        entry.last_timestamp = batch.timestamp
        if batch.transactional and entry.transaction_start < 0:
            entry.transaction_start = self.open[batch.producer_id] = batch.first_offset
            self._verifications.consume(batch.producer_id)

    def append_marker(self, marker: TransactionEnd) -> AbortedTransaction | None:
        """Record a marker that was written; the transaction that it aborted, if any."""
        self._verifications.cancel(marker.producer_id, marker.epoch)
        entry = self._entry(marker.producer_id, marker.epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = marker.timestamp
        first = self.open.pop(marker.producer_id, NONE)
        entry.transaction_start = NONE
        if first == NONE:
            return None
        stable = next(iter(self.open.values()), marker.offset + 1)
        closed = AbortedTransaction(marker.producer_id, first, marker.offset, stable)
        self.ended.append(closed)
        return None if marker.commit else closed

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The start of the earliest transaction that is open, or whose marker readers do not see yet."""
        if self.ended and self.ended[0].last_offset < high_watermark:
            self.ended = [closed for closed in self.ended if closed.last_offset >= high_watermark]
        firsts = [closed.first_offset for closed in self.ended]
        if self.open:
            firsts.append(next(iter(self.open.values())))
        return min(firsts, default=None)

    def expire(self, now: int, after_ms: int) -> list[int]:
        """Drop producers that were idle for longer and have no open transaction."""
        gone = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.transaction_start < 0 and now - entry.last_timestamp >= after_ms
        ]
        for producer_id in gone:
            del self._entries[producer_id]
        return gone

    def copy_of(self, producer_id: int) -> Producer | None:
        """A copy of a producer's state; None if it is unknown."""
        entry = self._entries.get(producer_id)
        return None if entry is None else replace(entry, batches=entry.batches.copy())

    def restore(self, before: Mapping[int, Producer | None]) -> None:
        """Restore the state of producers from their copies."""
        for producer_id, entry in before.items():
            if entry is None:
                self._entries.pop(producer_id, None)
            else:
                self._entries[producer_id] = entry
        self.open = _open_transactions(self._entries.values())

    def _entry(self, producer_id: int, epoch: int) -> Producer:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = Producer(producer_id, epoch)
        elif epoch > entry.epoch:
            entry.epoch = epoch
            entry.batches.clear()
        return entry


def _open_transactions(entries: Iterable[Producer]) -> dict[int, int]:
    """The producers with open transactions and the start offsets, the earliest first."""
    found = [(entry.transaction_start, entry.producer_id) for entry in entries if entry.transaction_start >= 0]
    return {producer_id: start for start, producer_id in sorted(found)}
