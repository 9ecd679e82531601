"""The records of consumer groups in `__consumer_offsets`, in the format of Kafka 4.3.

Rules:
- A key is an int16 type, then the group and the member or regular expression. A value is version 0.
- The end of a group is three tombstones. The key of the partition metadata of Kafka 4.0 is among them, as in Kafka,
  because an older broker may have written it.
- Partitions are written in ascending order, so that equal assignments are equal bytes.
"""

from __future__ import annotations

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
from kafkawire.broker.groups.consumer.member import ClassicDetails, ConsumerMember, MemberState
from kafkawire.broker.groups.epoch_records import VERSION, EpochRecords
from kafkawire.broker.groups.protocol import Protocol
from kafkawire.broker.groups.records import decode_value, encode_key, encode_value, known_key
from kafkawire.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker.groups.consumer.member import OwnedPartitions
    from kafkawire.broker.groups.records import Entry

_EPOCHS: Final = EpochRecords(
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
_KEYS: Final = {
    key.__schema__.key: key
    for key in (
        ConsumerGroupMetadataKey,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupRegularExpressionKey,
    )
}
_Topic = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
_KNOWN_STATES: Final = frozenset(MemberState)


def encode(group_id: str, changes: Iterable[Change]) -> Iterator[Entry]:
    """The records of changes."""
    for change in changes:
        match change:
            case Subscribed(member_id, member):
                key = encode_key(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id))
                yield key, None if member is None else encode_value(_subscription(member), VERSION)
            case Current(member_id, reconciled):
                key = encode_key(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id))
                yield key, None if reconciled is None else encode_value(_current(reconciled), VERSION)
            case Target() | GroupEpoch() | TargetEpoch():
                yield _EPOCHS.encode(group_id, change)
            case Resolved(regex, resolved):
                key = encode_key(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex))
                yield key, None if resolved is None else encode_value(_regex(resolved), VERSION)
            case Ended():
                yield encode_key(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)), None
                yield encode_key(ConsumerGroupPartitionMetadataKey(group_id=group_id)), None
                yield encode_key(ConsumerGroupMetadataKey(group_id=group_id)), None


def decode(key: bytes, value: bytes | None) -> tuple[str, Change] | None:
    """The group and the change of a record; None for records that are not those of consumer groups."""
    about = known_key(_KEYS, key)
    if about is None:
        return None
    change: Change | None = _EPOCHS.decode(about, value)
    if change is not None:
        return about.group_id, change
    match about:
        case ConsumerGroupMemberMetadataKey():
            change = Subscribed(about.member_id, None if value is None else _member(about.member_id, value))
        case ConsumerGroupCurrentMemberAssignmentKey():
            change = Current(about.member_id, None if value is None else _reconciled(value))
        case ConsumerGroupRegularExpressionKey():
            change = Resolved(about.regular_expression, None)
            if value is not None:
                regex = decode_value(ConsumerGroupRegularExpressionValue, value)
                change = Resolved(
                    about.regular_expression, ResolvedRegex(frozenset(regex.topics), regex.version, regex.timestamp)
                )
    return None if change is None else (about.group_id, change)


def _subscription(member: ConsumerMember) -> ConsumerGroupMemberMetadataValue:
    kind = ConsumerGroupMemberMetadataValue
    classic = None
    if member.classic is not None:
        classic = kind.ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout,
            supported_protocols=[
                kind.ClassicProtocol(name=each.name, metadata=each.metadata) for each in member.classic.protocols
            ],
        )
    return kind(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout,
        server_assignor=member.assignor,
        classic_member_metadata=classic,
    )


def _member(member_id: str, value: bytes) -> ConsumerMember:
    found = decode_value(ConsumerGroupMemberMetadataValue, value)
    classic = None
    if found.classic_member_metadata is not None:
        classic = ClassicDetails(
            found.classic_member_metadata.session_timeout_ms,
            tuple(
                Protocol(each.name, bytes(each.metadata)) for each in found.classic_member_metadata.supported_protocols
            ),
        )
    return ConsumerMember(
        member_id,
        found.instance_id,
        found.rack_id,
        found.client_id,
        found.client_host,
        frozenset(found.subscribed_topic_names),
        found.subscribed_topic_regex,
        found.rebalance_timeout_ms,
        found.server_assignor,
        classic,
    )


def _current(now: Reconciled) -> ConsumerGroupCurrentMemberAssignmentValue:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=now.epoch,
        previous_member_epoch=now.previous_epoch,
        state=now.state,
        assigned_partitions=_listed(now.assigned),
        partitions_pending_revocation=_listed(now.revoking),
    )


def _reconciled(value: bytes) -> Reconciled:
    found = decode_value(ConsumerGroupCurrentMemberAssignmentValue, value)
    return Reconciled(
        found.member_epoch,
        found.previous_member_epoch,
        MemberState(found.state) if found.state in _KNOWN_STATES else MemberState.UNKNOWN,
        _owned(found.assigned_partitions, found.member_epoch),
        _owned(found.partitions_pending_revocation, found.member_epoch),
    )


def _regex(resolved: ResolvedRegex) -> ConsumerGroupRegularExpressionValue:
    return ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.resolved_at
    )


def _listed(owned: OwnedPartitions) -> list[_Topic]:
    listed = []
    for topic, epochs in owned.items():
        numbers = sorted(epochs)
        listed.append(
            _Topic(topic_id=topic, partitions=numbers, assignment_epochs=[epochs[number] for number in numbers])
        )
    return listed


def _owned(listed: Iterable[_Topic], epoch: int) -> OwnedPartitions:
    """Partitions with their epochs. Records before Kafka 4.3 have none: the epoch of the member counts."""
    owned = {}
    for each in listed:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [epoch] * len(each.partitions)
        owned[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return owned
