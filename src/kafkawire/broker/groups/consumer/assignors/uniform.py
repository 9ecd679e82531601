"""The uniform assignor: balanced and sticky.

Rules for members with the same topics (`heterogeneous` has those for different ones):
- The quota of a member is the number of partitions divided by that of the members. The remainder is given out as one
  extra partition each.
- A member keeps old partitions of subscribed topics up to its quota and extra, and gives the rest up. A member that
  does not fill its extra passes it on, unless the members left are needed to take all extras.
- Unassigned partitions fill the members with room, in the order of the members: first the partitions that no member
  had, then those that were given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.assignors.heterogeneous import HeterogeneousAssignment
from kafkawire.broker.groups.java_order import (
    hash_of_id,
    hash_of_number,
    hash_of_text,
    map_order,
    set_order,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment, GroupSpec


def assign_uniformly(spec: GroupSpec) -> dict[str, Assignment]:
    """The new target of every member."""
    if not spec.members:
        return {}
    member_ids = map_order(spec.members, hash_of_text)
    if not spec.is_homogeneous:
        return HeterogeneousAssignment(spec, member_ids).build()
    topics = set_order(spec.members[member_ids[0]].topics, hash_of_id)
    return _assign(spec, member_ids, topics) if topics else {}


def _assign(spec: GroupSpec, member_ids: list[str], topics: list[UUID]) -> dict[str, Assignment]:
    owned = {
        (topic, partition)
        for member in spec.members.values()
        for topic, partitions in member.assigned.items()
        for partition in partitions
    }
    unassigned = [
        (topic, partition)
        for topic in topics
        for partition in range(spec.partitions[topic])
        if (topic, partition) not in owned
    ]
    minimum, extras = divmod(sum(spec.partitions[topic] for topic in topics), len(member_ids))
    subscribed = frozenset(topics)
    targets: dict[str, dict[UUID, set[int]]] = {}
    unfilled: list[tuple[str, int]] = []
    for index, member_id in enumerate(member_ids):
        has_extra = extras > 0
        quota = minimum + has_extra
        target, quota = _keep(spec.members[member_id].assigned, subscribed, quota, unassigned)
        targets[member_id] = target
        if quota and has_extra and len(member_ids) - index > extras:
            quota -= 1
            has_extra = False
        if quota:
            unfilled.append((member_id, quota))
        extras -= has_extra
    left = iter(unassigned)
    for member_id, quota in unfilled:
        for topic, partition in (place for _, place in zip(range(quota), left, strict=False)):
            targets[member_id].setdefault(topic, set()).add(partition)
    return dict(targets)


def _keep(
    assigned: Assignment, subscribed: frozenset[UUID], quota: int, unassigned: list[tuple[UUID, int]]
) -> tuple[dict[UUID, set[int]], int]:
    """The old partitions that a member keeps, and the quota that is left; the others become unassigned."""
    target: dict[UUID, set[int]] = {}
    for topic in map_order(assigned, hash_of_id):
        if topic not in subscribed:
            continue
        partitions = assigned[topic]
        if len(partitions) <= quota:
            target[topic] = set(partitions)
            quota -= len(partitions)
            continue
        ordered = set_order(sorted(partitions), hash_of_number)
        if quota:
            target[topic] = set(ordered[:quota])
        unassigned += ((topic, partition) for partition in ordered[quota:])
        quota = 0
    return target, quota
