"""The checks of a batch that a log receives, and of its decompressed records: the reference of `_payload.pyx`.

Rules:
- `head` reads a magic 2 header and computes the CRC in one call; it checks only that the batch is whole. The computed
  CRC is 0 if the batch is larger than `most`. For an older magic, only size and magic are set.
- `examine` parses every record to its last byte; a malformed one raises CorruptRecordError. It returns only the values
  that admission needs.
- `plain` is both for the batch that most producers send: alone, with magic 2, without compression, outside a
  transaction, and valid in every way. It returns only the values that admission needs, and None for any other bytes.
  The caller then finds the reason with the other functions.
- `thin` copies records byte for byte, without checks; they must have been examined before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.messages import errors as protocol_errors
from kafkawire.records._kernel.kernel import crc32c, records
from kafkawire.records.batch import header_fields, size_at
from kafkawire.records.errors import CorruptRecordError
from kafkawire.records.layout import (
    APPEND_TIME,
    CHECKED_FROM,
    CODEC,
    CONTROL,
    HEADER_SIZE,
    MAGIC_AT,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from kafkawire.records import Buffer

Head = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""Size, magic, stated and computed CRC, attributes, base offset, last offset delta, base and largest timestamp,
producer id, producer epoch, base sequence, record count."""
Plain = tuple[int, int, int, int, int, int]
"""Size, last offset delta, largest timestamp, producer id, producer epoch, base sequence."""
_UNUSUAL = CODEC | APPEND_TIME | TRANSACTIONAL | CONTROL


def head(data: Buffer, position: int, most: int) -> Head:
    """The header of the whole batch at a position, and the computed CRC."""
    view = memoryview(data)
    size = size_at(view, position)
    if not size or size > len(view) - position:
        raise incomplete(position, len(view))
    if view[position + MAGIC_AT] != 2:
        return (size, view[position + MAGIC_AT], *(0,) * 11)
    _, _, magic, crc, attributes, base, delta, first, last, _, *producer = header_fields(view, position, size)
    computed = crc32c(view[position + CHECKED_FROM : position + size], 0) if size <= most else 0
    producer_id, producer_epoch, sequence, count = producer
    return (
        *(size, magic, crc, computed, attributes, base, delta),
        *(first, last, producer_id, producer_epoch, sequence, count),
    )


def examine(payload: Buffer, count: int, base_timestamp: int) -> tuple[int, int, int, bool]:
    """Smallest and largest timestamp, the number of records without a key, and whether offsets run from 0 on."""
    smallest, largest, keyless, in_order = 2**63 - 1, -(2**63), 0, True
    for expected, record in enumerate(records(payload, 0, 0, base_timestamp, 0, False, count)):
        smallest, largest = min(smallest, record.timestamp), max(largest, record.timestamp)
        keyless += record.key is None
        in_order = in_order and record.offset == expected
    return smallest, largest, keyless, in_order


def plain(data: Buffer, most: int, oldest: int, newest: int, keys_needed: bool) -> Plain | None:
    """The values that admission needs of one batch that a log stores as it is; None for every other one."""
    view = memoryview(data)
    try:
        size, magic, crc, computed, attributes, base, last_delta, *rest = head(view, 0, most)
        first, stated, producer, epoch, sequence, count = rest
        if magic != 2 or size != len(view) or size > most or attributes & _UNUSUAL or base or computed != crc:
            return None
        if count <= 0 or count != last_delta + 1 or (producer >= 0 and (epoch < 0 or sequence < 0)):
            return None
        smallest, largest, keyless, in_order = examine(view[HEADER_SIZE:], count, first)
    except (CorruptRecordError, protocol_errors.CorruptRecordError):
        return None
    if not in_order or (keys_needed and keyless) or smallest < oldest or largest > newest or largest != stated:
        return None
    return size, last_delta, largest, producer, epoch, sequence


def thin(payload: Buffer, keep: bytes, shift: int) -> bytes:
    """The records whose byte in `keep` is not 0, their timestamp deltas raised by `shift`."""
    data, out, at = bytes(payload), bytearray(), 0
    for kept in keep:
        length, body = _read(data, at)
        end = body + length
        if not body < end <= len(data):
            raise CorruptRecordError(f"record at byte {at} of the records ends at byte {end} of {len(data)}")
        if kept and shift:
            delta, rest = _read(data, body + 1)
            record = data[body : body + 1] + _written(delta + shift) + data[rest:end]
            out += _written(len(record)) + record
        elif kept:
            out += data[at:end]
        at = end
    return bytes(out)


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise CorruptRecordError("the records end inside a number")


def _written(value: int) -> bytes:
    value = value << 1 if value >= 0 else ~(value << 1)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def incomplete(position: int, total: int) -> protocol_errors.CorruptRecordError:
    """The error for bytes that end before their batch does."""
    return protocol_errors.CorruptRecordError(f"{total - position} bytes after the last whole batch, expected none")
