"""Verifications of transactional batches: the coordinator confirms a transaction before its first batch is appended.

A producer may send a batch after its transaction has ended. Without a check the batch would open a transaction that
no client ends (KIP-890).
Rules:
- A verification begins before the coordinator is asked, and the append presents it. The first append of the
  transaction consumes it. A marker cancels it, so that a confirmation from before the marker is worthless.
- A marker of the same epoch does not cancel a verification whose request adds the partition (Produce v12+). It ends
  the previous transaction, because every transaction of such a producer has an epoch of its own.
- A producer has one verification. It remembers the lowest first sequence of its epoch: later batches in flight must not
  be appended before an earlier one whose verification failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkawire.messages.errors import InvalidTxnStateError, OutOfOrderSequenceError

MOST_VERIFICATIONS: Final = 1000


@dataclass(slots=True, eq=False)
class Verification:
    """The state of the first batch of a producer's next transaction."""

    epoch: int
    lowest_sequence: int
    adds: bool
    """Whether the request adds the partition, so that every transaction of the producer has its own epoch."""


ONGOING: Final = Verification(-1, -1, False)
"""Presented when the transaction is open already; it does not allow a new one."""


class Verifications:
    """The verifications of one partition, by producer id."""

    def __init__(self) -> None:
        self._by_producer: dict[int, Verification] = {}

    def begin(self, producer_id: int, epoch: int, sequence: int, *, adds: bool) -> Verification:
        """The verification of a producer; begins one if there is none."""
        known = self._by_producer.get(producer_id)
        if known is None:
            if len(self._by_producer) >= MOST_VERIFICATIONS:
                del self._by_producer[next(iter(self._by_producer))]
            known = self._by_producer[producer_id] = Verification(epoch, sequence, adds)
        elif epoch > known.epoch:
            known.epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return known

    def check(self, producer_id: int, sequence: int, presented: Verification, *, is_known: bool) -> None:
        """Refuse a batch whose verification was cancelled, or that must not be the first of its transaction."""
        if self._by_producer.get(producer_id) is not presented:
            raise InvalidTxnStateError(f"producer {producer_id}: the batch is not part of an open transaction")
        if presented.adds and not is_known and sequence:
            raise OutOfOrderSequenceError(
                f"producer {producer_id}: its first batch here has sequence {sequence}, expected 0"
            )
        if sequence > presented.lowest_sequence:
            raise OutOfOrderSequenceError(
                f"producer {producer_id}: sequence {sequence}, expected {presented.lowest_sequence}, "
                "which is not appended yet"
            )

    def consume(self, producer_id: int) -> None:
        """Forget a verification, because the transaction is open now."""
        if self._by_producer:
            self._by_producer.pop(producer_id, None)

    def cancel(self, producer_id: int, marker_epoch: int) -> None:
        """Forget a verification, because a marker ended the transaction."""
        known = self._by_producer.get(producer_id)
        if known is not None and not (known.adds and known.epoch == marker_epoch):
            del self._by_producer[producer_id]
