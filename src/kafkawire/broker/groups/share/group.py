"""A share group: members, epochs, targets, and its share partitions.

Rules:
- `apply` is the only way to change a group. It returns the change that undoes it.
- A partition may belong to several members.
- A group is Empty, or Stable if it has members.
- A share group has no committed offsets. Its share partitions have their own state (`broker.share`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.epochs import EpochGroup
from kafkawire.broker.groups.share.changes import (
    Assigned,
    Change,
    Current,
    Ended,
    GroupEpoch,
    Partitions,
    SharePartitions,
    Subscribed,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.share.member import ShareMember

if TYPE_CHECKING:
    from kafkawire.broker.groups.consumer.assignors.spec import Assignment

_NOTHING: Final = Assigned(0, -1, 0, {})


class ShareState(StrEnum):
    """A state, by the name that ShareGroupDescribe gives it."""

    EMPTY = "Empty"
    STABLE = "Stable"


class ShareGroup(EpochGroup["ShareMember", "Assignment"]):
    """One group of the share protocol."""

    kind = "share"
    protocol_type = "share"
    uses_consumer_protocol = False

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.partitions = SharePartitions()
        self.names: Counter[str] = Counter()
        self.tried_at: int | None = None
        """When share partitions were last asked for their first state; None if they may be asked at once."""

    def __repr__(self) -> str:
        return f"ShareGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {len(self.members)} members)"

    @property
    def state(self) -> ShareState:
        return ShareState.STABLE if self.members else ShareState.EMPTY

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that members subscribe to."""
        return frozenset(self.names)

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return all(count == len(self.members) for count in self.names.values())

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, {})

    def apply(self, change: Change) -> Change:
        """Take in a change; returns the one that undoes it."""
        match change:
            case Subscribed(member_id, member):
                return self._subscribe(member_id, member)
            case Current(member_id, assigned):
                return self._assign(member_id, assigned)
            case Target(member_id, partitions):
                return Target(member_id, self.set_target(member_id, partitions))
            case GroupEpoch():
                return self.set_group_epoch(change)
            case TargetEpoch():
                return self.set_target_epoch(change)
            case Partitions(share_partitions):
                undo: Change = Partitions(self.partitions)
                self.partitions = share_partitions or SharePartitions()
                return undo
            case Ended():
                return change

    def _subscribe(self, member_id: str, member: ShareMember | None) -> Change:
        old = self.members.get(member_id)
        if old is not None:
            self._count(old, -1)
        if member is None:
            self.members.pop(member_id, None)
        else:
            self._count(member, 1)
            self.members[member_id] = _with(member, _NOTHING if old is None else _assigned(old))
        return Subscribed(member_id, old)

    def _assign(self, member_id: str, assigned: Assigned | None) -> Change:
        old = self.members.get(member_id)
        if old is None:
            if assigned is None:
                return Current(member_id, None)
            old = ShareMember(member_id)
        self.members[member_id] = _with(old, assigned or _NOTHING)
        return Current(member_id, _assigned(old))

    def _count(self, member: ShareMember, by: int) -> None:
        for name in member.topics:
            self.names[name] += by
            if not self.names[name]:
                del self.names[name]


def ending(group: ShareGroup) -> list[Change]:
    """The changes that end a group."""
    return [
        *(Current(member_id, None) for member_id in group.members),
        *(Target(member_id, None) for member_id in group.members),
        *(Subscribed(member_id, None) for member_id in group.members),
        Ended(),
    ]


def _assigned(member: ShareMember) -> Assigned:
    return Assigned(member.epoch, member.previous_epoch, member.state, member.assigned)


def _with(member: ShareMember, now: Assigned) -> ShareMember:
    """A member with another assignment."""
    return replace(member, epoch=now.epoch, previous_epoch=now.previous_epoch, state=now.state, assigned=now.partitions)
