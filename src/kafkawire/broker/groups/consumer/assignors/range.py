"""The range assignor.

Rules:
- Members are sorted: static ones first, by instance id, then the others by member id.
- The members of a topic get contiguous ranges of its partitions in this order. The first ones get one partition more if
  the partitions do not divide evenly.
- Old targets are ignored. Topics with equally many partitions are co-partitioned.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment, GroupSpec, MemberSpec


def assign_ranges(spec: GroupSpec) -> dict[str, Assignment]:
    """The new target of every member."""
    ordered = sorted(spec.members.items(), key=_order)
    members = Counter(topic for member in spec.members.values() for topic in member.topics)
    given: Counter[UUID] = Counter()
    served: Counter[UUID] = Counter()
    targets: dict[str, Assignment] = {}
    for member_id, member in ordered:
        target = targets[member_id] = {}
        for topic in member.topics:
            quota, extra = divmod(spec.partitions[topic], members[topic])
            start = given[topic]
            end = start + quota + (served[topic] < extra)
            served[topic] += 1
            given[topic] = end
            if start < end:
                target[topic] = frozenset(range(start, end))
    return targets


def _order(item: tuple[str, MemberSpec]) -> tuple[bool, bytes]:
    member_id, member = item
    is_dynamic = member.instance_id is None
    # Java compares strings by UTF-16 units
    return is_dynamic, (member_id if member.instance_id is None else member.instance_id).encode(
        "utf-16-be", "surrogatepass"
    )
