"""The records of `__consumer_offsets`, in Kafka's own format.

Rules:
- A key is an int16 type, then the key's fields. A value is an int16 version, then its fields. No value (a tombstone)
  deletes the key.
- Offsets are written as version 4 with their topic id, or 1 if they have their own expiry; groups as version 3. All
  versions of Kafka are read.
- Keys of other types are ignored here. `consumer.records` has those of consumer groups.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kafkawire.broker.groups.classic.group import CommittedOffset, Group, TopicPartition
from kafkawire.broker.groups.classic.members import Member
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import Protocol
from kafkawire.messages import (
    CodecError,
    DecodeError,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.messages import Message

Entry = tuple[bytes, bytes | None]
M = TypeVar("M", bound="Message")

_TYPE_OR_VERSION: Final = Struct(">h")
_KEY_VERSION: Final = 0
_OFFSET_VALUE, _EXPIRING_OFFSET_VALUE, _GROUP_VALUE = 4, 1, 3
_UNKNOWN: Final = -1


class OffsetKey(NamedTuple):
    """The key of an offset's record."""

    group_id: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """The key of a group's record."""

    group_id: str


def encode_offset(group_id: str, place: TopicPartition, committed: CommittedOffset | None) -> Entry:
    """The record of a committed offset; without one, that it is gone."""
    key = encode_key(OffsetCommitKey(group=group_id, topic=place[0], partition=place[1]))
    if committed is None:
        return key, None
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.committed_at,
        expire_timestamp=_UNKNOWN if committed.expires is None else committed.expires,
        topic_id=committed.topic_id,
    )
    return key, encode_value(value, _OFFSET_VALUE if committed.expires is None else _EXPIRING_OFFSET_VALUE)


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
    return _group_key(group.group_id), encode_value(value, _GROUP_VALUE)


def encode_group_end(group_id: str) -> Entry:
    """The record that a group is gone."""
    return _group_key(group_id), None


def decode_key(key: bytes | None) -> OffsetKey | GroupKey | None:
    """The key of a record; None for types that this coordinator does not keep.

    >>> decode_key(encode_group_end("orders")[0])
    GroupKey(group_id='orders')
    """
    try:
        kind, start = after_prefix(key or b"")
        if kind in (LegacyOffsetCommitKey.__schema__.key, OffsetCommitKey.__schema__.key):  # of the same fields
            offset, _ = OffsetCommitKey.decode_prefix(key or b"", _KEY_VERSION, start)
            return OffsetKey(offset.group, offset.topic, offset.partition)
        if kind == GroupMetadataKey.__schema__.key:
            return GroupKey(GroupMetadataKey.decode_prefix(key or b"", _KEY_VERSION, start)[0].group)
    except CodecError:
        pass
    return None


def decode_offset(value: bytes) -> CommittedOffset:
    """The offset in a record's value."""
    found, _ = OffsetCommitValue.decode_prefix(value, *after_prefix(value))
    expires = None if found.expire_timestamp == _UNKNOWN else found.expire_timestamp
    return CommittedOffset(
        found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, expires, found.topic_id
    )


def decode_group(group_id: str, value: bytes) -> Group:
    """The group in a record's value: Stable with its members, or Empty without."""
    found, _ = GroupMetadataValue.decode_prefix(value, *after_prefix(value))
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
    return encode_key(GroupMetadataKey(group=group_id))


def encode_key(message: Message) -> bytes:
    """The bytes of a key: its type, then its fields."""
    return _TYPE_OR_VERSION.pack(message.__schema__.key) + message.encode(_KEY_VERSION)


def encode_value(message: Message, version: int) -> bytes:
    """The bytes of a value: its version, then its fields."""
    return _TYPE_OR_VERSION.pack(version) + message.encode(version)


def after_prefix(data: bytes) -> tuple[int, int]:
    """The type or version that a key or a value begins with, and where it ends."""
    if len(data) < _TYPE_OR_VERSION.size:
        raise DecodeError(0, f"{_TYPE_OR_VERSION.size} bytes of type or version", f"{len(data)} bytes")
    return int(_TYPE_OR_VERSION.unpack_from(data)[0]), _TYPE_OR_VERSION.size


def known_key(kinds: Mapping[Any, type[Any]], key: bytes) -> Any | None:
    """The key of a record, decoded; None if its type is not one of these."""
    kind, start = after_prefix(key)
    known = kinds.get(kind)
    return None if known is None else known.decode_prefix(key, _KEY_VERSION, start)[0]


def decode_value(kind: type[M], value: bytes) -> M:
    """The value of a record, decoded."""
    return kind.decode_prefix(value, *after_prefix(value))[0]
