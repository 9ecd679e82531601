"""A magic 2 batch with another header or other records.

Rules:
- Everything that is not said to change stays: offsets, producer, sequence, leader epoch, and whatever bits are unknown.
- The CRC is computed anew, over the header's last 40 bytes and the records as they are stored.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from kafkawire.records import crc32c

if TYPE_CHECKING:
    from kafkawire.log.files import Bytes
    from kafkawire.records import BatchHeader

CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
_TO_EPOCH = Struct(">qii")
_MAGIC_AND_CRC = Struct(">bI")
_CHECKED = Struct(">hiqqqhii")


def head_from_magic(
    batch: BatchHeader,
    payload: Bytes,
    *,
    attributes: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    record_count: int | None = None,
) -> bytes:
    """The 45 bytes of a header after the leader epoch, for these stored records."""
    checked = _CHECKED.pack(
        batch.attributes if attributes is None else attributes,
        batch.last_offset_delta,
        batch.base_timestamp if base_timestamp is None else base_timestamp,
        batch.max_timestamp if max_timestamp is None else max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count if record_count is None else record_count,
    )
    return _MAGIC_AND_CRC.pack(2, crc32c(payload, crc32c(checked))) + checked


def head_to_epoch(batch: BatchHeader, payload_size: int) -> bytes:
    """The first 16 bytes of a header: base offset, size and leader epoch."""
    return _TO_EPOCH.pack(batch.base_offset, 49 + payload_size, batch.leader_epoch)
