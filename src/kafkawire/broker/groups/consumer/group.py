"""A consumer group: members, epochs, targets, and indexes over them.

Rules:
- `apply` is the only way to change a group. It returns the change that undoes it.
- A partition has one owner: the member that has it assigned, or has not given it up yet.
- Counts of names, regular expressions, assignors and protocols are kept in step with the members. Every heartbeat that
  changes something needs them, also in a group of many members.
- The state follows from epochs and members: Empty, Assigning (no target for the newest epoch), Reconciling (a member
  has not reached its target), or Stable.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.consumer.changes import (
    Change,
    Current,
    Ended,
    GroupEpoch,
    Reconciled,
    Resolved,
    ResolvedRegex,
    Subscribed,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.consumer.member import ConsumerMember, MemberState
from kafkawire.broker.groups.epochs import EpochGroup

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment
    from kafkawire.broker.groups.consumer.member import OwnedPartitions

_NOTHING: Final = Reconciled(0, -1, MemberState.STABLE, {}, {})


class ConsumerState(StrEnum):
    """A state, by the name that ConsumerGroupDescribe gives it."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ConsumerGroup(EpochGroup["ConsumerMember", "Assignment"]):
    """One group of the consumer protocol."""

    kind = "consumer"
    protocol_type = "consumer"
    uses_consumer_protocol = True

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.instances: dict[str, str] = {}
        self.owners: dict[UUID, dict[int, str]] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        self.names: Counter[str] = Counter()
        self.regexes: Counter[str] = Counter()
        self.votes: Counter[str] = Counter()
        self.classic_protocols: Counter[str] = Counter()
        self.classic_members = 0
        self.resolved_topics = -1
        """The version of the topics that the regular expressions were last resolved for."""
        self.is_resolving = False

    def __repr__(self) -> str:
        return f"ConsumerGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {len(self.members)} members)"

    @property
    def state(self) -> ConsumerState:
        if not self.members:
            return ConsumerState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerState.ASSIGNING
        if all(member.has_reconciled(self.assignment_epoch) for member in self.members.values()):
            return ConsumerState.STABLE
        return ConsumerState.RECONCILING

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that members subscribe to, by name or by a regular expression."""
        return frozenset(self.names).union(*(each.topics for each in self.resolved.values()))

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = self.instances.get(instance_id) if instance_id is not None else None
        return None if member_id is None else self.members.get(member_id)

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, {})

    def is_free(self, topic: UUID, partition: int) -> bool:
        """Whether a partition has no owner."""
        return partition not in self.owners.get(topic, ())

    def apply(self, change: Change) -> Change:
        """Take in a change; returns the one that undoes it."""
        match change:
            case Subscribed(member_id, member):
                return self._subscribe(member_id, member)
            case Current(member_id, reconciled):
                return self._reconcile(member_id, reconciled)
            case Target(member_id, partitions):
                return Target(member_id, self.set_target(member_id, partitions))
            case GroupEpoch():
                return self.set_group_epoch(change)
            case TargetEpoch():
                return self.set_target_epoch(change)
            case Resolved(regex, resolved):
                undo: Change = Resolved(regex, self.resolved.get(regex))
                self.resolved.pop(regex, None)
                if resolved is not None:
                    self.resolved[regex] = resolved
                return undo
            case Ended():
                return change

    def _subscribe(self, member_id: str, member: ConsumerMember | None) -> Change:
        old = self.members.get(member_id)
        if old is not None:
            self._count(old, -1)
            if old.instance_id is not None and self.instances.get(old.instance_id) == member_id:
                del self.instances[old.instance_id]
        if member is None:
            if old is not None:
                self._own(old, _NOTHING)
                del self.members[member_id]
            return Subscribed(member_id, old)
        self._count(member, 1)
        if member.instance_id is not None:
            self.instances[member.instance_id] = member_id
        self.members[member_id] = _with(member, _NOTHING if old is None else _reconciled(old))
        return Subscribed(member_id, old)

    def _reconcile(self, member_id: str, reconciled: Reconciled | None) -> Change:
        old = self.members.get(member_id)
        if old is None:
            if reconciled is None:
                return Current(member_id, None)
            old = ConsumerMember(member_id)
        now = reconciled or _NOTHING
        self._own(old, now)
        self.members[member_id] = _with(old, now)
        return Current(member_id, _reconciled(old))

    def _own(self, old: ConsumerMember, now: Reconciled) -> None:
        """Let a member own the partitions that it has now instead of those that it had."""
        for had in (old.assigned, old.revoking):
            self._release(old.member_id, had)
        for has in (now.assigned, now.revoking):
            for topic, partitions in has.items():
                self.owners.setdefault(topic, {}).update(dict.fromkeys(partitions, old.member_id))

    def _release(self, member_id: str, owned: OwnedPartitions) -> None:
        for topic, partitions in owned.items():
            owners = self.owners.get(topic)
            if owners is None:
                continue
            for partition in partitions:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                del self.owners[topic]

    def _count(self, member: ConsumerMember, by: int) -> None:
        for counter, names in (
            (self.names, member.topics),
            (self.regexes, (member.regex,) if member.regex else ()),
            (self.votes, (member.assignor,) if member.assignor is not None else ()),
            (
                self.classic_protocols,
                () if member.classic is None else {each.name for each in member.classic.protocols},
            ),
        ):
            for name in names:
                counter[name] += by
                if not counter[name]:
                    del counter[name]
        self.classic_members += by * member.is_classic


def _reconciled(member: ConsumerMember) -> Reconciled:
    return Reconciled(member.epoch, member.previous_epoch, member.state, member.assigned, member.revoking)


def _with(member: ConsumerMember, now: Reconciled) -> ConsumerMember:
    """A member with another assignment."""
    return replace(member, **now._asdict())
