"""The next step of a member towards its target: first it gives up partitions, then it gets new ones.

Rules:
- A member keeps what it has and is to have. It stays in its epoch, UNREVOKED, until it no longer reports a partition
  that it has to give up.
- Then it moves to the epoch of the target, and gets the partitions without an owner. It is UNRELEASED while another
  member still owns one of the others, and STABLE otherwise.
- A partition that the member itself was giving up counts as free for it.
- Topics that the member does not subscribe to count as not targeted. When the subscription shrinks, they are revoked
  before there is a new target.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.groups.consumer.member import ConsumerMember, MemberState, OwnedPartitions
from kafkawire.messages.errors import FencedMemberEpochError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment

    Owned = Mapping[UUID, AbstractSet[int]] | None


class Goal(NamedTuple):
    """The target of a member, and the partitions that it reports (None if it reports none)."""

    epoch: int
    target: Assignment
    subscribed: AbstractSet[UUID]
    is_free: Callable[[UUID, int], bool]
    owned: Owned
    subscription_changed: bool


def reconcile(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """The member after its next step, or the same one if there is nothing to do."""
    if member.state is MemberState.STABLE:
        if member.epoch != goal.epoch:
            return _next(member, member.epoch, goal)
        return _drop_unsubscribed(member, goal) if goal.subscription_changed else member
    if member.state is MemberState.UNREVOKED and _still_owns(goal.owned, member.revoking):
        return _drop_unsubscribed(member, goal) if goal.subscription_changed else member
    if member.state is MemberState.UNKNOWN:
        if goal.owned is None or goal.owned:
            raise FencedMemberEpochError(
                f"member {member.member_id!r} is in a state that this broker does not know; "
                "it must abandon all its partitions and rejoin"
            )
        return _next(member, goal.epoch, goal)
    return _next(member, member.epoch, goal)


def _next(member: ConsumerMember, epoch: int, goal: Goal) -> ConsumerMember:
    keep: dict[UUID, dict[int, int]] = {}
    revoke: dict[UUID, dict[int, int]] = {}
    add: dict[UUID, list[int]] = {}
    waits = False
    for topic in {**goal.target, **member.assigned}:
        target = goal.target.get(topic, frozenset()) if topic in goal.subscribed else frozenset()
        has = member.assigned.get(topic, {})
        kept = {partition: assigned_in for partition, assigned_in in has.items() if partition in target}
        if kept:
            keep[topic] = kept
        if len(kept) < len(has):
            revoke[topic] = {partition: assigned_in for partition, assigned_in in has.items() if partition not in kept}
        own = member.revoking.get(topic, {})
        wanted = [partition for partition in sorted(target) if partition not in kept]
        free = [partition for partition in wanted if partition in own or goal.is_free(topic, partition)]
        waits |= len(free) < len(wanted)
        if free:
            add[topic] = free
    if revoke and _still_owns(goal.owned, revoke):
        return replace(
            member,
            state=MemberState.UNREVOKED,
            epoch=epoch,
            previous_epoch=member.epoch,
            assigned=keep,
            revoking=revoke,
        )
    for topic, partitions in add.items():
        keep.setdefault(topic, {}).update(dict.fromkeys(partitions, goal.epoch))
    return replace(
        member,
        state=MemberState.UNRELEASED if waits else MemberState.STABLE,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=keep,
        revoking={},
    )


def _drop_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Let a member give up the topics that it no longer subscribes to."""
    gone = {topic: partitions for topic, partitions in member.assigned.items() if topic not in goal.subscribed}
    if not gone:
        return member
    left = {topic: partitions for topic, partitions in member.assigned.items() if topic in goal.subscribed}
    revoking = {**member.revoking}
    for topic, partitions in gone.items():
        revoking[topic] = {**revoking.get(topic, {}), **partitions}
    if _still_owns(goal.owned, revoking):
        return replace(
            member, state=MemberState.UNREVOKED, previous_epoch=member.epoch, assigned=left, revoking=revoking
        )
    return replace(member, previous_epoch=member.epoch, assigned=left)


def _still_owns(owned: Owned, revoked: OwnedPartitions) -> bool:
    """Whether a member may still have one of the partitions; one that reports nothing may have all."""
    if owned is None:
        return True
    return any(not partitions.isdisjoint(revoked[topic]) for topic, partitions in owned.items() if topic in revoked)
