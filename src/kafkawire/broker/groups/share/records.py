"""The records of share groups in `__consumer_offsets`, in the format of Kafka 4.3.

Rules:
- A key is an int16 type, then the group and the member. A value is version 0.
- The end of a group is three tombstones: of its targets' epoch, of its share partitions, and of its epoch.
- Partitions are written in ascending order, so that equal assignments are equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.epoch_records import VERSION, EpochRecords
from kafkawire.broker.groups.records import decode_value, encode_key, encode_value, known_key
from kafkawire.broker.groups.share.changes import (
    Assigned,
    Change,
    Current,
    Ended,
    GroupEpoch,
    Partitions,
    SharePartitions,
    Subscribed,
    Target,
    TargetEpoch,
    TopicPartitions,
)
from kafkawire.broker.groups.share.member import ShareMember
from kafkawire.messages import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kafkawire.broker.groups.records import Entry

_EPOCHS: Final = EpochRecords(
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
)
_KEYS: Final = {
    key.__schema__.key: key
    for key in (
        ShareGroupMetadataKey,
        ShareGroupMemberMetadataKey,
        ShareGroupTargetAssignmentMetadataKey,
        ShareGroupTargetAssignmentMemberKey,
        ShareGroupCurrentMemberAssignmentKey,
        ShareGroupStatePartitionMetadataKey,
    )
}
_Topic = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo


def encode(group_id: str, changes: Iterable[Change]) -> Iterator[Entry]:
    """The records of changes."""
    for change in changes:
        match change:
            case Subscribed(member_id, member):
                key = encode_key(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id))
                yield key, None if member is None else encode_value(_subscription(member), VERSION)
            case Current(member_id, assigned):
                key = encode_key(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id))
                yield key, None if assigned is None else encode_value(_current(assigned), VERSION)
            case Target() | GroupEpoch() | TargetEpoch():
                yield _EPOCHS.encode(group_id, change)
            case Partitions(share_partitions):
                key = encode_key(ShareGroupStatePartitionMetadataKey(group_id=group_id))
                yield key, None if share_partitions is None else encode_value(_partitions(share_partitions), VERSION)
            case Ended():
                yield encode_key(ShareGroupTargetAssignmentMetadataKey(group_id=group_id)), None
                yield encode_key(ShareGroupStatePartitionMetadataKey(group_id=group_id)), None
                yield encode_key(ShareGroupMetadataKey(group_id=group_id)), None


def decode(key: bytes, value: bytes | None) -> tuple[str, Change] | None:
    """The group and the change of a record; None for records that are not those of share groups."""
    about = known_key(_KEYS, key)
    if about is None:
        return None
    change: Change | None = _EPOCHS.decode(about, value)
    if change is not None:
        return about.group_id, change
    match about:
        case ShareGroupMemberMetadataKey():
            change = Subscribed(about.member_id, None if value is None else _member(about.member_id, value))
        case ShareGroupCurrentMemberAssignmentKey():
            change = Current(about.member_id, None if value is None else _assigned(value))
        case _:
            change = Partitions(None)
            if value is not None:
                stated = decode_value(ShareGroupStatePartitionMetadataValue, value)
                change = Partitions(
                    SharePartitions(
                        _topics(stated.initializing_topics),
                        _topics(stated.initialized_topics),
                        {each.topic_id: each.topic_name for each in stated.deleting_topics},
                    )
                )
    return about.group_id, change


def _subscription(member: ShareMember) -> ShareGroupMemberMetadataValue:
    return ShareGroupMemberMetadataValue(
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
    )


def _member(member_id: str, value: bytes) -> ShareMember:
    found = decode_value(ShareGroupMemberMetadataValue, value)
    return ShareMember(
        member_id, found.rack_id, found.client_id, found.client_host, frozenset(found.subscribed_topic_names)
    )


def _current(now: Assigned) -> ShareGroupCurrentMemberAssignmentValue:
    kind = ShareGroupCurrentMemberAssignmentValue
    return kind(
        member_epoch=now.epoch,
        previous_member_epoch=now.previous_epoch,
        state=now.state,
        assigned_partitions=[
            kind.TopicPartitions(topic_id=topic, partitions=sorted(numbers))
            for topic, numbers in now.partitions.items()
        ],
    )


def _assigned(value: bytes) -> Assigned:
    found = decode_value(ShareGroupCurrentMemberAssignmentValue, value)
    partitions = {each.topic_id: frozenset(each.partitions) for each in found.assigned_partitions}
    return Assigned(found.member_epoch, found.previous_member_epoch, found.state, partitions)


def _partitions(stated: SharePartitions) -> ShareGroupStatePartitionMetadataValue:
    kind = ShareGroupStatePartitionMetadataValue
    return kind(
        initializing_topics=_listed(stated.initializing),
        initialized_topics=_listed(stated.initialized),
        deleting_topics=[kind.TopicInfo(topic_id=topic, topic_name=name) for topic, name in stated.deleting.items()],
    )


def _listed(topics: Mapping[UUID, TopicPartitions]) -> list[_Topic]:
    return [
        _Topic(topic_id=topic, topic_name=name, partitions=sorted(partitions))
        for topic, (name, partitions) in topics.items()
    ]


def _topics(listed: Iterable[_Topic]) -> dict[UUID, TopicPartitions]:
    return {each.topic_id: TopicPartitions(each.topic_name, frozenset(each.partitions)) for each in listed}
