"""The records of `__consumer_offsets`, in Kafka's own format.

Rules:
- A key is an int16 that says what it is about, then the key's fields; a value is an int16 version, then its fields. No
  value means that what the key names is gone.
- Offsets are written as version 3, or 1 when they have an expiry of their own; groups as version 3. All that Kafka ever
  wrote is read.
- Keys of other kinds (the newer group protocols) are passed over.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.groups.exchanges import Protocol
from kafkawire.broker.groups.group import CommittedOffset, Group, TopicPartition
from kafkawire.broker.groups.members import Member
from kafkawire.broker.groups.states import State
from kafkawire.messages import (
    CodecError,
    DecodeError,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.messages import Message

Entry = tuple[bytes, bytes | None]

_VERSION: Final = Struct(">h")
_OFFSET_KEYS: Final = (0, 1)
_GROUP_KEY: Final = 2
_OFFSET_VALUE, _EXPIRING_OFFSET_VALUE, _GROUP_VALUE = 3, 1, 3
_UNKNOWN: Final = -1


class OffsetKey(NamedTuple):
    """Which offset a record is about."""

    group_id: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """Which group a record is about."""

    group_id: str


def encode_offset(group_id: str, place: TopicPartition, committed: CommittedOffset | None) -> Entry:
    """The record of a committed offset; without one, that it is gone."""
    key = _prefixed(OffsetCommitKey(group=group_id, topic=place[0], partition=place[1]), 1)
    if committed is None:
        return key, None
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.committed_at,
        expire_timestamp=_UNKNOWN if committed.expires is None else committed.expires,
    )
    return key, _prefixed(value, _OFFSET_VALUE if committed.expires is None else _EXPIRING_OFFSET_VALUE)


def encode_group(group: Group, assignments: Mapping[str, bytes], now: int) -> Entry:
    """The record of a group as it is, with these assignments."""
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout,
            session_timeout=member.session_timeout,
            subscription=member.metadata(group.protocol_name),
            assignment=assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=now,
        members=members,
    )
    return _group_key(group.group_id), _prefixed(value, _GROUP_VALUE)


def encode_group_end(group_id: str) -> Entry:
    """The record that a group is gone."""
    return _group_key(group_id), None


def decode_key(key: bytes | None) -> OffsetKey | GroupKey | None:
    """What a record is about; None for what this coordinator does not keep.

    >>> decode_key(encode_group_end("orders")[0])
    GroupKey(group_id='orders')
    """
    try:
        version, start = _after_version(key or b"")
        if version in _OFFSET_KEYS:
            offset, _ = OffsetCommitKey.decode_prefix(key or b"", version, start)
            return OffsetKey(offset.group, offset.topic, offset.partition)
        if version == _GROUP_KEY:
            return GroupKey(GroupMetadataKey.decode_prefix(key or b"", version, start)[0].group)
    except CodecError:
        pass
    return None


def decode_offset(value: bytes) -> CommittedOffset:
    """The offset in a record's value."""
    found, _ = OffsetCommitValue.decode_prefix(value, *_after_version(value))
    expires = None if found.expire_timestamp == _UNKNOWN else found.expire_timestamp
    return CommittedOffset(found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, expires)


def decode_group(group_id: str, value: bytes) -> Group:
    """The group in a record's value: Stable with its members, or Empty without."""
    found, _ = GroupMetadataValue.decode_prefix(value, *_after_version(value))
    since = None if found.current_state_timestamp == _UNKNOWN else found.current_state_timestamp
    group = Group(group_id, since=since)
    for each in found.members:
        member = Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            each.session_timeout,
            each.session_timeout if each.rebalance_timeout == _UNKNOWN else each.rebalance_timeout,
            (Protocol(found.protocol or "", bytes(each.subscription)),),
            assignment=bytes(each.assignment),
        )
        group.add(member, found.protocol_type)
    group.generation = found.generation
    group.protocol_type = found.protocol_type or None
    group.protocol_name = found.protocol
    if group.members:
        group.state = State.STABLE
        group.leader = found.leader if found.leader in group.members else group.leader
    return group


def _group_key(group_id: str) -> bytes:
    return _prefixed(GroupMetadataKey(group=group_id), _GROUP_KEY)


def _prefixed(message: Message, version: int) -> bytes:
    return _VERSION.pack(version) + message.encode(version)


def _after_version(data: bytes) -> tuple[int, int]:
    """The version that some bytes begin with, and where it ends."""
    if len(data) < _VERSION.size:
        raise DecodeError(0, f"{_VERSION.size} bytes of version", f"{len(data)} bytes")
    return int(_VERSION.unpack_from(data)[0]), _VERSION.size
