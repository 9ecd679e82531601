"""InitProducerId of a transactional id: the epoch of its producer rises, and earlier producers are fenced.

Rules:
- A producer that names its id and epoch continues with the next epoch. One that names none takes the id over.
- A request that names the epoch before the current one is a retry, and gets the current epoch again.
- An exhausted epoch means a new producer id. The old id and its last epoch then name a retry.
- An open transaction is aborted first, with a higher epoch. The answer is CONCURRENT_TRANSACTIONS even though this
  worked, and the next attempt succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.transactions.ending import fence
from kafkawire.broker.transactions.states import PREPARED, State
from kafkawire.broker.transactions.transaction import (
    EXHAUSTED_EPOCH,
    NO_EPOCH,
    NO_PRODUCER,
    NO_TIME,
    Change,
    Entry,
    Outcome,
    Transaction,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable


class Initiation(NamedTuple):
    """A producer that starts; with the id and epoch that it had, if it had one."""

    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_PRODUCER
    epoch: int = NO_EPOCH

    @property
    def names_producer(self) -> bool:
        return self.producer_id != NO_PRODUCER


def initiate(entry: Entry, wanted: Initiation, level: int, now: int, take_id: Callable[[], int]) -> Outcome:
    """The producer id and epoch of a producer that starts; `level` is that of aborts by the broker."""
    current = entry.current
    if entry.pending is not None:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    if wanted.names_producer and not _is_known(current, wanted):
        return Outcome(ErrorCode.PRODUCER_FENCED)
    if current.state in PREPARED:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    if current.state is State.ONGOING:
        return fence(entry, level, now, take_id)._replace(error=ErrorCode.CONCURRENT_TRANSACTIONS)
    numbers = _next(current, wanted, take_id)
    if numbers is None:
        return Outcome(ErrorCode.PRODUCER_FENCED)
    producer_id, epoch, last_epoch = numbers
    target = current.followed_by(
        State.EMPTY,
        now,
        producer_id=producer_id,
        epoch=epoch,
        last_epoch=last_epoch,
        timeout_ms=wanted.timeout_ms,
        partitions=frozenset(),
        started_at=NO_TIME,
    )
    entry.pending = State.EMPTY
    return Outcome(ErrorCode.NONE, producer_id, epoch, Change(entry, target))


def _is_known(current: Transaction, wanted: Initiation) -> bool:
    """Whether the producer that a request names can be the current one."""
    if current.epoch == NO_EPOCH or wanted.producer_id == current.producer_id:
        return True
    return wanted.producer_id == current.previous_producer_id and wanted.epoch >= EXHAUSTED_EPOCH


def _next(current: Transaction, wanted: Initiation, take_id: Callable[[], int]) -> tuple[int, int, int] | None:
    """The producer id, the epoch and the last epoch after a start; None if the producer is fenced."""
    names, producer_id, epoch = wanted.names_producer, current.producer_id, current.epoch
    if current.is_exhausted and (not names or wanted.epoch == epoch):
        return take_id(), 0, epoch if names else NO_EPOCH
    if not names:
        return producer_id, epoch + 1, NO_EPOCH
    if epoch in (NO_EPOCH, wanted.epoch):
        return producer_id, epoch + 1, epoch
    if wanted.epoch == current.last_epoch:
        return producer_id, epoch, current.last_epoch
    return None
