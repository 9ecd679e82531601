"""The record kernel, in Python: the reference of `_kernel.pyx`, and its replacement if it is not compiled.

Rules:
- A fault is detected before anything is allocated for it, and is reported as (position, code, where, found, expected).
- `scan` never raises for bad bytes: it returns the end of the good batches, and the fault there.
- A compressed message of magic 0 or 1 is a wrapper: its value is a compressed set of uncompressed messages, and its
  offset is that of the last one. Magic 0 numbers them absolutely, magic 1 from 0 on.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from kafkawire.records._checksum import crc32c as crc32c
from kafkawire.records.errors import Fault, corrupt
from kafkawire.records.layout import (
    BATCH,
    CHECKED_FROM,
    CODEC,
    LEGACY_CHECKED_FROM,
    LEGACY_KEY_AT,
    LEGACY_TIMESTAMP_AT,
    MAGIC_AT,
    MESSAGE,
    PREFIX_SIZE,
    PROBE_SIZE,
    SIZE_AT,
    SMALLEST_LENGTHS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Buffer = bytes | bytearray | memoryview

_SIZE = struct.Struct(">i")
_LEGACY = struct.Struct(">qiIbbq")
_INT64 = struct.Struct(">q")
SMALLEST_RECORD = 7


# The columns of a scan and the array codes of their types, in the order in which `scan` returns them.
SCAN_COLUMNS: dict[str, Literal["q", "i", "I", "h", "b"]] = {
    "position": "q",
    "size": "i",
    "magic": "b",
    "attributes": "h",
    "base_offset": "q",
    "last_offset": "q",
    "record_count": "i",
    "base_timestamp": "q",
    "max_timestamp": "q",
    "leader_epoch": "i",
    "producer_id": "q",
    "producer_epoch": "h",
    "base_sequence": "i",
    "crc": "I",
}

ScanFault = tuple[int, int, int, int, int]


class FaultError(Exception):
    """Raised with (code, where, found, expected); the caller adds the position of the batch."""


def checked_size(data: memoryview, position: int) -> int:
    """The size that the batch at a position states, which may exceed the data; 0 if the data ends before its magic."""
    left = len(data) - position
    if left < PREFIX_SIZE:
        return 0
    length: int = _SIZE.unpack_from(data, position + SIZE_AT)[0]
    if length < SMALLEST_LENGTHS[0]:
        raise FaultError(Fault.SIZE, 0, length, SMALLEST_LENGTHS[0])
    if left < PROBE_SIZE:
        return 0
    magic = data[position + MAGIC_AT]
    if magic > 2:
        raise FaultError(Fault.MAGIC, 0, magic - 256 if magic > 127 else magic, 2)
    if length < SMALLEST_LENGTHS[magic]:
        raise FaultError(Fault.SIZE, 0, length, SMALLEST_LENGTHS[magic])
    return PREFIX_SIZE + length


def scan(
    buffer: Buffer, start: int, verify: bool, limit: int
) -> tuple[Sequence[array[int] | bytearray], int, ScanFault | None]:
    """Scan up to `limit` batches from `start`: their columns, the end of the good batches, and the fault there."""
    data = memoryview(buffer).cast("B")
    rows: list[tuple[int, ...]] = []
    position, total = start, len(data)
    fault: ScanFault | None = None
    while len(rows) < limit:
        try:
            size = checked_size(data, position)
        except FaultError as error:
            fault = (position, *error.args)
            break
        if not 0 < size <= total - position:
            break
        magic = data[position + MAGIC_AT]
        if magic == 2:
            base, _, epoch, _, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count = (
                BATCH.unpack_from(data, position)
            )
            end_offset = (base + delta + 2**63) % 2**64 - 2**63
            computed = crc32c(data[position + CHECKED_FROM : position + size]) if verify else crc
        else:
            base, _, crc, _, attributes, first = _LEGACY.unpack_from(data, position)
            if magic == 0:
                first = -1
            epoch, producer, producer_epoch, sequence = -1, -1, -1, -1
            end_offset, last, count = base, first, -1 if attributes & CODEC else 1
            computed = crc32(data[position + LEGACY_CHECKED_FROM : position + size]) if verify else crc
        if computed != crc:
            fault = (position, Fault.CRC, 0, computed, crc)
            break
        rows.append(
            (
                *(position, size, magic, attributes, base, end_offset, count, first, last),
                *(epoch, producer, producer_epoch, sequence, crc),
            )
        )
        position += size
    columns = zip(*rows, strict=True) if rows else [()] * len(SCAN_COLUMNS)
    return (
        [array(code, column) for code, column in zip(SCAN_COLUMNS.values(), columns, strict=True)],
        position,
        fault,
    )


@dataclass(slots=True)
class Record:
    """A record; keys, values and header values may be None."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def header(self, name: str, default: bytes | None = None) -> bytes | None:
        """The value of the first header with a name, which may be None; the default if there is no such header.

        >>> Record(0, 0, None, b"v", (("trace", b"1"), ("trace", b"2"))).header("trace")
        b'1'
        """
        return next((value for key, value in self.headers if key == name), default)

    def last_header(self, name: str, default: bytes | None = None) -> bytes | None:
        """As `header`, of the last header with the name, which counts if a program replaced a header by adding one.

        >>> Record(0, 0, None, b"v", (("trace", b"1"), ("trace", b"2"))).last_header("trace")
        b'2'
        """
        return next((value for key, value in reversed(self.headers) if key == name), default)


