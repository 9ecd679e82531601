"""The changes of a share group, one per kind of record.

Rules:
- A group changes by changes only. The same changes are written to the log, so that a replay leads to the same group.
- Without a value (None), a change removes what it is about.
- Epochs, targets and the end of a group are those of `groups.epochs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkawire.broker.groups.epochs import Ended, GroupEpoch, Target, TargetEpoch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment
    from kafkawire.broker.groups.share.member import ShareMember


class Subscribed(NamedTuple):
    """The subscription of a member: everything but its assignment."""

    member_id: str
    member: ShareMember | None


class Assigned(NamedTuple):
    """The partitions of a member, and its epochs."""

    epoch: int
    previous_epoch: int
    state: int
    partitions: Assignment


class Current(NamedTuple):
    """The assignment of a member."""

    member_id: str
    assigned: Assigned | None


class TopicPartitions(NamedTuple):
    """Partitions of a topic, whose name is kept for readers of the log."""

    name: str
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class SharePartitions:
    """The share partitions of a group: those whose first state is being stored, those that have one, and topics whose
    states are being deleted."""

    initializing: Mapping[UUID, TopicPartitions] = field(default_factory=dict)
    initialized: Mapping[UUID, TopicPartitions] = field(default_factory=dict)
    deleting: Mapping[UUID, str] = field(default_factory=dict)


class Partitions(NamedTuple):
    """The share partitions of the group."""

    partitions: SharePartitions | None


Change: TypeAlias = Subscribed | GroupEpoch | TargetEpoch | Target | Current | Partitions | Ended

__all__ = [
    "Assigned",
    "Change",
    "Current",
    "Ended",
    "GroupEpoch",
    "Partitions",
    "SharePartitions",
    "Subscribed",
    "Target",
    "TargetEpoch",
    "TopicPartitions",
]
