"""The descriptions of fields: of messages from their schemas, and of record batches from the tables here.

Rules:
- A description is about the field, and a note is about its value.
- The fields of record batches, records and old messages are not in a schema. A test compares these tables with trees.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from kafkawire.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire._codec.plan import Shape, Slot
    from kafkawire.inspect._explain.tree import Node
    from kafkawire.messages.schema import Struct

BATCH: Final = {
    "base_offset": "Offset of the first record",
    "batch_length": "Bytes that follow this field",
    "partition_leader_epoch": "Epoch of the leader that appended the batch; the CRC does not include it",
    "magic": "Version of the format of the batch",
    "crc": "CRC-32C of the bytes from the attributes on",
    "attributes": "Codec, kind of timestamp, and whether the batch is transactional or has control records, as bits",
    "last_offset_delta": "Offset of the last record minus that of the first; compaction keeps it",
    "base_timestamp": "Time from which the records count; after compaction it may be the delete horizon",
    "max_timestamp": "Greatest time of the records, or the time of appending",
    "producer_id": "Id of the producer, or -1",
    "producer_epoch": "Epoch of the producer, or -1",
    "base_sequence": "Sequence of the first record; it detects duplicates and gaps; -1 without a producer id",
    "record_count": "Number of records",
    "records": "The records, compressed together if there is a codec",
    "rest": "Bytes that cannot be read",
}
RECORD: Final = {
    "length": "Bytes of the record that follow this field",
    "attributes": "Not used",
    "timestamp_delta": "Time of the record minus the base timestamp of the batch",
    "offset_delta": "Offset of the record minus the base offset of the batch",
    "key": "Key of the record; null if it has none",
    "value": "Value of the record; null deletes the key in a compacted topic",
    "headers": "Headers of the record",
}
HEADER: Final = {"key": "Name of the header", "value": "Value of the header, or null"}
MESSAGE: Final = {
    "offset": "Offset of the message; in a wrapper of magic 1, relative to the first message",
    "size": "Bytes that follow this field",
    "crc": "CRC-32 of the bytes that follow",
    "magic": "Version of the format of the message",
    "attributes": "Codec, and from magic 1 on the kind of timestamp, as bits",
    "timestamp": "Time of the message in milliseconds since 1970",
    "key": "Key of the message; null if it has none",
    "value": "Value of the message; with a codec, the messages that this one wraps",
}


def described(nodes: Iterable[Node], texts: Mapping[str, str]) -> None:
    """Set the descriptions of nodes by their names."""
    for node in nodes:
        node.description = texts.get(node.name, "")


@cache
def descriptions_of(message: str) -> Mapping[Slot, str]:
    """The description of every field of a message, by the slot of its class."""
    cls = message_class(message)
    found: dict[Slot, str] = {}
    _collect(cls.__schema__.root, cls.__shape__, found)
    return found


def _collect(struct: Struct, shape: Shape, found: dict[Slot, str]) -> None:
    for field, slot in zip(struct.fields, shape.slots, strict=True):
        if slot in found:
            return
        found[slot] = field.description
        if field.struct is not None and slot.shape is not None:
            _collect(field.struct, slot.shape, found)
