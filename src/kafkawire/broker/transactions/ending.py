"""The end of a transaction: by its producer (EndTxn), by a producer that replaces it, by its timeout.

Rules:
- Up to level 1 of transaction.version the epoch stays. A decision that was made already is answered again, and the
  other one is INVALID_TXN_STATE. The record has level 0, as in Kafka.
- From level 2 on (KIP-890) the epoch rises with the end: the prepared record and the markers have the next one. A
  request with the epoch before is a retry. Late requests of earlier transactions therefore cannot end a later one.
- The last usable epoch is followed by a new producer id. It is in the prepared record, and replaces the old one when
  the transaction is complete.
- A producer of level 2 may abort without an open transaction, because it cannot know whether the broker saw one.
- Fencing raises the epoch once. Up to level 1 it rises in memory first, and stays if the record cannot be written
  (KAFKA-9666). From level 2 on the end itself raises it (KAFKA-19367).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkawire.broker.transactions.states import PREPARED, SETTLED, State, completed, prepared
from kafkawire.broker.transactions.transaction import (
    EPOCH_PER_TRANSACTION,
    EXHAUSTED_EPOCH,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER,
    Change,
    Entry,
    Outcome,
    Transaction,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable


class Ending(NamedTuple):
    """A producer's decision about its transaction; `level` is its transaction.version."""

    transactional_id: str
    producer_id: int
    epoch: int
    commit: bool
    level: int = 0


def end(entry: Entry, ending: Ending, now: int, take_id: Callable[[], int]) -> Outcome:
    """Commit or abort on behalf of a producer."""
    if ending.level >= EPOCH_PER_TRANSACTION:
        return _end_with_epoch(entry, ending, now, take_id)
    current = entry.current
    if current.producer_id != ending.producer_id:
        return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if current.epoch != ending.epoch:
        return Outcome(ErrorCode.PRODUCER_FENCED)
    if entry.pending is not None:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    if current.state is State.ONGOING:
        return _prepare(entry, ending.commit, ending.level, now, take_id)._replace(producer_id=-1, epoch=-1)
    wanted = prepared(commit=ending.commit)
    if current.state is wanted:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    return Outcome(ErrorCode.NONE if current.state is completed(wanted) else ErrorCode.INVALID_TXN_STATE)


def fence(entry: Entry, level: int, now: int, take_id: Callable[[], int]) -> Outcome:
    """Abort an open transaction with a higher epoch, so that its producer is fenced; `level` is the cluster's."""
    if level < EPOCH_PER_TRANSACTION and not entry.fence_failed:
        current = entry.current
        entry.current = current._replace(epoch=min(current.epoch + 1, LAST_EPOCH), last_epoch=NO_EPOCH)
    outcome = _prepare(entry, False, level, now, take_id)
    assert outcome.change is not None
    return outcome._replace(change=outcome.change._replace(is_fence=True))


def complete(entry: Entry, now: int) -> Change:
    """The change after the last marker of a prepared transaction."""
    current = entry.current
    numbers = {} if current.next_producer_id == NO_PRODUCER else {"producer_id": current.next_producer_id, "epoch": 0}
    state = entry.pending = completed(current.state)
    return Change(entry, current.followed_by(state, now, partitions=frozenset(), **numbers))


def _end_with_epoch(entry: Entry, ending: Ending, now: int, take_id: Callable[[], int]) -> Outcome:
    current = entry.current
    if entry.pending is not None:
        return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
    has_new_id = _is_retry_of_last_epoch(current, ending)
    if current.producer_id != ending.producer_id and not has_new_id:
        return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_retry = has_new_id or current.epoch == ending.epoch + 1
    is_current = current.epoch == ending.epoch
    state = current.state
    if state in PREPARED or state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
        if not is_retry and (state in PREPARED or not is_current):
            return Outcome(ErrorCode.PRODUCER_FENCED)
    elif not is_current:
        return Outcome(ErrorCode.PRODUCER_FENCED)
    if is_retry:
        wanted = prepared(commit=ending.commit)
        if state is wanted:
            return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
        if state is completed(wanted):
            return Outcome(ErrorCode.NONE, current.producer_id, current.epoch)
        return Outcome(ErrorCode.INVALID_TXN_STATE)
    if state in SETTLED and ending.commit:
        return Outcome(ErrorCode.INVALID_TXN_STATE)
    return _prepare(entry, ending.commit, ending.level, now, take_id)


def _is_retry_of_last_epoch(current: Transaction, ending: Ending) -> bool:
    """Whether a request ends the transaction after which the producer id changed."""
    return (
        current.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
        and ending.producer_id == current.previous_producer_id != current.producer_id
        and ending.epoch == EXHAUSTED_EPOCH
        and current.epoch == 0
    )


def _prepare(entry: Entry, commit: bool, level: int, now: int, take_id: Callable[[], int]) -> Outcome:
    current = entry.current
    state = prepared(commit=commit)
    is_open = current.state is State.ONGOING
    changes: dict[str, Any] = {"client_level": 0, "started_at": current.started_at if is_open else now}
    producer_id, epoch = current.producer_id, current.epoch
    if level >= EPOCH_PER_TRANSACTION:
        changes["client_level"] = level
        next_id = take_id() if current.is_exhausted else NO_PRODUCER
        epoch = min(current.epoch + 1, LAST_EPOCH)
        changes |= {"epoch": epoch, "last_epoch": current.epoch, "next_producer_id": next_id}
        if next_id != NO_PRODUCER:
            producer_id, epoch = next_id, 0
    if not is_open:
        changes["partitions"] = frozenset()
    entry.pending = state
    return Outcome(ErrorCode.NONE, producer_id, epoch, Change(entry, current.followed_by(state, now, **changes)))
