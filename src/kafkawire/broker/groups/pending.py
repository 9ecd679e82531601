"""Offsets that were committed in transactions which are still open (TxnOffsetCommit).

Rules:
- An owner is a producer in one partition of `__consumer_offsets`. The owner's marker decides about all of its offsets,
  those of several groups too.
- The order of records decides between commits, not the order of markers. So a plain commit supersedes the pending ones
  before it, and a transaction that commits supersedes those of other owners before its own (KAFKA-16164).
- A superseded offset stays pending until its marker, and then changes nothing.
- A partition of a group with a pending offset is unstable. A tombstone removes pending offsets too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kafkawire.broker.groups.classic.group import CommittedOffset, TopicPartition

Owner = tuple[int, int]
"""A partition of `__consumer_offsets` and a producer id."""


class PendingOffsets:
    """The offsets of open transactions, by owner and by group."""

    def __init__(self) -> None:
        self._offsets: dict[Owner, dict[tuple[str, TopicPartition], CommittedOffset | None]] = {}
        self._owners: dict[str, dict[TopicPartition, list[Owner]]] = {}
        """The owners with a pending offset for a partition of a group, in the order of their records."""

    def __bool__(self) -> bool:
        return bool(self._offsets)

    def groups(self) -> Iterator[str]:
        """The groups with pending offsets."""
        return iter(self._owners)

    def of(self, group_id: str) -> Collection[TopicPartition]:
        """The partitions with pending offsets of a group."""
        return self._owners.get(group_id, {}).keys()

    def add(self, owner: Owner, group_id: str, place: TopicPartition, committed: CommittedOffset) -> None:
        """Add an offset whose record was written."""
        self._offsets.setdefault(owner, {})[group_id, place] = committed
        owners = self._owners.setdefault(group_id, {}).setdefault(place, [])
        if owner in owners:
            owners.remove(owner)
        owners.append(owner)

    def supersede(self, group_id: str, places: Iterable[TopicPartition]) -> None:
        """A plain commit was written for these partitions."""
        by_place = self._owners.get(group_id)
        if by_place:
            for place in places:
                for owner in by_place.get(place, ()):
                    self._offsets[owner][group_id, place] = None

    def forget(self, group_id: str, place: TopicPartition) -> None:
        """A tombstone was written for a partition."""
        for owner in list(self._owners.get(group_id, {}).get(place, ())):
            self._remove(owner, group_id, place)

    def end(self, owner: Owner, *, commit: bool) -> list[tuple[str, TopicPartition, CommittedOffset]]:
        """The marker of an owner was written; the offsets that are committed by it."""
        committed = []
        for (group_id, place), offset in list(self._offsets.get(owner, {}).items()):
            if commit and offset is not None:
                committed.append((group_id, place, offset))
                for earlier in self._owners[group_id][place]:
                    if earlier == owner:
                        break
                    self._offsets[earlier][group_id, place] = None
            self._remove(owner, group_id, place)
        return committed

    def _remove(self, owner: Owner, group_id: str, place: TopicPartition) -> None:
        offsets, by_place = self._offsets[owner], self._owners[group_id]
        del offsets[group_id, place]
        by_place[place].remove(owner)
        if not offsets:
            del self._offsets[owner]
        if not by_place[place]:
            del by_place[place]
        if not by_place:
            del self._owners[group_id]
