"""Batch headers, and walking a buffer of batches.

Rules:
- Magic 0, 1 and 2 may follow each other. In magic 0 and 1 each top-level message is a batch of its own: one
  record, or a compressed wrapper of several.
- Fewer bytes than a batch needs, at the end of the buffer, are a partial tail and no error; a wrong size, magic or CRC
  is one.
- The header of a compressed wrapper tells only its last offset: `base_offset` equals `last_offset` there, and
  `record_count` is -1, until it is unpacked.
- Missing values are -1, as in the format; `timestamp_type` is 0 (create), 1 (log append) or -1 (magic 0 has no
  timestamps).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.records.compression import Codec
from kafkawire.records.errors import CorruptRecordError, InvalidRecordError, corrupt
from kafkawire.records.form import kernel
from kafkawire.records.kernel import BATCH, MESSAGE, FaultError, stated_size

if TYPE_CHECKING:
    from kafkawire.records.kernel import Buffer

MAX_SEQUENCE = 2**31 - 1
HEADER_SIZE = BATCH.size
"""The size of a magic 2 batch header, and of a batch without records."""

_INT64 = struct.Struct(">q")


def crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C of any contiguous buffer, without copying it; `value` continues an earlier checksum.

    >>> hex(crc32c(b"123456789")), crc32c(b"6789", crc32c(b"12345")) == crc32c(b"123456789")
    ('0xe3069283', True)
    """
    return kernel.crc32c(data, value)


def add_sequence(sequence: int, count: int) -> int:
    """A producer's sequence number advanced by `count`; after the largest comes 0.

    >>> add_sequence(2**31 - 1, 1), add_sequence(5, 3)
    (0, 8)
    """
    if sequence > MAX_SEQUENCE - count:
        return count - (MAX_SEQUENCE - sequence) - 1
    return sequence + count


@dataclass(slots=True)
class BatchHeader:
    """Every field of a batch header; `position` is where it starts in its buffer, `size` all the bytes it takes."""

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
        """The sequence of the last record, also of one that compaction removed; -1 without sequences."""
        return -1 if self.base_sequence == -1 else add_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> Codec:
        try:
            return Codec(self.attributes & 7)
        except ValueError:
            raise CorruptRecordError(f"codec {self.attributes & 7}, expected 0 to 4", position=self.position) from None

    @property
    def timestamp_type(self) -> int:
        return -1 if self.magic == 0 else self.attributes >> 3 & 1

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and self.attributes & 0x10 != 0

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and self.attributes & 0x20 != 0

    @property
    def has_delete_horizon(self) -> bool:
        return self.magic == 2 and self.attributes & 0x40 != 0

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones or the marker of this batch may go, in milliseconds; None where no cleaner has set it."""
        return self.base_timestamp if self.has_delete_horizon else None


def size_at(data: memoryview, position: int) -> int:
    """The size of the batch at a position from its size field, 0 where the buffer ends before the magic byte."""
    try:
        return stated_size(data, position)
    except FaultError as error:
        raise corrupt(position, *error.args) from None


HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int]


def header_fields(data: memoryview, position: int, size: int) -> HeaderFields:
    """The fields of a BatchHeader, in its order."""
    try:
        if data[position + 16] == 2:
            base, _, epoch, magic, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count = (
                BATCH.unpack_from(data, position)
            )
            return (
                *(position, size, magic, crc, attributes, base, delta, first, last),
                *(epoch, producer, producer_epoch, sequence, count),
            )
        base, _, crc, magic, attributes = MESSAGE.unpack_from(data, position)
        stamp = _INT64.unpack_from(data, position + 18)[0] if magic == 1 else -1
    except struct.error:
        raise CorruptRecordError(
            f"its header needs more than the {len(data) - position} bytes left", position=position
        ) from None
    count = -1 if attributes & 7 else 1
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
        raise CorruptRecordError(f"its header needs 17 bytes, {max(0, len(data) - position)} left", position=position)
    return BatchHeader(*header_fields(data, position, size))
