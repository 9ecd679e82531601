"""The keys and values of records that Kafka itself writes: in its internal topics, and in control batches.

Rules:
- The topic gives the format. Coordinators prefix a key with its type and a value with its version, both int16. The
  metadata log frames its values with three unsigned varints: frame version, record type, record version.
- The schemas define the types: a key schema is named like its value schema, and has its type. A key has version 0.
- The key of a control record is its type. The value is the end marker of a transaction, or a KRaft message.
- Bytes that do not decode to their end as the expected message, or that have a version without a schema, stay bytes.
"""

from __future__ import annotations

import base64
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import CodecError, message_class, message_names
from kafkawire.records import CorruptRecordError
from kafkawire.records.control import CONTROL_BODIES, read_marker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.records import Record

COORDINATOR_TOPICS: Final[Mapping[str, str]] = {
    "__consumer_offsets": "group-coordinator",
    "__transaction_state": "transaction-coordinator",
    "__share_group_state": "share-coordinator",
}
"""The topics whose keys have a type, and the directories of their schemas."""

FRAMED_TOPICS: Final[Mapping[str, str]] = {"__cluster_metadata": "metadata", "__remote_log_metadata": "storage"}
"""The topics whose values are framed, and the directories of their schemas."""

TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    *("Dead", "PrepareEpochFence"),
)
"""The names of transaction states, as DescribeTransactions has them; the index is the number in the log."""

_INT16: Final = struct.Struct(">h")
_SUFFIXES: Final = {"id": "Record", "key": "Key", "value": "Value"}
_MEMBER_FIELDS: Final = {
    "subscription": "ConsumerProtocolSubscription",
    "assignment": "ConsumerProtocolAssignment",
}


class InternalMessage(NamedTuple):
    """A decoded key or value: the name of the message, its version, and its fields in Kafka's JSON form."""

    name: str
    version: int
    fields: dict[str, Any]


Payload = InternalMessage | bytes | None


def decode_record(topic: str | None, record: Record, *, is_control: bool) -> tuple[Payload, Payload]:
    """The key and the value of a record. A payload that is not an internal message stays bytes."""
    if is_control:
        return _decode_control(record)
    if topic is not None and topic in FRAMED_TOPICS:
        framed = None if record.value is None else _decode_framed(FRAMED_TOPICS[topic], record.value)
        return record.key, framed or record.value
    name = record_name(topic, record.key)
    if not name or record.key is None:
        return record.key, record.value
    key = _decode_key(name, record.key) or record.key
    value = None if record.value is None else _decode_value(name, record.value)
    return key, value or record.value


def record_name(topic: str | None, key: bytes | memoryview | None) -> str:
    """The name of the record in a coordinator's topic, without Key or Value; empty if its type is not known.

    >>> record_name("__transaction_state", bytes(2)), record_name("orders", bytes(2))
    ('TransactionLog', '')
    """
    folder = COORDINATOR_TOPICS.get(topic or "")
    if folder is None or key is None or len(key) < _INT16.size:
        return ""
    return record_names(folder, "key").get(_INT16.unpack_from(key)[0], "").removesuffix("Key")


@cache
def record_names(folder: str, stored: str) -> dict[int, str]:
    """The messages of a directory of schemas by record type; `stored` is id (framed records), key or value.

    >>> record_names("metadata", "id")[2], record_names("group-coordinator", "key")[1]
    ('TopicRecord', 'OffsetCommitKey')
    """
    schemas = (message_class(name).__schema__ for name in message_names() if name.endswith(_SUFFIXES[stored]))
    return {
        schema.key: schema.name
        for schema in schemas
        if schema.key is not None and schema.stored == stored and schema.place.startswith(f"data/{folder}/")
    }


def _decode_key(name: str, key: bytes) -> InternalMessage | None:
    return _decode(name + "Key", 0, key[_INT16.size :])


def _decode_value(name: str, value: bytes) -> InternalMessage | None:
    if len(value) < _INT16.size:
        return None
    return _decode(name + "Value", _INT16.unpack_from(value)[0], value[_INT16.size :])


def _decode_framed(folder: str, value: bytes) -> InternalMessage | None:
    at, numbers = 0, []
    for _ in range(3):
        number, at = _uvarint(value, at)
        if number < 0:
            return None
        numbers.append(number)
    name = record_names(folder, "id").get(numbers[1])
    return _decode(name, numbers[2], value[at:]) if name else None


def _uvarint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift, byte in zip(range(0, 35, 7), data[at : at + 5], strict=False):
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
    return -1, at


def _decode(name: str, version: int, body: bytes) -> InternalMessage | None:
    cls = message_class(name)
    if version not in cls.__schema__.versions:
        return None
    try:
        fields = cls.decode(body, version).to_json(version)
    except CodecError:
        return None
    if "transactionStatus" in fields:
        status = fields["transactionStatus"]
        fields["transactionStatus"] = TRANSACTION_STATES[status] if 0 <= status < len(TRANSACTION_STATES) else status
    if name == "GroupMetadataValue" and fields["protocolType"] == "consumer":
        for member in fields["members"]:
            for field, inside in _MEMBER_FIELDS.items():
                member[field] = _decode_member(inside, member[field])
    return InternalMessage(name, version, fields)


def _decode_member(name: str, text: str) -> object:
    """The message in a member's bytes, or the bytes as they are in JSON."""
    raw = base64.b64decode(text)
    if len(raw) < _INT16.size:
        return text
    decoded = _decode(name, _INT16.unpack_from(raw)[0], raw[_INT16.size :])
    return text if decoded is None else decoded.fields


def _decode_control(record: Record) -> tuple[Payload, Payload]:
    try:
        marker = read_marker(record)
    except CorruptRecordError:
        return record.key, record.value
    key = InternalMessage("ControlRecordType", _INT16.unpack_from(record.key or b"")[0], {"type": marker.name})
    if marker.coordinator_epoch is not None:
        fields: dict[str, Any] = {"coordinatorEpoch": marker.coordinator_epoch}
        return key, InternalMessage("EndTxnMarker", _INT16.unpack_from(record.value or b"")[0], fields)
    if marker.body is None:
        return key, record.value
    version = _INT16.unpack_from(record.value or b"")[0]
    try:
        return key, InternalMessage(CONTROL_BODIES[marker.type], version, marker.body.to_json(version))
    except KafkaWireError:
        return key, record.value
