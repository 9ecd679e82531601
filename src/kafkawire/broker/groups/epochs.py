"""The part that consumer, share and streams groups have in common: epochs of the group, of its targets and their end.

Rules:
- The epoch of the group rises with its members, subscriptions and topics. The assignment epoch is that for which the
  targets were last computed.
- A change returns the one that undoes it.
- A group without members is empty. It keeps its epochs until it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from kafkawire.broker.groups.classic.group import CommittedOffset, TopicPartition
    from kafkawire.broker.groups.consumer.assignors.spec import Assignment

M = TypeVar("M")
T = TypeVar("T")
FIRST_EPOCH: Final = 1


class GroupEpoch(NamedTuple):
    """The epoch of the group, and the hash of its topics then."""

    epoch: int
    metadata_hash: int


class TargetEpoch(NamedTuple):
    """The epoch that the targets were computed for, and when."""

    epoch: int
    computed_at: int


class Target(NamedTuple):
    """The target of a member."""

    member_id: str
    partitions: Assignment | None


class Ended(NamedTuple):
    """The group has no epochs any more: it is gone, or of another kind."""


class EpochGroup(Generic[M, T]):
    """A group with members and targets, and the epochs of both."""

    is_simple = False

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at = 0
        self.members: dict[str, M] = {}
        self.targets: dict[str, T] = {}
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self.pending: set[str] = set()
        self.checked_topics = -1
        """The version of the topics that the metadata hash was last compared with."""

    @property
    def is_empty(self) -> bool:
        return not self.members

    def set_group_epoch(self, change: GroupEpoch) -> GroupEpoch:
        """Take in an epoch of the group; returns the change that undoes it."""
        undo = GroupEpoch(self.epoch, self.metadata_hash)
        self.epoch, self.metadata_hash = change
        return undo

    def set_target_epoch(self, change: TargetEpoch) -> TargetEpoch:
        """Take in an epoch of the targets; returns the change that undoes it."""
        undo = TargetEpoch(self.assignment_epoch, self.assigned_at)
        self.assignment_epoch, self.assigned_at = change
        return undo

    def set_target(self, member_id: str, target: T | None) -> T | None:
        """Take in the target of a member; returns the one before."""
        before = self.targets.pop(member_id, None)
        if target is not None:
            self.targets[member_id] = target
        return before
