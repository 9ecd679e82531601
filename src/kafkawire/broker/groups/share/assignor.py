"""The assignor of share groups, "simple": every partition goes to enough members, and every member gets its part.

Rules:
- With more members than partitions, each partition goes to several members: the number of members divided by that of
  partitions, rounded up. With fewer members, each partition goes to one.
- Members get numbers of partitions that differ by at most one. A member keeps its partitions as far as this allows.
- Only partitions with a stored state can be assigned.
- Members with different subscriptions: the rules apply to each topic, with the members that subscribe to it.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment

    Place = tuple[UUID, int]


def assign(
    members: Mapping[str, AbstractSet[UUID]],
    assignable: Mapping[UUID, AbstractSet[int]],
    before: Mapping[str, Assignment],
    *,
    is_homogeneous: bool,
) -> dict[str, dict[UUID, frozenset[int]]]:
    """The target of each member. `members` has the topics of each, `before` the targets until now."""
    topics = list(dict.fromkeys(topic for subscribed in members.values() for topic in sorted(subscribed)))
    pieces = [topics] if is_homogeneous else [[topic] for topic in topics]
    targets: dict[str, dict[UUID, set[int]]] = {member: {} for member in members}
    for piece in pieces:
        wanted = frozenset(piece)
        subscribers = [member for member, subscribed in members.items() if subscribed >= wanted]
        places = [(topic, partition) for topic in piece for partition in sorted(assignable.get(topic, ()))]
        for member, assigned in zip(subscribers, _share(subscribers, places, before), strict=True):
            for topic, partition in assigned:
                targets[member].setdefault(topic, set()).add(partition)
    return {
        member: {topic: frozenset(partitions) for topic, partitions in target.items()}
        for member, target in targets.items()
    }


def _share(
    members: Sequence[str], places: Sequence[Place], before: Mapping[str, Assignment]
) -> list[dict[Place, None]]:
    """The partitions of each member, of those that all of them subscribe to."""
    if not members or not places:
        return [{} for _ in members]
    sharing = -(-len(members) // len(places))
    each = sharing * len(places) / len(members)
    wanted = [ceil(each * (number + 1)) - ceil(each * number) for number in range(len(members))]
    holders: dict[Place, set[int]] = {place: set() for place in places}
    owned: list[dict[Place, None]] = [{} for _ in members]
    for number, member in enumerate(members):
        for topic, partitions in before.get(member, {}).items():
            for partition in sorted(partitions):
                held = holders.get((topic, partition))
                if held is not None and len(owned[number]) < wanted[number] and len(held) < sharing:
                    owned[number][topic, partition] = None
                    held.add(number)
    _fill(owned, holders, wanted, sharing)
    return owned


def _fill(
    owned: list[dict[Place, None]], holders: Mapping[Place, set[int]], wanted: Sequence[int], sharing: int
) -> None:
    """Give partitions with too few members to members with too few partitions, in turn."""
    unfilled = [number for number, places in enumerate(owned) if len(places) < wanted[number]]
    turn = 0
    for place, held in holders.items():
        passed = 0
        while len(held) < sharing and unfilled and passed < len(unfilled):
            turn %= len(unfilled)
            number = unfilled[turn]
            if number in held:
                turn += 1
                passed += 1
                continue
            passed = 0
            owned[number][place] = None
            held.add(number)
            if len(owned[number]) >= wanted[number]:
                del unfilled[turn]
            else:
                turn += 1
