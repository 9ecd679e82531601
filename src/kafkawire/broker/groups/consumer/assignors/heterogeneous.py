"""The uniform assignor for members with different topics.

Rules:
- A member keeps its old partitions of topics that it still subscribes to.
- Topics are sorted by partitions per subscriber (descending), number of subscribers, and id. Free partitions go to the
  subscriber with the fewest partitions; of equals, to the first one.
- Then partitions of each topic move from its most loaded to its least loaded subscribers, while these differ by more
  than one. This ends when nothing moves any more, or after MOST_ROUNDS rounds over all topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment, GroupSpec

MOST_ROUNDS: Final = 16
_NOBODY: Final = -1


class HeterogeneousAssignment:
    """One computation. Members are known by their number in `member_ids`."""

    def __init__(self, spec: GroupSpec, member_ids: list[str]) -> None:
        self._spec = spec
        self._member_ids = member_ids
        self._subscribers: dict[UUID, list[int]] = {}
        for number, member_id in enumerate(member_ids):
            for topic in spec.members[member_id].topics:
                self._subscribers.setdefault(topic, []).append(number)
        self._owners = {topic: [_NOBODY] * spec.partitions[topic] for topic in self._subscribers}
        self._loads = [0] * len(member_ids)

    def build(self) -> dict[str, Assignment]:
        """The new target of every member."""
        if not self._subscribers:
            return {}
        self._keep()
        ordered = sorted(self._subscribers, key=self._order)
        for topic in ordered:
            free = [partition for partition, owner in enumerate(self._owners[topic]) if owner == _NOBODY]
            if free:
                loads = SubscriberLoads(self._subscribers[topic], self._loads)
                for partition in free:
                    self._give(topic, partition, loads.next_least())
        self._balance([topic for topic in ordered if len(self._subscribers[topic]) > 1])
        targets: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in self._member_ids}
        for topic, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                targets[self._member_ids[owner]].setdefault(topic, set()).add(partition)
        return dict(targets)

    def _order(self, topic: UUID) -> tuple[float, int, int, int]:
        partitions, subscribers = self._spec.partitions[topic], len(self._subscribers[topic])
        high, low = topic.int >> 64, topic.int & (1 << 64) - 1
        return -partitions / subscribers, subscribers, _signed(high), _signed(low)

    def _keep(self) -> None:
        for number, member_id in enumerate(self._member_ids):
            member = self._spec.members[member_id]
            for topic in member.assigned.keys() & set(member.topics):
                self._loads[number] += len(member.assigned[topic])
                for partition in member.assigned[topic]:
                    self._owners[topic][partition] = number

    def _give(self, topic: UUID, partition: int, number: int) -> None:
        old = self._owners[topic][partition]
        if old != _NOBODY:
            self._loads[old] -= 1
        self._owners[topic][partition] = number
        self._loads[number] += 1

    def _balance(self, topics: list[UUID]) -> None:
        last_changed = -1
        for _ in range(MOST_ROUNDS if topics else 0):
            for index, topic in enumerate(topics):
                if index == last_changed:
                    return
                if self._balance_topic(topic) or last_changed == -1:
                    last_changed = index

    def _balance_topic(self, topic: UUID) -> int:
        """Move partitions of a topic; the number of moves."""
        loads = SubscriberLoads(self._subscribers[topic], self._loads)
        if loads.difference <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic]):
            owned.setdefault(owner, []).append(partition)
        moves = 0
        while not loads.are_balanced():
            giver = loads.next_most()
            while giver is not None and not owned.get(giver):
                loads.exclude_most()
                giver = loads.next_most()
            if giver is None:
                break
            partition = owned[giver].pop()
            taker = loads.next_least()
            if loads.are_balanced():
                break
            self._give(topic, partition, taker)
            moves += 1
        return moves


class SubscriberLoads:
    """The subscribers of a topic by load. A range grows from each end.

    The range of the least loaded subscribers has one load; when each of them was given a partition, the load rises by
    one, and subscribers that have this load join the range. The range of the most loaded ones does the same downwards.
    """

    def __init__(self, subscribers: list[int], loads: list[int]) -> None:
        self._loads = loads
        self._sorted = sorted(subscribers, key=lambda number: (loads[number], number))
        lowest, highest = loads[self._sorted[0]], loads[self._sorted[-1]]
        self.difference = highest - lowest
        self._least_end, self._least_load, self._next_least = 0, lowest - 1, 0
        self._most_start = self._most_end = len(subscribers)
        self._most_load, self._next_most = highest + 1, len(subscribers) - 1

    def are_balanced(self) -> bool:
        return self._most_load - self._least_load <= 1

    def next_least(self) -> int:
        if self._next_least >= self._least_end:
            self._least_load += 1
            while self._least_end < len(self._sorted) and self._load(self._least_end) == self._least_load:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._sorted[self._next_least - 1]

    def next_most(self) -> int | None:
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = self._load(self._most_start - 1)  # all of the range were excluded
            else:
                self._most_load -= 1
            while self._most_start > 0 and self._load(self._most_start - 1) == self._most_load:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return self._sorted[self._next_most + 1]

    def exclude_most(self) -> None:
        """Leave the subscriber out that `next_most` returned last."""
        last, end = self._next_most + 1, self._most_end - 1
        self._sorted[last], self._sorted[end] = self._sorted[end], self._sorted[last]
        self._most_end -= 1

    def _load(self, place: int) -> int:
        return self._loads[self._sorted[place]]


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word
