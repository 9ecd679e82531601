"""The changes of a consumer group, one per kind of record.

Rules:
- A group changes by changes only. The same changes are written to the log, so that a replay leads to the same group.
- Without a value (None), a change removes what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkawire.broker.groups.epochs import Ended, GroupEpoch, Target, TargetEpoch

if TYPE_CHECKING:
    from kafkawire.broker.groups.consumer.member import ConsumerMember, MemberState, OwnedPartitions


class Subscribed(NamedTuple):
    """The subscription of a member: everything but its assignment."""

    member_id: str
    member: ConsumerMember | None


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


Change: TypeAlias = Subscribed | GroupEpoch | TargetEpoch | Target | Current | Resolved | Ended

__all__ = [
    "Change",
    "Current",
    "Ended",
    "GroupEpoch",
    "Reconciled",
    "Resolved",
    "ResolvedRegex",
    "Subscribed",
    "Target",
    "TargetEpoch",
]
