"""The framing of compressed bytes inside batches, read and written without decompressing them.

Rules:
- snappy: xerial's header (8 bytes of magic, int32 version, int32 compatible version), then int32 size + raw block,
  repeated; the header may be repeated between blocks; bytes without the header are one raw block.
- A raw snappy block begins with its uncompressed size. A size that its length cannot hold is an error.
- lz4: the last byte of a frame's header is the second byte of XXH32 over the descriptor; in magic 0 the four bytes of
  frame magic are included.
- zstd: the blocks of a frame state their sizes, which gives its end and bounds its uncompressed size.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.records._kernel.kernel import Buffer

SNAPPY_BLOCK = 32 * 1024
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL + struct.pack(">ii", 1, 1)
_INT32 = struct.Struct(">i")

LZ4_BLOCK = 64 * 1024
_LZ4_HEADERS = (bytes.fromhex("04224d18604082"), bytes.fromhex("04224d184040c0"))
"""Blocks of 64 KiB, independent (Kafka's own client, and ours) or linked (librdkafka); no sizes, no checksums."""

# The longest copy (64 bytes) takes three bytes of a raw block, so no block grows more than this.
_SNAPPY_GROWTH = 22

_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_ZSTD_BLOCK = 128 * 1024


def snappy_frame(blocks: Iterable[Buffer]) -> bytes:
    """Raw blocks in xerial's framing."""
    parts: list[Buffer] = [_XERIAL_HEADER]
    for block in blocks:
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def snappy_blocks(data: Buffer, *, one_header: bool = False) -> list[memoryview]:
    """The raw blocks of snappy data, framed or not; with `one_header`, a second xerial header is an error."""
    view = memoryview(data)
    if view[:8] != _XERIAL:
        return [view]
    blocks = []
    position, end = 0, len(view)
    while position < end:
        if view[position : position + 8] == _XERIAL:
            if end - position < 16:
                raise ValueError("the data ends inside a xerial header")
            if one_header and position:
                raise ValueError(f"another xerial header at byte {position}")
            position += 16
            continue
        if end - position < 4:
            raise ValueError("the data ends inside the size of a snappy block")
        size = _INT32.unpack_from(view, position)[0]
        position += 4
        if not 0 <= size <= end - position:
            raise ValueError(f"snappy block of {size} bytes with {end - position} left")
        blocks.append(view[position : position + size])
        position += size
    return blocks


def snappy_size(block: memoryview) -> int:
    """The uncompressed size that a raw block states; ValueError if its length cannot hold it."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            if size > _SNAPPY_GROWTH * len(block):
                raise ValueError(f"snappy block of {len(block)} bytes states {size} unpacked")
            return size
        shift += 7
    raise ValueError("snappy block without its unpacked size")


def _xxh32_of_short(data: Buffer) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes."""
    mask = 0xFFFFFFFF
    value = (0x165667B1 + len(data)) & mask
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        value = (value + word * 0xC2B2AE3D) & mask
        value = ((value << 17 | value >> 15) * 0x27D4EB2F) & mask
    for byte in data[whole:]:
        value = (value + byte * 0x165667B1) & mask
        value = ((value << 11 | value >> 21) * 0x9E3779B1) & mask
    value = ((value ^ value >> 15) * 0x85EBCA77) & mask
    value = ((value ^ value >> 13) * 0xC2B2AE3D) & mask
    return value ^ value >> 16


def _lz4_checksum_at(data: Buffer) -> int:
    if len(data) < 7:
        raise ValueError("the data ends inside the lz4 frame header")
    flags = data[4]
    return 6 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)


def lz4_repaired(data: Buffer) -> bytes:
    """An lz4 frame with the correct header checksum."""
    at = _lz4_checksum_at(data)
    checksum = _xxh32_of_short(data[4:at]) >> 8 & 0xFF
    return b"".join((data[:at], bytes((checksum,)), data[at + 1 :]))


def lz4_misstated(frame: bytes) -> bytes:
    """An lz4 frame with the header checksum that magic 0 expects."""
    at = _lz4_checksum_at(frame)
    checksum = _xxh32_of_short(frame[:at]) >> 8 & 0xFF
    return b"".join((frame[:at], bytes((checksum,)), frame[at + 1 :]))


def lz4_block(data: Buffer) -> memoryview | None:
    """The compressed block of a frame that has exactly one; None for any other data."""
    size = len(data) - 15
    if size <= 0 or data[:7] not in _LZ4_HEADERS or int.from_bytes(data[7:11], "little") != size or any(data[-4:]):
        return None
    return memoryview(data)[11:-4]


def zstd_extent(data: Buffer) -> tuple[int, int]:
    """The number of frames, and the most bytes that their blocks can decompress to; cut data is an error."""
    view = memoryview(data)
    frames = most = position = 0
    end = len(view)
    try:
        while position < end:
            magic = int.from_bytes(view[position : position + 4], "little")
            frames += 1
            if magic in _ZSTD_SKIPPABLE:
                position += 8 + int.from_bytes(view[position + 4 : position + 8], "little")
                frames += 1
                continue
            if magic != _ZSTD_MAGIC:
                raise ValueError(f"{magic:#010x} at byte {position} is not the start of a zstd frame")
            flags = view[position + 4]
            single = flags >> 5 & 1
            content = (single, 2, 4, 8)[flags >> 6]
            position += 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + content
            last = 0
            while not last:
                header = view[position] | view[position + 1] << 8 | view[position + 2] << 16
                last, kind, size = header & 1, header >> 1 & 3, header >> 3
                position += 3 + (1 if kind == 1 else size)
                most += _ZSTD_BLOCK if kind == 2 else size
            position += 4 if flags & 4 else 0
    except IndexError:
        position = end + 1
    if position > end or not frames:
        raise ValueError("the data ends inside a zstd frame")
    return frames, most
