"""Groups that change their protocol while they have members: classic to consumer, and back.

Rules:
- An upgrade needs the embedded protocol of consumers, subscriptions that can be read, and assignments without data of
  a custom assignor; GROUP_ID_NOT_FOUND otherwise. Epochs begin with the generation. Members keep their assignments,
  STABLE.
- A downgrade happens when the last member of the consumer protocol goes and classic ones remain. The generation goes on
  with the group's epoch, and assignments are the targets, in the version of each member's subscription.
- Offsets stay where they are.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.members import CONSUMER, Member, elect_protocol
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.consumer.changes import (
    Current,
    Ended,
    GroupEpoch,
    Resolved,
    Subscribed,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.member import ClassicDetails, ConsumerMember
from kafkawire.broker.groups.consumer.subscriptions import metadata_hash
from kafkawire.messages import CodecError, ConsumerProtocolAssignment, ConsumerProtocolSubscription, DecodeError
from kafkawire.messages.errors import GroupIdNotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.consumer.assignors.spec import Assignment
    from kafkawire.broker.groups.consumer.changes import Change
    from kafkawire.broker.groups.consumer.settings import ConsumerSettings

_VERSION: Final = Struct(">h")
_NEWEST: Final = 3


def decode_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """The subscription of a classic consumer."""
    return ConsumerProtocolSubscription.decode_prefix(metadata, *_prefix(metadata))[0]


def owned_partitions(subscription: ConsumerProtocolSubscription, topics: Topics) -> dict[UUID, AbstractSet[int]]:
    """The partitions that a classic consumer reports, of topics that exist."""
    owned: dict[UUID, AbstractSet[int]] = {}
    for each in subscription.owned_partitions:
        topic = topics.find(each.topic)
        if topic is not None:
            owned[topic.id] = frozenset(each.partitions) | owned.get(topic.id, frozenset())
    return owned


def encode_assignment(partitions: Mapping[UUID, AbstractSet[int]], metadata: bytes, topics: Topics) -> bytes:
    """An assignment in the embedded protocol, in the version of a member's subscription."""
    version, _ = _prefix(metadata)
    listed = []
    for topic_id, numbers in partitions.items():
        topic = topics.find_id(topic_id)
        if topic is not None:
            listed.append(ConsumerProtocolAssignment.TopicPartition(topic=topic.name, partitions=sorted(numbers)))
    message = ConsumerProtocolAssignment(assigned_partitions=listed, user_data=None)
    return _VERSION.pack(version) + message.encode(version)


def check_upgrade(group: Group, settings: ConsumerSettings) -> None:
    """Refuse to turn a classic group into a consumer group."""
    words = f"Cannot upgrade classic group {group.group_id} to consumer group because"
    if not settings.policy.allows_upgrade:
        raise GroupIdNotFoundError(f"{words} online upgrade is disabled.")
    if group.protocol_type != CONSUMER:
        raise GroupIdNotFoundError(f"{words} the group does not use the consumer embedded protocol.")
    if len(group.members) > settings.max_size:
        raise GroupIdNotFoundError(f"{words} the group size exceeds the consumer group maximum size.")


def upgraded(group: Group, topics: Topics) -> Iterator[Change]:
    """The changes that make a consumer group out of a classic one."""
    generation = group.generation
    found = ConsumerGroup(group.group_id)
    try:
        members = [_upgraded(member, group, topics) for member in group.members.values()]
    except CodecError as error:
        raise GroupIdNotFoundError(
            f"Cannot upgrade classic group {group.group_id} to consumer group because the embedded consumer protocol "
            f"is malformed: {error}"
        ) from error
    for member in members:
        found.apply(Subscribed(member.member_id, member))
        yield Subscribed(member.member_id, member)
    yield GroupEpoch(generation, metadata_hash(found, topics))
    for member in members:
        target: Assignment = {topic: frozenset(partitions) for topic, partitions in member.assigned.items()}
        yield Target(member.member_id, target)
    yield TargetEpoch(generation, 0)
    for member in members:
        yield Current.of(member)


def downgraded(group: ConsumerGroup, leaving: Collection[str], topics: Topics, now: int) -> Group:
    """The classic group that the remaining members of a consumer group form."""
    classic = Group(group.group_id, since=now)
    for member in group.members.values():
        if member.member_id not in leaving and member.classic is not None:
            classic.add(
                Member(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.classic.session_timeout,
                    member.rebalance_timeout,
                    member.classic.protocols,
                ),
                CONSUMER,
            )
    classic.generation = group.epoch
    classic.protocol_name = elect_protocol(classic.members.values())
    for member_id, each in classic.members.items():
        target = group.target(member_id)
        each.assignment = encode_assignment(target, each.metadata(classic.protocol_name), topics)
    classic.state = State.STABLE
    classic.offsets = group.offsets
    return classic


def ending(group: ConsumerGroup) -> Iterator[Change]:
    """The changes that end a consumer group."""
    members = list(group.members)
    yield from [Current(member_id, None) for member_id in members]
    yield from [Target(member_id, None) for member_id in members]
    yield from [Subscribed(member_id, None) for member_id in members]
    yield from [Resolved(regex, None) for regex in list(group.resolved)]
    yield Ended()


def _upgraded(member: Member, group: Group, topics: Topics) -> ConsumerMember:
    generation = group.generation
    subscription = decode_subscription(member.metadata(group.protocol_name))
    assigned: dict[UUID, dict[int, int]] = {}
    if member.assignment:
        assignment, _ = ConsumerProtocolAssignment.decode_prefix(member.assignment, *_prefix(member.assignment))
        if assignment.user_data:
            raise GroupIdNotFoundError(
                f"Cannot upgrade classic group {group.group_id} to consumer group because an unsupported custom "
                "assignor is in use. Please refer to the documentation or switch to a default assignor before "
                "re-attempting the upgrade."
            )
        for each in assignment.assigned_partitions:
            topic = topics.find(each.topic)
            if topic is not None:
                assigned.setdefault(topic.id, {}).update(dict.fromkeys(each.partitions, generation))
    return ConsumerMember(
        member.member_id,
        member.instance_id,
        subscription.rack_id,
        member.client_id,
        member.client_host,
        frozenset(subscription.topics),
        "",
        member.rebalance_timeout,
        None,
        ClassicDetails(member.session_timeout, member.protocols),
        generation,
        generation,
        assigned=assigned,
    )


def _prefix(data: bytes) -> tuple[int, int]:
    """The version to decode an embedded message with, and where it starts; newer ones begin as the newest known."""
    if len(data) < _VERSION.size:
        raise DecodeError(0, f"{_VERSION.size} bytes of version", f"{len(data)} bytes")
    version = int(_VERSION.unpack_from(data)[0])
    if version < 0:
        raise DecodeError(0, "a version of an embedded message", str(version))
    return min(version, _NEWEST), _VERSION.size