def _varint(data: bytes, at: int, stop: int, bits: int) -> tuple[int, int]:
    """A zigzag varint of at most `bits` bits, and the position after it."""
    value = shift = 0
    start = at
    while True:
        if at >= stop:
            raise FaultError(Fault.SHORT, stop, 0, 1)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise FaultError(Fault.VARINT, start, 0, 0)
    if value >> bits:
        raise FaultError(Fault.VARINT, start, 0, 0)
    return (value >> 1) ^ -(value & 1), at


def _wrapped(value: int) -> int:
    """An int64, as sums of hostile values wrap in the compiled form."""
    return value if -(2**63) <= value < 2**63 else (value + 2**63) % 2**64 - 2**63


def _bytes_at(data: bytes, at: int, stop: int, least: int) -> tuple[bytes | None, int]:
    length, after = _varint(data, at, stop, 32)
    if length < 0:
        if length < least:
            raise FaultError(Fault.LENGTH, at, length, stop - after)
        return None, after
    end = after + length
    if end > stop:
        raise FaultError(Fault.LENGTH, at, length, stop - after)
    return data[after:end], end


def _headers_at(data: bytes, at: int, stop: int, count: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    found = []
    for _ in range(count):
        name, at = _bytes_at(data, at, stop, 0)
        content, at = _bytes_at(data, at, stop, -1)
        found.append(((name or b"").decode("utf-8", "replace"), content))
    return tuple(found), at


def _record_at(data: bytes, at: int, base_offset: int, base_timestamp: int) -> tuple[Record, int]:
    total = len(data)
    length, p = _varint(data, at, total, 32)
    if not 0 <= length <= total - p:
        raise FaultError(Fault.LENGTH, at, length, total - p)
    stop = p + length
    if not length:
        raise FaultError(Fault.SHORT, p, 0, 1)
    stamp, p = _varint(data, p + 1, stop, 64)
    delta, p = _varint(data, p, stop, 32)
    key: bytes | None = None
    if p < stop and data[p] == 1:
        p += 1  # the most common key: null
    else:
        key, p = _bytes_at(data, p, stop, -1)
    value, p = _bytes_at(data, p, stop, -1)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if p < stop and data[p] == 0:
        p += 1
    else:
        count, p = _varint(data, p, stop, 32)
        if not 0 <= count <= stop - p:
            raise FaultError(Fault.HEADER_COUNT, p, count, stop - p)
        headers, p = _headers_at(data, p, stop, count)
    if p != stop:
        raise FaultError(Fault.RECORD_SIZE, at, length - (stop - p), length)
    offset, timestamp = base_offset + delta, base_timestamp + stamp
    if not (-(2**63) <= offset < 2**63 and -(2**63) <= timestamp < 2**63):
        offset, timestamp = _wrapped(offset), _wrapped(timestamp)
    return Record(offset, timestamp, key, value, headers), p


def _plain_record_at(data: bytes, at: int, base_offset: int, base_timestamp: int) -> tuple[Record, int] | None:
    """The result of `_record_at`, at twice the speed, for a record without headers whose varints have one or two bytes.

    None for any other record. Fields are not checked one by one: with a wrong one, the record does not end where its
    length states.
    """
    try:
        length, p = data[at], at + 1
        if length > 127:
            length, p = length & 127 | data[p] << 7, p + 1
        stop = p + (length >> 1)
        stamp, p = data[p + 1], p + 2
        if stamp > 127:
            stamp, p = stamp & 127 | data[p] << 7, p + 1
        delta, p = data[p], p + 1
        if delta > 127:
            delta, p = delta & 127 | data[p] << 7, p + 1
        size, p = data[p], p + 1
        key = value = None
        if size != 1:
            if size > 127:
                size, p = size & 127 | data[p] << 7, p + 1
            start, p = p, p + (size >> 1)
            key = data[start:p]
        tall = length | stamp | delta | size
        odd = length & 1 or (size & 1 and key is not None)
        size, p = data[p], p + 1
        if size != 1:
            if size > 127:
                size, p = size & 127 | data[p] << 7, p + 1
            start, p = p, p + (size >> 1)
            value = data[start:p]
            odd = odd or size & 1
        if data[p] or p + 1 != stop or odd or tall | size > 0x3FFF:
            return None
    except IndexError:
        return None
    timestamp = base_timestamp + ((stamp >> 1) ^ -(stamp & 1))
    return Record(base_offset + ((delta >> 1) ^ -(delta & 1)), timestamp, key, value), stop


def records(
    payload: Buffer,
    position: int,
    base_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    append: bool,
    count: int,
) -> Iterator[Record]:
    """The records of a magic 2 batch from its decompressed bytes."""
    data = bytes(payload)
    if not 0 <= count <= len(data) // SMALLEST_RECORD:
        raise corrupt(position, Fault.COUNT, 0, count, len(data) // SMALLEST_RECORD)
    return _records(data, position, base_offset, base_timestamp, max_timestamp, append, count)


def _records(
    data: bytes, position: int, base_offset: int, base_timestamp: int, max_timestamp: int, append: bool, count: int
) -> Iterator[Record]:
    at = 0
    in_range = abs(base_offset) < 2**62 and abs(base_timestamp) < 2**62
    for _ in range(count):
        found = _plain_record_at(data, at, base_offset, base_timestamp) if in_range else None
        if found is None:
            try:
                found = _record_at(data, at, base_offset, base_timestamp)
            except FaultError as cut:
                raise corrupt(position, *cut.args) from None
        record, at = found
        if append:
            record.timestamp = max_timestamp
        yield record
    if at != len(data):
        raise corrupt(position, Fault.TRAILING, at, len(data) - at)


def _message_size(data: memoryview, at: int) -> int:
    """The size of the message at a position of a message set, which must be whole."""
    left = len(data) - at
    size = checked_size(data, at)
    if not 0 < size <= left:
        raise FaultError(Fault.SHORT, at, left, 26)
    return size


def _field_at(data: memoryview, at: int, stop: int) -> tuple[bytes | None, int]:
    if stop - at < 4:
        raise FaultError(Fault.SHORT, at, stop - at, 4)
    length = _SIZE.unpack_from(data, at)[0]
    if not -1 <= length <= stop - at - 4:
        raise FaultError(Fault.LENGTH, at, length, stop - at - 4)
    return (None, at + 4) if length < 0 else (bytes(data[at + 4 : at + 4 + length]), at + 4 + length)


def _message_at(
    data: memoryview, at: int, inside: bool, verify: bool, shift: int, stamp: int | None
) -> tuple[Record, int]:
    size = _message_size(data, at)
    if data[at + MAGIC_AT] == 2:
        raise FaultError(Fault.MAGIC, 0, 2, 1)
    offset, _, crc, magic, attributes = MESSAGE.unpack_from(data, at)
    if inside and verify:
        computed = crc32(data[at + LEGACY_CHECKED_FROM : at + size])
        if computed != crc:
            raise FaultError(Fault.CRC, 0, computed, crc)
    if inside and attributes & CODEC:
        raise FaultError(Fault.NESTED, at, 0, 0)
    timestamp = -1
    if magic:
        timestamp = _INT64.unpack_from(data, at + LEGACY_TIMESTAMP_AT)[0] if stamp is None else stamp
    key, p = _field_at(data, at + LEGACY_KEY_AT[magic], at + size)
    value, p = _field_at(data, p, at + size)
    if p != at + size:
        raise FaultError(Fault.RECORD_SIZE, at, p - at, size)
    return Record(_wrapped(offset + shift), timestamp, key, value), p


def messages(
    data: Buffer, position: int, inside: bool, magic: int, offset: int, timestamp: int, append: bool, verify: bool
) -> Iterator[Record]:
    """The one message in `data`, or those inside a wrapper, from its decompressed bytes."""
    view = memoryview(data).cast("B")
    try:
        shift = _wrapper_shift(view, magic, offset) if inside else 0
    except FaultError as cut:
        raise corrupt(position, *cut.args) from None
    return _messages(view, position, inside, shift, timestamp if inside and append else None, verify)


def _wrapper_shift(data: memoryview, magic: int, offset: int) -> int:
    """The number to add to inner offsets to get absolute ones."""
    at = last = 0
    while at != len(data):
        size = _message_size(data, at)
        last = _INT64.unpack_from(data, at)[0]
        at += size
    if not at:
        raise FaultError(Fault.EMPTY_WRAPPER, 0, 0, 0)
    # Old librdkafka producers left a wrapper offset of 0: inner offsets are then absolute.
    if magic == 0 or offset == 0:
        return 0
    if offset < last:
        raise FaultError(Fault.WRAPPER_OFFSET, 0, offset, last)
    return offset - last


def _messages(
    data: memoryview, position: int, inside: bool, shift: int, stamp: int | None, verify: bool
) -> Iterator[Record]:
    at = 0
    while at != len(data):
        try:
            record, at = _message_at(data, at, inside, verify, shift, stamp)
        except FaultError as cut:
            raise corrupt(position, *cut.args) from None
        yield record
