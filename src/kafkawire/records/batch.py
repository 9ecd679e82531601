"""Batch headers: reading them, and writing them again with changes.

Rules:
- Magic 0, 1 and 2 may follow each other. In magic 0 and 1 each top-level message is a batch of its own: one
  record, or a compressed wrapper of several.
- A batch that the end of the buffer cuts is a partial tail, not an error. A wrong size, magic or CRC is an error.
- The header of a compressed wrapper has only its last offset: its `base_offset` equals `last_offset`, and its
  `record_count` is -1.
- Missing values are -1, as in the format; `timestamp_type` is 0 (create), 1 (log append) or -1 (magic 0 has no
  timestamps).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.records._kernel.kernel import FaultError, checked_size
from kafkawire.records._kernel.twins import kernel
from kafkawire.records.compression import Codec
from kafkawire.records.errors import CorruptRecordError, InvalidRecordError, corrupt
from kafkawire.records.layout import (
    APPEND_TIME,
    ASSIGNED,
    BATCH,
    CHECKED,
    CHECKED_FROM,
    CODEC,
    CONTROL,
    CRC_AT,
    DELETE_HORIZON,
    HEADER_SIZE,
    LEGACY_TIMESTAMP_AT,
    MAGIC_AND_CRC,
    MAGIC_AT,
    MESSAGE,
    PREFIX_SIZE,
    PROBE_SIZE,
    PRODUCER,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer

MAX_SEQUENCE = 2**31 - 1

_INT64 = struct.Struct(">q")
_CRC = struct.Struct(">I")


def crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C of any contiguous buffer, without copying it; `value` continues an earlier checksum.

    >>> hex(crc32c(b"123456789")), crc32c(b"6789", crc32c(b"12345")) == crc32c(b"123456789")
    ('0xe3069283', True)
    """
    return kernel.crc32c(data, value)


def add_sequence(sequence: int, count: int) -> int:
    """A producer's sequence number advanced by `count`; the largest is followed by 0.

    >>> add_sequence(2**31 - 1, 1), add_sequence(5, 3)
    (0, 8)
    """
    if sequence > MAX_SEQUENCE - count:
        return count - (MAX_SEQUENCE - sequence) - 1
    return sequence + count


@dataclass(slots=True)
class BatchHeader:
    """Every field of a batch header; `position` is its start in the buffer, `size` the bytes of the whole batch."""

    position: int
    size: int
    magic: int
    crc: int
    attributes: int
    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        last = self.base_offset + self.last_offset_delta
        return last if -(2**63) <= last < 2**63 else (last + 2**63) % 2**64 - 2**63

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, even if compaction removed it; -1 without sequences."""
        return -1 if self.base_sequence == -1 else add_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> Codec:
        try:
            return Codec(self.attributes & CODEC)
        except ValueError:
            raise CorruptRecordError(
                f"codec {self.attributes & CODEC}, expected 0 to 4", position=self.position
            ) from None

    @property
    def timestamp_type(self) -> int:
        return -1 if self.magic == 0 else (1 if self.attributes & APPEND_TIME else 0)

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and self.attributes & CONTROL != 0

    @property
    def has_delete_horizon(self) -> bool:
        return self.magic == 2 and self.attributes & DELETE_HORIZON != 0

    @property
    def delete_horizon(self) -> int | None:
        """The time in milliseconds after which compaction removes tombstones or the marker; None if it is not set."""
        return self.base_timestamp if self.has_delete_horizon else None


def size_at(data: memoryview, position: int) -> int:
    """The size of the batch at a position by its size field, checked; 0 if the buffer ends before the magic byte."""
    try:
        return checked_size(data, position)
    except FaultError as error:
        raise corrupt(position, *error.args) from None


HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int]


def header_fields(data: memoryview, position: int, size: int) -> HeaderFields:
    """The fields of a BatchHeader, in its order."""
    try:
        if data[position + MAGIC_AT] == 2:
            base, _, epoch, magic, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count = (
                BATCH.unpack_from(data, position)
            )
            return (
                *(position, size, magic, crc, attributes, base, delta, first, last),
                *(epoch, producer, producer_epoch, sequence, count),
            )
        base, _, crc, magic, attributes = MESSAGE.unpack_from(data, position)
        stamp = _INT64.unpack_from(data, position + LEGACY_TIMESTAMP_AT)[0] if magic == 1 else -1
    except struct.error:
        raise CorruptRecordError(
            f"its header needs more than the {len(data) - position} bytes left", position=position
        ) from None
    count = -1 if attributes & CODEC else 1
    return (position, size, magic, crc, attributes, base, 0, stamp, stamp, -1, -1, -1, -1, count)


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at a position; the buffer must hold the header (61 bytes in magic 2), not the whole batch.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(None, b"hello")
    True
    >>> header = parse_header(builder.build())
    >>> header.size, header.record_count, header.codec.name
    (73, 1, 'NONE')
    """
    data = memoryview(buffer).cast("B")
    if position < 0:
        raise InvalidRecordError(f"position {position}, expected 0 or more")
    size = size_at(data, position)
    if not size:
        raise CorruptRecordError(
            f"its header needs {PROBE_SIZE} bytes, {max(0, len(data) - position)} left", position=position
        )
    return BatchHeader(*header_fields(data, position, size))


def head_to_epoch(batch: BatchHeader, payload_size: int) -> bytes:
    """The first 16 bytes of a magic 2 header: base offset, size and leader epoch."""
    return ASSIGNED.pack(batch.base_offset, HEADER_SIZE - PREFIX_SIZE + payload_size, batch.leader_epoch)


def head_from_magic(
    batch: BatchHeader,
    payload: Buffer,
    *,
    attributes: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    record_count: int | None = None,
) -> bytes:
    """The 45 bytes of a magic 2 header after the leader epoch, for these stored records and with a new CRC.

    Fields that are not given stay as they are in `batch`, unknown attribute bits included.
    """
    checked = CHECKED.pack(
        batch.attributes if attributes is None else attributes,
        batch.last_offset_delta,
        batch.base_timestamp if base_timestamp is None else base_timestamp,
        batch.max_timestamp if max_timestamp is None else max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count if record_count is None else record_count,
    )
    return MAGIC_AND_CRC.pack(2, kernel.crc32c(payload, kernel.crc32c(checked, 0))) + checked


def stamp_producer(batch: bytearray, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
    """Write the producer fields of a magic 2 batch, and its new CRC.

    >>> from kafkawire.records import BatchBuilder, parse_header
    >>> builder = BatchBuilder()
    >>> builder.append(None, b"hello")
    True
    >>> batch = bytearray(builder.build())
    >>> stamp_producer(batch, 7, 0, 12)
    >>> parse_header(batch).base_sequence
    12
    """
    PRODUCER.pack_into(batch, PRODUCER_ID_AT, producer_id, producer_epoch, base_sequence)
    _CRC.pack_into(batch, CRC_AT, kernel.crc32c(memoryview(batch)[CHECKED_FROM:], 0))
