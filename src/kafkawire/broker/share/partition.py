"""A share partition: the records of one partition that a share group has in flight.

Rules:
- Records are in flight from `start` to `end`. All records before `start` are finished, all after `end` have not been
  delivered yet. Without records in flight, `end` is the next offset to deliver.
- An event returns an `Update`: its states are stored first, and then applied (`apply`). An update that cannot be stored
  changes nothing. Acquisitions are not stored: after a crash these records are available again.
- A release at the delivery limit archives the record.
- A lock that ends releases its records, also if this cannot be stored.
- The stored start is that before the update, as in Apache Kafka, whose tools show it.
- Stored batches may have gaps between them: records that were in flight and not acknowledged at a crash. These are
  delivered before anything else (`gap`).
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.share.in_flight import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    FINAL,
    NOBODY,
    InFlight,
    StateBatch,
)
from kafkawire.broker.share.stored import combine
from kafkawire.messages.errors import InvalidRecordStateError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FIRST: Final = attrgetter("first")
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
_RESULTS: Final = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE, REJECT: ARCHIVED}


class Acknowledgement(NamedTuple):
    """Types of acknowledgement for offsets: one for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Offsets of one type, as (first, last, type)."""
        if len(self.types) == 1:
            yield first, last, self.types[0]
            return
        begun = first
        for offset in range(first + 1, last + 2):
            kind = self.types[begun - self.first]
            if offset > last or self.types[offset - self.first] != kind:
                yield begun, offset - 1, kind
                begun = offset


class _Transition(NamedTuple):
    batch: InFlight
    first: int
    last: int
    state: int


class Update(NamedTuple):
    """The changes of one event, and what is stored about them."""

    start: int
    completed: int
    batches: list[StateBatch]
    transitions: list[_Transition]
    renewals: list[_Transition]


class SharePartition:
    """The records in flight of one partition, for one group."""

    def __init__(self, start: int, batches: Iterable[StateBatch] = ()) -> None:
        self.start = self.end = start
        self.batches: list[InFlight] = []
        self.has_available = False
        """Whether records in flight may be available; if not, no fetch looks for them."""
        self._gap: tuple[int, int] | None = None
        """The last offset that was stored, and the first one that may be missing before it."""
        self._locks: list[tuple[int, int, int]] = []
        previous, missing = start - 1, -1
        for each in batches:
            if missing == -1 and each.first > previous + 1:
                missing = previous + 1
            previous = each.last
            self.batches.append(InFlight(*each))
        if self.batches:
            self.has_available = True
            self.end = self.batches[-1].last
            if missing != -1:
                self._gap = self.end, missing
            self.move_start()

    def __repr__(self) -> str:
        return f"SharePartition({self.start} to {self.end}, {self.batches})"

    @property
    def gap(self) -> int | None:
        """The first offset that may be missing between stored batches; None if nothing is missing any more."""
        return self._gap[1] if self._gap is not None and self._gap[0] == self.end else None

    def move_gap(self, offset: int) -> None:
        """Note that records before an offset are not missing any more."""
        if self._gap is not None:
            self._gap = (self.end, offset) if self._gap[0] == self.end and offset <= self.end else None

    @property
    def in_flight(self) -> int:
        """The number of offsets in flight."""
        return self.end - self.start + 1 if self.batches else 0

    @property
    def completed(self) -> int:
        """The number of records in flight that are finished."""
        return sum(batch.finished(self.start) for batch in self.batches)

    def next_offset(self) -> int:
        """The offset to read from, for the next acquisition."""
        if not self.batches or self.start > self.batches[-1].last:
            self.has_available = False
            return self.end
        if self.has_available:
            gap = missing = self.gap
            for batch in self.batches:
                if gap is not None and missing is not None:
                    if batch.first > missing:
                        return missing
                    missing = max(batch.last + 1, missing)
                found = batch.first_available()
                if found is not None:
                    return found
            self.has_available = False
        return self.end + 1

    def can_acquire(self, most: int) -> bool:
        """Whether records may be acquired while at most so many may be in flight."""
        return self.next_offset() != self.end + 1 or self.in_flight < most

    def floor(self, offset: int) -> int:
        """The index of the last batch that begins at or before an offset; -1 if there is none."""
        return bisect_right(self.batches, offset, key=_FIRST) - 1

    def overlapping(self, first: int, last: int) -> list[InFlight]:
        """The batches from the one that begins at or before `first`, to the last that begins at or before `last`."""
        return self.batches[max(0, self.floor(first)) : self.floor(last) + 1]

    def add(self, batch: InFlight) -> None:
        """Take in a batch of records that were not in flight."""
        self.batches.insert(self.floor(batch.first) + 1, batch)

    def lock(self, first: int, last: int, locked_until: int) -> None:
        """Note that the locks of records end then."""
        heappush(self._locks, (locked_until, first, last))

    def next_deadline(self) -> int | None:
        """When the next lock may end."""
        while self._locks:
            until, first, last = self._locks[0]
            for batch in self.overlapping(first, last):
                if any(run.state == ACQUIRED and run.locked_until <= until for run in batch.runs(first, last)):
                    return until
            heappop(self._locks)
        return None

    def acknowledge(self, member: str, acknowledgements: Iterable[Acknowledgement], limit: int) -> Update:
        """Finish, release or renew records of a member. Refusals are raised, and concern all of them."""
        update = self._new_update()
        changed_to = -1
        for each in acknowledgements:
            if each.last < self.start:
                continue
            for batch in self._of(each):
                if batch.last < self.start:
                    continue
                if not batch.is_split:
                    _check_owner(batch, member)
                first = max(each.first, batch.first, self.start)
                last = min(each.last, batch.last)
                if first <= changed_to:
                    raise InvalidRecordStateError(
                        "The record state is invalid. The acknowledgement of delivery could not be completed."
                    )
                for run in batch.runs(first, last):
                    if run.state != ACQUIRED:
                        raise InvalidRecordStateError("The offset cannot be acknowledged. The offset is not acquired.")
                    if run.member != member:
                        raise InvalidRecordStateError("Member is not the owner of offset")
                    for begun, ended, kind in each.runs(run.first, run.last):
                        if kind == RENEW:
                            update.renewals.append(_Transition(batch, begun, ended, ACQUIRED))
                        else:
                            _plan(update, batch, begun, ended, _RESULTS[kind], run.deliveries, limit)
                            changed_to = ended
        return self._finished(update)

    def release(self, member: str, limit: int) -> Update:
        """Release all records of a member, because its session is over."""
        update = self._new_update()
        for batch in self.batches:
            if not batch.is_split and batch.member != member:
                continue
            for run in batch.runs(batch.first, batch.last):
                if run.state == ACQUIRED and run.member == member:
                    self._plan_release(update, batch, run.first, run.last, run.deliveries, limit)
        return self._finished(update)

    def expire(self, now: int, limit: int) -> Update:
        """Release the records whose locks have ended."""
        update = self._new_update()
        planned: set[tuple[int, int]] = set()
        while self._locks and self._locks[0][0] <= now:
            _, first, last = heappop(self._locks)
            for batch in self.overlapping(first, last):
                for run in batch.runs(first, last):
                    place = run.first, run.last
                    if run.state == ACQUIRED and run.locked_until <= now and place not in planned:
                        planned.add(place)
                        self._plan_release(update, batch, *place, run.deliveries, limit)
        return self._finished(update)

    def apply(self, update: Update, locked_until: int = 0) -> bool:
        """Take in an update; whether a waiting fetch may find records now. Renewed locks end at the given time."""
        for batch, first, last, state in update.transitions:
            batch.change(first, last, state)
            if state == AVAILABLE:
                self.has_available = True
        for batch, first, last, _ in update.renewals:
            batch.renew(first, last, locked_until)
            self.lock(first, last, locked_until)
        return bool(update.transitions) and (self.move_start() or self.has_available)

    def log_starts_at(self, offset: int) -> None:
        """Take in that the log has no records before an offset any more."""
        if offset <= self.start:
            return
        self.archive(self.start, offset - 1, AVAILABLE)
        self.start = offset
        self.batches = [batch for batch in self.batches if batch.last >= offset]
        if not self.batches:
            self.end, self._gap = offset, None
        elif self._gap is not None:
            self._gap = self._gap[0], max(self._gap[1], offset)

    def archive(self, first: int, last: int, state: int) -> None:
        """Archive the records of these offsets that have a state."""
        for batch in self.overlapping(first, last):
            for run in list(batch.runs(first, last)):
                if run.state == state:
                    batch.change(run.first, run.last, ARCHIVED)
                    self.has_available = True

    def move_start(self) -> bool:
        """Move the start past records that are finished; whether it has moved."""
        if not self._can_move():
            return False
        finished = self._last_finished()
        if finished is None:
            return False
        if finished == self.batches[-1].last:
            self.start = self.end = finished + 1
            self.batches.clear()
            return True
        index = self.floor(finished)
        batch = self.batches[index]
        if finished == batch.last:
            self.start = max(self.start, self.batches[index + 1].first)
            if self.gap is not None:
                self.start = min(self.gap, self.start)
            index += 1
        else:
            self.start = max(self.start, finished + 1)
        del self.batches[:index]
        return True

    def _can_move(self) -> bool:
        index = self.floor(self.start)
        if index < 0:
            return False
        batch = self.batches[index]
        return batch.state_at(min(self.start, batch.last)) in FINAL

    def _last_finished(self) -> int | None:
        """The last record before the first one that is not finished, or missing."""
        finished = None
        for batch in self.batches:
            if self.gap is not None and batch.last >= self.gap:
                return finished
            unfinished = batch.first_unfinished()
            if unfinished is not None:
                return finished if unfinished == batch.first else unfinished - 1
            finished = batch.last
        return finished

    def _of(self, each: Acknowledgement) -> list[InFlight]:
        index = self.floor(each.first)
        if index < 0 and each.first < self.start <= each.last:
            index = self.floor(self.start)
        if index < 0:
            raise InvalidRecordStateError(
                "Batch record not found. The request batch offsets are not found in the cache."
            )
        found = self.batches[index : self.floor(each.last) + 1]
        if found[-1].last < each.first:
            raise InvalidRequestError("Batch record not found. The first offset in request is past acquired records.")
        if each.last > found[-1].last:
            raise InvalidRequestError("Batch record not found. The last offset in request is past acquired records.")
        return found

    def _new_update(self) -> Update:
        return Update(self.start, 0, [], [], [])

    def _plan_release(self, update: Update, batch: InFlight, first: int, last: int, count: int, limit: int) -> None:
        """Plan that records are available again; those before the start are gone from the log."""
        if first < self.start:
            _plan(update, batch, first, min(last, self.start - 1), ARCHIVED, count, limit)
        if last >= self.start:
            _plan(update, batch, max(first, self.start), last, AVAILABLE, count, limit)

    def _finished(self, update: Update) -> Update:
        gained = sum(
            last - max(first, self.start) + 1
            for _, first, last, state in update.transitions
            if state in FINAL and last >= self.start
        )
        return update._replace(
            completed=self.completed + gained,
            batches=combine(update.batches) if len(update.batches) > 1 else update.batches,
        )


def _plan(update: Update, batch: InFlight, first: int, last: int, state: int, count: int, limit: int) -> None:
    if state == AVAILABLE and count >= limit:
        state = ARCHIVED
    update.transitions.append(_Transition(batch, first, last, state))
    update.batches.append(StateBatch(first, last, state, count))


def _check_owner(batch: InFlight, member: str) -> None:
    if batch.member == NOBODY:
        raise InvalidRecordStateError("The batch cannot be acknowledged. The batch is not in the acquired state.")
    if batch.member != member:
        raise InvalidRecordStateError("Member is not the owner of batch record")
