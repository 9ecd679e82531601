"""Even assignment of partitions in which members keep as many of their partitions as possible.

Rules:
- If two members claim a partition, the member of the later generation gets it; in the same generation neither does.
- No member has two partitions more than another member that could take one of them.
- A partition moves only if that makes the group more even, so that an even group does not change.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kafkawire.client._cluster.metadata import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

Claims = dict[str, tuple[int, list[TopicPartition]]]


def assign_sticky(
    wants: Mapping[str, set[str]], counts: Mapping[str, int], claims: Claims
) -> dict[str, list[TopicPartition]]:
    """Partitions for members, given the topics of each and the partitions that each claims.

    >>> has = {"a": (1, [TopicPartition("t", 0), TopicPartition("t", 1)]), "b": (-1, [])}
    >>> assign_sticky({"a": {"t"}, "b": {"t"}}, {"t": 2}, has)
    {'a': [TopicPartition(topic='t', partition=0)], 'b': [TopicPartition(topic='t', partition=1)]}
    """
    owners = _believed(wants, counts, claims)
    held: dict[str, list[TopicPartition]] = {member: [] for member in wants}
    for partition in sorted(owners):
        held[owners[partition]].append(partition)
    takers: dict[str, list[str]] = {
        topic: [member for member, topics in wants.items() if topic in topics] for topic in counts
    }
    free = [
        TopicPartition(topic, number)
        for topic in sorted(counts, key=lambda name: (len(takers[name]), name))
        for number in range(counts[topic])
        if takers[topic] and TopicPartition(topic, number) not in owners
    ]
    for partition in free:
        least = min(takers[partition.topic], key=lambda member: len(held[member]))
        held[least].append(partition)
    _even_out(held, takers)
    return {member: sorted(partitions) for member, partitions in held.items()}


def _believed(wants: Mapping[str, set[str]], counts: Mapping[str, int], claims: Claims) -> dict[TopicPartition, str]:
    claimed: dict[TopicPartition, list[tuple[int, str]]] = defaultdict(list)
    for member, (generation, partitions) in claims.items():
        for partition in partitions:
            if partition.topic in wants[member] and partition.partition < counts.get(partition.topic, 0):
                claimed[partition].append((generation, member))
    owners = {}
    for partition, claimants in claimed.items():
        claimants.sort()
        if len(claimants) == 1 or claimants[-1][0] > claimants[-2][0]:
            owners[partition] = claimants[-1][1]
    return owners


def _even_out(held: dict[str, list[TopicPartition]], takers: Mapping[str, list[str]]) -> None:
    """Move partitions from members with more to members with fewer, until no move lowers the spread."""
    moved = True
    while moved:
        moved = False
        for giver in sorted(held, key=lambda member: -len(held[member])):
            for partition in sorted(held[giver], reverse=True):
                least = min(takers[partition.topic], key=lambda member: len(held[member]))
                if len(held[giver]) - len(held[least]) >= 2:
                    held[giver].remove(partition)
                    held[least].append(partition)
                    moved = True
