"""Targets: the assignment that the members of a group are to reach.

Rules:
- The preferred assignor has the most votes of members; without votes it is the first one of the broker's.
- Targets are computed when the group's epoch is newer than theirs, at most once per assignment interval, and at once
  the first time. Until then the old targets serve.
- A target is written only if it has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.assignors import ASSIGNORS
from kafkawire.broker.groups.consumer.assignors.spec import GroupSpec, MemberSpec
from kafkawire.broker.groups.consumer.changes import Target, TargetEpoch
from kafkawire.broker.groups.consumer.subscriptions import is_homogeneous, subscribed_ids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.consumer.changes import Change
    from kafkawire.broker.groups.consumer.group import ConsumerGroup


def preferred_assignor(group: ConsumerGroup, default: str) -> str:
    """The assignor of a group."""
    return max(group.votes, key=lambda name: (group.votes[name], name)) if group.votes else default


def may_compute(group: ConsumerGroup, interval: int, now: int) -> bool:
    """Whether enough time has passed since the last computation."""
    return not group.assigned_at or not interval or now >= group.assigned_at + interval


def new_targets(group: ConsumerGroup, assignor: str, topics: Topics, now: int) -> Iterator[Change]:
    """The changes that bring the targets to the group's epoch."""
    partitions: dict[UUID, int] = {}
    members = {}
    same_topics: dict[tuple[frozenset[str], str | None], tuple[UUID, ...]] = {}
    for member_id, member in group.members.items():
        key = member.topics, member.regex
        if key not in same_topics:
            found = subscribed_ids(group, member, topics)
            partitions |= found
            same_topics[key] = tuple(found)
        members[member_id] = MemberSpec(same_topics[key], group.target(member_id), member.instance_id, member.rack)
    found_targets = ASSIGNORS[assignor](GroupSpec(members, partitions, is_homogeneous(group)))
    for member_id in members:
        target = {topic: frozenset(numbers) for topic, numbers in found_targets.get(member_id, {}).items()}
        if group.targets.get(member_id) != target:
            yield Target(member_id, target)
    yield TargetEpoch(group.epoch, now)
