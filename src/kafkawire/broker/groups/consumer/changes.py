"""The changes of a consumer group, one per kind of record.

Rules:
- A group changes by changes only. The same changes are written to the log, so that a replay leads to the same group.
- Without a value (None), a change removes what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from kafkawire.broker.groups.consumer.assignors.spec import Assignment
    from kafkawire.broker.groups.consumer.member import ConsumerMember, MemberState, OwnedPartitions


class Subscribed(NamedTuple):
    """The subscription of a member: everything but its assignment."""

    member_id: str
    member: ConsumerMember | None


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


class Reconciled(NamedTuple):
    """The part of its target that a member has."""

    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: OwnedPartitions
    revoking: OwnedPartitions


class Current(NamedTuple):
    """The assignment of a member."""

    member_id: str
    reconciled: Reconciled | None

    @classmethod
    def of(cls, member: ConsumerMember) -> Current:
        now = Reconciled(member.epoch, member.previous_epoch, member.state, member.assigned, member.revoking)
        return cls(member.member_id, now)


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, and when."""

    topics: frozenset[str]
    version: int
    resolved_at: int


class Resolved(NamedTuple):
    """The topics of a regular expression."""

    regex: str
    resolved: ResolvedRegex | None


class Ended(NamedTuple):
    """The group has no epochs any more: it is gone, or of another kind."""


Change: TypeAlias = Subscribed | GroupEpoch | TargetEpoch | Target | Current | Resolved | Ended
