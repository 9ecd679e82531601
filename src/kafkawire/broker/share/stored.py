"""The stored state of share partitions: snapshots, updates, and the result of both.

Rules:
- A state begins with a snapshot (`initialization`). Updates change it. After enough updates the next change is a
  snapshot, so that a load reads few records, and older records can be deleted.
- Of overlapping batches, the larger delivery count wins, then the larger state. Neighbours of one state are joined.
- Batches before the start are dropped.
- A writer of an older leader epoch or state epoch is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.share.in_flight import StateBatch
from kafkawire.messages.errors import FencedLeaderEpochError, FencedStateEpochError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from uuid import UUID

UNKNOWN: Final = -1
"""A start offset, a leader epoch or a count that is not known yet."""


class ShareKey(NamedTuple):
    """The name of a share partition."""

    group_id: str
    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole state."""

    epoch: int
    state_epoch: int
    leader_epoch: int
    start: int
    completed: int
    created_at: int
    written_at: int
    batches: tuple[StateBatch, ...] = ()


class StateUpdate(NamedTuple):
    """A change of a state; the snapshot that it belongs to has the given epoch."""

    epoch: int
    leader_epoch: int
    start: int
    completed: int
    batches: tuple[StateBatch, ...] = ()


class Change(NamedTuple):
    """One record: the new state of a share partition, or its update; None if it is gone."""

    key: ShareKey
    value: Snapshot | StateUpdate | None


def combine(batches: Iterable[StateBatch], start: int = UNKNOWN) -> list[StateBatch]:
    """Batches without overlaps, in order, from a start on.

    >>> combine([StateBatch(0, 9, 0, 1), StateBatch(3, 4, 2, 1), StateBatch(10, 12, 0, 1)], start=2)
    [StateBatch(first=2, last=2, state=0, deliveries=1), StateBatch(first=3, last=4, state=2, deliveries=1), \
StateBatch(first=5, last=12, state=0, deliveries=1)]
    """
    ordered = sorted(each for each in batches if each.last >= start)
    result: list[StateBatch] = []
    active: list[tuple[int, int, int]] = []
    index, at = 0, start
    while index < len(ordered) or active:
        if not active:
            at = max(start, ordered[index].first)
        while index < len(ordered) and ordered[index].first <= at:
            each = ordered[index]
            heappush(active, (-each.deliveries, -each.state, -each.last))
            index += 1
        while active and -active[0][2] < at:
            heappop(active)
        if not active:
            continue
        count, state, last = (-number for number in active[0])
        if index < len(ordered):
            last = min(last, ordered[index].first - 1)
        if result and result[-1].last + 1 == at and result[-1][2:] == (state, count):
            result[-1] = result[-1]._replace(last=last)
        else:
            result.append(StateBatch(at, last, state, count))
        at = last + 1
    return result


class ShareStates:
    """The stored states of share partitions, and the changes that lead to new ones."""

    def __init__(self, updates_per_snapshot: int = 500) -> None:
        self._updates_per_snapshot = updates_per_snapshot
        self._states: dict[ShareKey, Snapshot] = {}
        self._updates: dict[ShareKey, int] = {}

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[ShareKey]:
        return iter(self._states)

    def find(self, key: ShareKey) -> Snapshot | None:
        return self._states.get(key)

    def apply(self, change: Change) -> None:
        """Take in a change."""
        key, value = change
        if value is None:
            self._states.pop(key, None)
            self._updates.pop(key, None)
        elif isinstance(value, Snapshot):
            self._states[key] = value
            self._updates[key] = 0
        else:
            self._updates[key] = self._updates.get(key, 0) + 1
            self._states[key] = _updated(self._states.get(key), value)

    def initialization(self, key: ShareKey, state_epoch: int, start: int, now: int) -> Change:
        """The state of a share partition that begins, or begins again at another offset."""
        found = self._states.get(key)
        epoch = 0
        if found is not None:
            epoch = found.epoch + 1
            if UNKNOWN not in (state_epoch, found.state_epoch) and found.state_epoch > state_epoch:
                raise FencedStateEpochError(
                    "The share coordinator rejected the request because the share-group state epoch did not match."
                )
        completed = UNKNOWN if start == UNKNOWN else 0
        return Change(key, Snapshot(epoch, state_epoch, UNKNOWN, start, completed, now, now))

    def reading(self, key: ShareKey, leader_epoch: int) -> tuple[Snapshot, Change | None]:
        """The state of a share partition, and the change that notes its reader's leader epoch."""
        found = self._known(key, leader_epoch, "read")
        if leader_epoch in (UNKNOWN, found.leader_epoch):
            return found, None
        return found, Change(key, StateUpdate(found.epoch, leader_epoch, found.start, found.completed))

    def writing(
        self,
        key: ShareKey,
        leader_epoch: int,
        state_epoch: int,
        start: int,
        completed: int,
        batches: Sequence[StateBatch],
        now: int,
    ) -> Change:
        """The change that stores states of records."""
        found = self._known(key, leader_epoch, "write")
        if state_epoch != UNKNOWN and found.state_epoch > state_epoch:
            raise FencedStateEpochError(f"state epoch {state_epoch}, the share partition has {found.state_epoch}")
        update = StateUpdate(found.epoch, found.leader_epoch, start, completed, tuple(combine(batches, start)))
        if self._updates.get(key, 0) < self._updates_per_snapshot:
            return Change(key, update)
        after = _updated(found, update)
        return Change(key, replace(after, epoch=found.epoch + 1, created_at=now, written_at=now))

    def cold_snapshots(self, interval: int, now: int) -> list[Change]:
        """Snapshots of states that were written long ago, so that older records can be deleted.

        If all of them have one, nothing has happened since, and there is nothing to delete.
        """
        if all(each.created_at != each.written_at for each in self._states.values()):
            return []
        return [
            Change(key, replace(each, epoch=each.epoch + 1, written_at=now))
            for key, each in self._states.items()
            if now - each.written_at >= interval
        ]

    def of_topic(self, topic_id: UUID) -> list[ShareKey]:
        """The share partitions of a topic."""
        return [key for key in self._states if key.topic_id == topic_id]

    def of_group(self, group_id: str) -> list[ShareKey]:
        """The share partitions of a group."""
        return [key for key in self._states if key.group_id == group_id]

    def _known(self, key: ShareKey, leader_epoch: int, verb: str) -> Snapshot:
        found = self._states.get(key)
        if found is None:
            raise InvalidRequestError(f"{verb} of a share partition that has no state: {key}")
        if leader_epoch != UNKNOWN and found.leader_epoch > leader_epoch:
            raise FencedLeaderEpochError(f"leader epoch {leader_epoch}, the share partition has {found.leader_epoch}")
        return found


def _updated(found: Snapshot | None, update: StateUpdate) -> Snapshot:
    if found is None:  # the log begins after the snapshot, which another broker may have left behind
        found = Snapshot(update.epoch, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    start = found.start if update.start == UNKNOWN else update.start
    return replace(
        found,
        leader_epoch=found.leader_epoch if update.leader_epoch == UNKNOWN else update.leader_epoch,
        start=start,
        completed=update.completed,
        batches=tuple(combine([*found.batches, *update.batches], start)),
    )
