"""The changes of a streams group, one per kind of record.

Rules:
- A group changes by changes only. The same changes are written to the log, so that a replay leads to the same group.
- Without a value (None), a change removes what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkawire.broker.groups.epochs import Ended, TargetEpoch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker.groups.streams.member import StreamsMember, StreamsMemberState
    from kafkawire.broker.groups.streams.tasks import OwnedTasks, TaskSet
    from kafkawire.broker.groups.streams.topology import Topology


class Described(NamedTuple):
    """The description of a member: everything but its assignment."""

    member_id: str
    member: StreamsMember | None


class GroupEpoch(NamedTuple):
    """The epoch of the group, and what it was raised for: topics, a valid topology, or settings of the assignor."""

    epoch: int
    metadata_hash: int
    validated_epoch: int
    configs: Mapping[str, str]


class Target(NamedTuple):
    """The target of a member."""

    member_id: str
    tasks: TaskSet | None


class Reconciled(NamedTuple):
    """The part of its target that a member has."""

    epoch: int
    previous_epoch: int
    state: StreamsMemberState
    assigned: OwnedTasks
    revoking: OwnedTasks

    @classmethod
    def of(cls, member: StreamsMember) -> Reconciled:
        return cls(member.epoch, member.previous_epoch, member.state, member.assigned, member.revoking)


class Current(NamedTuple):
    """The assignment of a member."""

    member_id: str
    reconciled: Reconciled | None


class Stated(NamedTuple):
    """The topology of the group."""

    topology: Topology | None


Change: TypeAlias = Described | GroupEpoch | TargetEpoch | Target | Current | Stated | Ended

__all__ = ["Change", "Current", "Described", "Ended", "GroupEpoch", "Reconciled", "Stated", "Target", "TargetEpoch"]
