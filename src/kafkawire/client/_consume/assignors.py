"""Assignment strategies of the group leader, and the messages of members; both as in Java's clients, byte for byte.

Rules:
- A subscription or assignment is an int16 version and the message of that version. A newer version is read as our
  latest, and the bytes after it are ignored.
- Members are ordered by their static id (members with one come first), then by member id.
- `range` assigns consecutive partitions of each topic, `roundrobin` one partition after another over all topics. The
  sticky strategies keep the assignment of members (`sticky`).
- Cooperative members keep their partitions while they rejoin; the others give up all of them first. A member is
  cooperative if all of its strategies are.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.sticky import Claims, assign_sticky
from kafkawire.client.errors import GroupError, OptionError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LATEST: Final = 3
COOPERATIVE: Final = frozenset({"cooperative-sticky"})
Assigned = dict[str, list[TopicPartition]]
Buffer = bytes | bytearray | memoryview


@dataclass(slots=True)
class Member:
    """A member of the group: its topics and its partitions."""

    id: str
    topics: Sequence[str]
    instance_id: str | None = None
    owned: list[TopicPartition] = field(default_factory=list)
    generation: int = -1

    @property
    def order(self) -> tuple[bool, str]:
        return (self.instance_id is None, self.instance_id or self.id)


def strategies(option: str | Sequence[str]) -> list[str]:
    """The strategies of the option, by their names on the wire; accepts Java's class names.

    >>> strategies("org.apache.kafka.clients.consumer.RangeAssignor,cooperative-sticky")
    ['range', 'cooperative-sticky']
    """
    names = option.split(",") if isinstance(option, str) else option
    found = []
    for name in names:
        short = name.strip().rpartition(".")[2].removesuffix("Assignor").lower()
        short = {"cooperativesticky": "cooperative-sticky"}.get(short, short)
        if short not in _STRATEGIES:
            raise OptionError(
                f"option partition_assignment_strategy: expected {', '.join(_STRATEGIES)}, found {name.strip()!r}"
            )
        found.append(short)
    return found


def assign(strategy: str, members: Sequence[Member], counts: Mapping[str, int]) -> Assigned:
    """Assign the partitions of topics (name and number of partitions) to members."""
    return _STRATEGIES[strategy](members, counts)


def encode_subscription(
    strategy: str, topics: Iterable[str], owned: Iterable[TopicPartition], generation: int
) -> bytes:
    """The subscription that a member sends when it joins; each strategy has its own user data."""
    held = [ConsumerProtocolSubscription.TopicPartition(topic=name, partitions=each) for name, each in _grouped(owned)]
    user_data: bytes | None = None
    if strategy == "cooperative-sticky":
        user_data = _INT.pack(generation)
    elif strategy == "sticky":
        user_data = _write_sticky(owned, generation)
    message = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=held if strategy in COOPERATIVE else [],
        generation_id=generation,
    )
    return _SHORT.pack(_LATEST) + message.encode(_LATEST)


def decode_subscription(
    strategy: str, member_id: str, instance_id: str | None, data: bytes | bytearray | memoryview
) -> Member:
    """The subscription of a member."""
    view = memoryview(data)
    try:
        version = _version(view)
        message = ConsumerProtocolSubscription.decode(view[_SHORT.size :], version, allow_trailing=True)
    except (KafkaWireError, struct.error) as error:
        raise GroupError(f"subscription of member {member_id!r}: {error}") from error
    owned = [TopicPartition(each.topic, number) for each in message.owned_partitions for number in each.partitions]
    generation = message.generation_id
    held = bytes(message.user_data or b"")
    if strategy == "sticky" and held:
        owned, generation = _read_sticky(held)
    elif strategy == "cooperative-sticky" and generation < 0 and len(held) == _INT.size:
        generation = _INT.unpack(held)[0]
    return Member(member_id, message.topics, instance_id, owned, generation)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """The assignment of a member, as the leader sends it."""
    entries = [
        ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=each) for name, each in _grouped(partitions)
    ]
    return _SHORT.pack(_LATEST) + ConsumerProtocolAssignment(assigned_partitions=entries).encode(_LATEST)


def decode_assignment(data: Buffer) -> list[TopicPartition]:
    """Our assignment; no bytes mean an empty one."""
    view = memoryview(data)
    if not len(view):
        return []
    try:
        version = _version(view)
        message = ConsumerProtocolAssignment.decode(view[_SHORT.size :], version, allow_trailing=True)
    except (KafkaWireError, struct.error) as error:
        raise GroupError(f"assignment: {error}") from error
    return [TopicPartition(each.topic, number) for each in message.assigned_partitions for number in each.partitions]


def _version(view: memoryview) -> int:
    version: int = _SHORT.unpack_from(view)[0]
    if version < 0:
        raise GroupError(f"version {version}, expected 0 or more")
    return min(version, _LATEST)


def _write_sticky(owned: Iterable[TopicPartition], generation: int) -> bytes:
    """The user data of the eager sticky strategy: the former partitions, because the member owns none when it joins."""
    topics = _grouped(owned)
    parts = [_INT.pack(len(topics))]
    for topic, numbers in topics:
        name = topic.encode()
        parts += [_SHORT.pack(len(name)), name, struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join([*parts, _INT.pack(generation)])


def _read_sticky(data: bytes) -> tuple[list[TopicPartition], int]:
    """The data of `_write_sticky`, from us or from Java; version 0 has no generation. Invalid bytes claim nothing."""
    owned: list[TopicPartition] = []
    try:
        count, at = _INT.unpack_from(data)[0], _INT.size
        for _ in range(count):
            size = _SHORT.unpack_from(data, at)[0]
            topic = data[at + _SHORT.size : at + _SHORT.size + size].decode()
            at += _SHORT.size + size
            numbers = _INT.unpack_from(data, at)[0]
            at += _INT.size
            owned += [TopicPartition(topic, number) for number in struct.unpack_from(f">{numbers}i", data, at)]
            at += _INT.size * numbers
        return owned, _INT.unpack_from(data, at)[0] if len(data) >= at + _INT.size else -1
    except (struct.error, UnicodeDecodeError):
        return [], -1


def _grouped(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def _range(members: Sequence[Member], counts: Mapping[str, int]) -> Assigned:
    assigned: Assigned = {member.id: [] for member in members}
    for topic in sorted(counts):
        interested = sorted((member for member in members if topic in member.topics), key=lambda each: each.order)
        start = 0
        for index, member in enumerate(interested):
            share, extra = divmod(counts[topic], len(interested))
            size = share + (index < extra)
            assigned[member.id] += [TopicPartition(topic, number) for number in range(start, start + size)]
            start += size
    return assigned


def _round_robin(members: Sequence[Member], counts: Mapping[str, int]) -> Assigned:
    assigned: Assigned = {member.id: [] for member in members}
    ordered = sorted(members, key=lambda each: each.order)
    turn = 0
    for topic in sorted(counts):
        if not any(topic in member.topics for member in ordered):
            continue
        for number in range(counts[topic]):
            while topic not in ordered[turn % len(ordered)].topics:
                turn += 1
            assigned[ordered[turn % len(ordered)].id].append(TopicPartition(topic, number))
            turn += 1
    return assigned


def _sticky(members: Sequence[Member], counts: Mapping[str, int]) -> Assigned:
    claims: Claims = {member.id: (member.generation, member.owned) for member in members}
    wants = {member.id: set(member.topics) for member in sorted(members, key=lambda each: each.order)}
    return assign_sticky(wants, counts, claims)


def _cooperative(members: Sequence[Member], counts: Mapping[str, int]) -> Assigned:
    """As sticky, but a partition that another member still owns is revoked first and assigned in the next round."""
    assigned = _sticky(members, counts)
    owners: dict[TopicPartition, set[str]] = defaultdict(set)
    for member in members:
        for partition in member.owned:
            owners[partition].add(member.id)
    return {
        member_id: [each for each in partitions if not owners[each] - {member_id}]
        for member_id, partitions in assigned.items()
    }


_STRATEGIES: Final[dict[str, Callable[[Sequence[Member], Mapping[str, int]], Assigned]]] = {
    "range": _range,
    "roundrobin": _round_robin,
    "sticky": _sticky,
    "cooperative-sticky": _cooperative,
}
