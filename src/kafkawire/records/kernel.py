"""The record kernel, in Python: the reference of `_kernel.pyx`, and its stand-in where nothing could be compiled.

Rules:
- A fault is found before anything is allocated for it, and is reported as (position, code, where, found, expected).
- `scan` never raises for bad bytes: it says how far the bytes are good and what stopped it.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING
from zlib import crc32

from kafkawire.records.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

Buffer = bytes | bytearray | memoryview

_SIZE = struct.Struct(">i")
_BATCH = struct.Struct(">qiibIhiqqqhii")
_LEGACY = struct.Struct(">qiIbbq")
_SMALLEST = (14, 22, 49)
_TABLE: list[int] = []


def _byte_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


def crc32c(data: Buffer, value: int = 0) -> int:
    """CRC-32C of any buffer, continuing from `value`."""
    if not _TABLE:
        _TABLE.extend(_byte_table())
    crc = value ^ 0xFFFFFFFF
    for byte in memoryview(data).cast("B"):
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# The columns of a scan and the array codes of their types, in the order in which `scan` returns them.
SCAN_COLUMNS = {
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


def scan(
    buffer: Buffer, start: int, verify: bool, limit: int
) -> tuple[Sequence[array[int] | bytearray], int, ScanFault | None]:
    """Walk up to `limit` batches from `start`: their columns, where the good bytes end, and the fault that ended them."""
    data = memoryview(buffer).cast("B")
    rows = []
    position, total = start, len(data)
    fault: ScanFault | None = None
    while total - position >= 12 and len(rows) < limit:
        length = _SIZE.unpack_from(data, position + 8)[0]
        if length < 14:
            fault = (position, Fault.SIZE, 0, length, 14)
            break
        if total - position < 17:
            break
        magic = data[position + 16]
        if magic > 2:
            fault = (position, Fault.MAGIC, 0, magic - 256 if magic > 127 else magic, 2)
            break
        if length < _SMALLEST[magic]:
            fault = (position, Fault.SIZE, 0, length, _SMALLEST[magic])
            break
        size = 12 + length
        if total - position < size:
            break
        if magic == 2:
            base, _, epoch, _, crc, attributes, delta, first, last, producer, producer_epoch, sequence, count = (
                _BATCH.unpack_from(data, position)
            )
            end_offset = (base + delta + 2**63) % 2**64 - 2**63
            computed = crc32c(data[position + 21 : position + size]) if verify else crc
        else:
            base, _, crc, _, attributes, first = _LEGACY.unpack_from(data, position)
            if magic == 0:
                first = -1
            epoch, producer, producer_epoch, sequence = -1, -1, -1, -1
            end_offset, last, count = base, first, -1 if attributes & 7 else 1
            computed = crc32(data[position + 16 : position + size]) if verify else crc
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
