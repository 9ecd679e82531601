"""The transaction coordinator: every transactional id of the broker, and the requests about them.

It does no I/O. A request returns its `Outcome`. If this has a change, the caller writes the record, and reports
`written` or `refused`. The answer is valid once the record is durable. Until then every request about the id gets
CONCURRENT_TRANSACTIONS.
Rules:
- A prepared transaction has a pending completion at once, also after a restart. Its caller writes the markers, and
  then the change of `complete`.
- A refused change leaves the state as it was. A refused completion stays pending, because its markers are written.
- A pending change is checked before the producer id, because a producer may already use its next id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.transactions.ending import Ending, complete, end, fence
from kafkawire.broker.transactions.initiation import Initiation, initiate
from kafkawire.broker.transactions.states import PREPARED, SETTLED, State, completed
from kafkawire.broker.transactions.transaction import NO_EPOCH, Change, Entry, Outcome, Transaction
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Set

    from kafkawire.broker.transactions.settings import TransactionSettings
    from kafkawire.broker.transactions.transaction import TopicPartition


class TransactionCoordinator:
    """Every transactional id, driven by requests and the time."""

    def __init__(
        self, settings: TransactionSettings, take_id: Callable[[], int], level: Callable[[], int] = lambda: 2
    ) -> None:
        self.settings = settings
        self._take_id = take_id
        self._level = level
        self._entries: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, transactional_id: str) -> Entry | None:
        return self._entries.get(transactional_id)

    def load(self, transactions: Iterable[Transaction]) -> list[Entry]:
        """Take over what was read from the log; returns the entries whose markers have to be written."""
        unfinished = []
        for each in transactions:
            entry = self._entries[each.transactional_id] = Entry(each)
            if each.state in PREPARED:
                entry.pending = completed(each.state)
                unfinished.append(entry)
        return unfinished

    def unload(self) -> None:
        """Forget every id, because their log is gone."""
        self._entries.clear()

    def initiate(self, wanted: Initiation, now: int) -> Outcome:
        """The producer id and epoch of a producer that starts."""
        if not wanted.transactional_id:
            return Outcome(ErrorCode.INVALID_REQUEST)
        if not 0 < wanted.timeout_ms <= self.settings.max_timeout_ms:
            return Outcome(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        entry = self._entries.get(wanted.transactional_id)
        if entry is None:
            fresh = Transaction(wanted.transactional_id, self._take_id(), NO_EPOCH, wanted.timeout_ms, updated_at=now)
            entry = self._entries[wanted.transactional_id] = Entry(fresh)
        return initiate(entry, wanted, self._level(), now, self._take_id)

    def add(
        self, transactional_id: str, producer: tuple[int, int], places: Set[TopicPartition], level: int, now: int
    ) -> Outcome:
        """Add partitions to the transaction of a producer; the first ones open it."""
        if not transactional_id:
            return Outcome(ErrorCode.INVALID_REQUEST)
        entry = self._entries.get(transactional_id)
        if entry is None:
            return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if entry.pending is not None:
            return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
        current = entry.current
        refusal = _check_producer(current, producer)
        if refusal:
            return Outcome(refusal)
        if current.state is State.ONGOING and places <= current.partitions:
            return Outcome()
        begins = current.state in SETTLED
        target = current.followed_by(
            State.ONGOING,
            now,
            partitions=frozenset(places) if begins else current.partitions | places,
            started_at=now if begins else current.started_at,
            client_level=level,
        )
        entry.pending = State.ONGOING
        return Outcome(change=Change(entry, target))

    def verify(
        self, transactional_id: str, producer: tuple[int, int], places: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether partitions are part of a producer's transaction; the error of each."""
        entry = self._entries.get(transactional_id)
        refusal = ErrorCode.INVALID_REQUEST
        if transactional_id:
            mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
            refusal = mapping if entry is None else _check_producer(entry.current, producer)
        if refusal or entry is None:
            return dict.fromkeys(places, refusal)
        known = entry.current.partitions
        return {place: ErrorCode.NONE if place in known else ErrorCode.TRANSACTION_ABORTABLE for place in places}

    def end(self, ending: Ending, now: int) -> Outcome:
        """Commit or abort on behalf of a producer."""
        if not ending.transactional_id:
            return Outcome(ErrorCode.INVALID_REQUEST)
        entry = self._entries.get(ending.transactional_id)
        if entry is None:
            return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return end(entry, ending, now, self._take_id)

    def time_out(self, entry: Entry, now: int) -> Change | None:
        """The abort of a transaction that is open for too long; None if it is not."""
        if entry.pending is not None or not entry.is_overdue(now):
            return None
        return fence(entry, self._level(), now, self._take_id).change

    def expire(self, entry: Entry, now: int) -> Change | None:
        """The removal of an id that was unused for too long; None if it was not."""
        if entry.pending is not None or not entry.is_expired(now, self.settings.expiration_ms):
            return None
        entry.pending = State.DEAD
        return Change(entry, None)

    def clock_was_set(self, by: int) -> None:
        """The system's clock has jumped; timeouts and expiry are as far away as before."""
        for entry in self:
            entry.clock_set_by += by

    def complete(self, entry: Entry, now: int) -> Change:
        """The change after the last marker of a prepared transaction."""
        return complete(entry, now)

    def written(self, change: Change) -> None:
        """Apply a change whose record is durable."""
        entry, target = change.entry, change.target
        entry.pending = None
        if target is None:
            self._entries.pop(entry.current.transactional_id, None)
            return
        if target.state is not State.ONGOING or target.started_at != entry.current.started_at:
            entry.clock_set_by = 0
        entry.current = target
        entry.fence_failed = False
        if target.state in PREPARED:
            entry.pending = completed(target.state)
            entry.unmarked = set(target.partitions)

    def refused(self, change: Change) -> None:
        """Give up a change whose record was not written."""
        entry, target = change.entry, change.target
        if target is not None and entry.current.state in PREPARED:
            return
        entry.pending = None
        if change.is_fence:
            entry.fence_failed = True
        if entry.current.epoch == NO_EPOCH:
            self._entries.pop(entry.current.transactional_id, None)


def _check_producer(current: Transaction, producer: tuple[int, int]) -> ErrorCode:
    producer_id, epoch = producer
    if current.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if current.epoch != epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if current.state in PREPARED else ErrorCode.NONE
