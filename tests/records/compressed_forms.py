"""Compressed records in every form that a codec's format allows, usual and odd."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import partial
from typing import TYPE_CHECKING

import cramjam
import lz4.block
import lz4.frame
import zstandard

from kafkawire.records import BatchBuilder, crc32c
from kafkawire.records._framing import _xxh32_of_short

if TYPE_CHECKING:
    from collections.abc import Callable

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
HEADER = 61
VALUES = [b"value %d " % number * 40 for number in range(200)]


def plain(values: list[bytes]) -> bytes:
    """A batch that is not compressed."""
    builder = BatchBuilder()
    for value in values:
        builder.append(None, value, timestamp=1_700_000_000_000)
    return builder.build()


def packed_batch(codec: int, payload: bytes, values: list[bytes] = VALUES) -> bytes:
    """A batch of these values whose records are the payload, whatever that is."""
    data = bytearray(plain(values)[:HEADER]) + payload
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[21:23] = codec.to_bytes(2, "big")
    data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return bytes(data)


def gzip_member(
    raw: bytes, *, method: int = 8, flags: int = 0, extra: bytes = b"", crc: int = 0, size: int = 0
) -> bytes:
    """One member, with fields that differ from the right ones by `crc` and `size`."""
    deflated = zlib.compress(raw, 6)[2:-4]
    head = struct.pack("<BBBBIBB", 0x1F, 0x8B, method, flags, 0, 0, 255) + extra
    return head + deflated + struct.pack("<II", zlib.crc32(raw) ^ crc, (len(raw) + size) & 0xFFFFFFFF)


def gzip_header_crc(raw: bytes, wrong: int = 0) -> bytes:
    head = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, 2, 0, 0, 255)
    return gzip_member(raw, flags=2, extra=struct.pack("<H", zlib.crc32(head) & 0xFFFF ^ wrong))


def xerial(raw: bytes, *, version: int = 1, compatible: int = 1, block: int = 32768, again: bool = False) -> bytes:
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", version, compatible)
    out = head
    for start in range(0, len(raw), block):
        piece = bytes(cramjam.snappy.compress_raw(raw[start : start + block]))
        out += (head if again and start else b"") + struct.pack(">i", len(piece)) + piece
    return out


def snappy_frame_format(raw: bytes) -> bytes:
    return bytes(cramjam.snappy.compress(raw))


def lz4_frame(raw: bytes, **options: object) -> bytes:
    return bytes(lz4.frame.compress(raw, **{"block_linked": False, "store_size": False, **options}))


def lz4_flags(raw: bytes, *, set_: int = 0, clear: int = 0, block: int | None = None, more: bytes = b"") -> bytes:
    """A frame with other flags, and the header checksum that is due then."""
    frame = bytearray(lz4_frame(raw))
    frame[4] = frame[4] & ~clear | set_
    if block is not None:
        frame[5] = block
    head = bytes(frame[4:6]) + more
    return bytes(frame[:4]) + head + bytes([_xxh32_of_short(head) >> 8 & 0xFF]) + bytes(frame[7:])


def lz4_legacy(raw: bytes) -> bytes:
    block = bytes(lz4.block.compress(raw, store_size=False))
    return struct.pack("<II", 0x184C2102, len(block)) + block


def lz4_wrong_header_checksum(raw: bytes) -> bytes:
    frame = bytearray(lz4_frame(raw))
    frame[6] ^= 1
    return bytes(frame)


def lz4_wrong(raw: bytes, at: int, **options: object) -> bytes:
    frame = bytearray(lz4_frame(raw, **options))
    frame[at] ^= 1
    return bytes(frame)


def zstd_frame(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(raw)


def zstd_streamed(raw: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(raw) + packer.flush()


def zstd_dictionary(raw: bytes) -> bytes:
    dictionary = zstandard.ZstdCompressionDict(b"value 1 value 2 " * 100, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdCompressor(dict_data=dictionary).compress(raw)


def zstd_dictionary_id(raw: bytes) -> bytes:
    """A frame that names a dictionary which it does not use."""
    frame = zstandard.ZstdCompressor(write_content_size=True).compress(raw)
    flags = frame[4]
    single = flags >> 5 & 1
    at = 5 + (1 - single)
    return frame[:4] + bytes([flags | 1]) + frame[5:at] + b"\x07" + frame[at:]


def zstd_checksum(raw: bytes, wrong: int = 0) -> bytes:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(raw))
    frame[-1] ^= wrong
    return bytes(frame)


def zstd_window(raw: bytes, log: int) -> bytes:
    """A frame whose header asks for a window of 2 ** log bytes, whatever its blocks need."""
    frame = zstd_streamed(raw)
    assert not frame[4] & 0x20
    return frame[:5] + bytes([(log - 10) << 3]) + frame[6:]


def zstd_window_and_size(raw: bytes, log: int) -> bytes:
    """Such a frame that states its size too."""
    frame = zstd_window(raw, log)
    return frame[:4] + bytes([frame[4] | 0x80]) + frame[5:6] + len(raw).to_bytes(4, "little") + frame[6:]


SKIPPABLE = struct.pack("<II", 0x184D2A50, 4) + b"skip"

Form = tuple[int, "Callable[[bytes], bytes]"]


def halves(raw: bytes, pack: Callable[[bytes], bytes]) -> bytes:
    return pack(raw[: len(raw) // 2]) + pack(raw[len(raw) // 2 :])


FORMS: dict[str, Form] = {
    "gzip": (GZIP, gzip_member),
    "gzip with a name": (GZIP, partial(gzip_member, flags=8, extra=b"name\0")),
    "gzip with a comment": (GZIP, partial(gzip_member, flags=16, extra=b"said\0")),
    "gzip with an extra field": (GZIP, partial(gzip_member, flags=4, extra=b"\4\0abcd")),
    "gzip marked as text": (GZIP, partial(gzip_member, flags=1)),
    "gzip with a header crc": (GZIP, gzip_header_crc),
    "gzip with a wrong header crc": (GZIP, partial(gzip_header_crc, wrong=1)),
    "gzip with reserved flag 0x20": (GZIP, partial(gzip_member, flags=0x20)),
    "gzip with reserved flag 0x40": (GZIP, partial(gzip_member, flags=0x40)),
    "gzip with reserved flag 0x80": (GZIP, partial(gzip_member, flags=0x80)),
    "gzip of another method": (GZIP, partial(gzip_member, method=7)),
    "gzip with a wrong crc": (GZIP, partial(gzip_member, crc=1)),
    "gzip with a wrong size": (GZIP, partial(gzip_member, size=1)),
    "gzip without its trailer": (GZIP, lambda raw: gzip_member(raw)[:-8]),
    "gzip without half its trailer": (GZIP, lambda raw: gzip_member(raw)[:-4]),
    "gzip of two members": (GZIP, partial(halves, pack=gzip_member)),
    "gzip after an empty member": (GZIP, lambda raw: gzip_member(b"") + gzip_member(raw)),
    "gzip before an empty member": (GZIP, lambda raw: gzip_member(raw) + gzip_member(b"")),
    "gzip with zeros behind it": (GZIP, lambda raw: gzip_member(raw) + bytes(20)),
    "gzip with bytes behind it": (GZIP, lambda raw: gzip_member(raw) + b"garbage"),
    "gzip with a reserved flag in the second member": (
        GZIP,
        lambda raw: gzip_member(raw[:100]) + gzip_member(raw[100:], flags=0x20),
    ),
    "zlib": (GZIP, zlib.compress),
    "deflate": (GZIP, lambda raw: zlib.compress(raw)[2:-4]),
    "gzip of python": (GZIP, gzip.compress),
    "snappy": (SNAPPY, xerial),
    "snappy raw": (SNAPPY, lambda raw: bytes(cramjam.snappy.compress_raw(raw))),
    "snappy of version 2": (SNAPPY, partial(xerial, version=2)),
    "snappy compatible with 2": (SNAPPY, partial(xerial, version=2, compatible=2)),
    "snappy of version 0": (SNAPPY, partial(xerial, version=0, compatible=0)),
    "snappy of a negative version": (SNAPPY, partial(xerial, version=-1, compatible=-1)),
    "snappy in large blocks": (SNAPPY, partial(xerial, block=1 << 20)),
    "snappy in tiny blocks": (SNAPPY, partial(xerial, block=7)),
    "snappy with its header again": (SNAPPY, partial(xerial, again=True, block=1000)),
    "snappy with an empty block": (SNAPPY, lambda raw: xerial(raw) + b"\0\0\0\1\0"),
    "snappy with a block of no bytes": (SNAPPY, lambda raw: xerial(raw) + bytes(4)),
    "snappy with a cut block": (SNAPPY, lambda raw: xerial(raw) + b"\0\0\0\5ab"),
    "snappy with bytes behind it": (SNAPPY, lambda raw: xerial(raw) + b"xy"),
    "snappy raw with bytes behind it": (SNAPPY, lambda raw: bytes(cramjam.snappy.compress_raw(raw)) + b"xy"),
    "snappy of google's framing": (SNAPPY, snappy_frame_format),
    "lz4": (LZ4, lz4_frame),
    "lz4 with blocks of 4 MiB": (LZ4, partial(lz4_frame, block_size=lz4.frame.BLOCKSIZE_MAX4MB)),
    "lz4 with block checksums": (LZ4, partial(lz4_frame, block_checksum=True)),
    "lz4 with a wrong block checksum": (LZ4, partial(lz4_wrong, at=-5, block_checksum=True)),
    "lz4 with a content checksum": (LZ4, partial(lz4_frame, content_checksum=True)),
    "lz4 with a wrong content checksum": (LZ4, partial(lz4_wrong, at=-1, content_checksum=True)),
    "lz4 with its size": (LZ4, partial(lz4_frame, store_size=True)),
    "lz4 with linked blocks": (LZ4, partial(lz4_frame, block_linked=True)),
    "lz4 with a dictionary id": (LZ4, partial(lz4_flags, set_=1, more=b"\1\0\0\0")),
    "lz4 with a reserved flag": (LZ4, partial(lz4_flags, set_=2)),
    "lz4 of version 0": (LZ4, partial(lz4_flags, clear=0xC0)),
    "lz4 of version 2": (LZ4, partial(lz4_flags, set_=0x80, clear=0x40)),
    "lz4 with a reserved block size": (LZ4, partial(lz4_flags, block=0x30)),
    "lz4 with a reserved block bit": (LZ4, partial(lz4_flags, block=0x41)),
    "lz4 with a wrong header checksum": (LZ4, lz4_wrong_header_checksum),
    "lz4 legacy": (LZ4, lz4_legacy),
    "lz4 of two frames": (LZ4, partial(halves, pack=lz4_frame)),
    "lz4 after a skippable frame": (LZ4, lambda raw: SKIPPABLE + lz4_frame(raw)),
    "lz4 before a skippable frame": (LZ4, lambda raw: lz4_frame(raw) + SKIPPABLE),
    "lz4 before an empty frame": (LZ4, lambda raw: lz4_frame(raw) + lz4_frame(b"")),
    "lz4 with bytes behind it": (LZ4, lambda raw: lz4_frame(raw) + b"xy"),
    "lz4 without its end": (LZ4, lambda raw: lz4_frame(raw)[:-4]),
    "zstd": (ZSTD, zstd_frame),
    "zstd without its size": (ZSTD, zstd_streamed),
    "zstd with a checksum": (ZSTD, zstd_checksum),
    "zstd with a wrong checksum": (ZSTD, partial(zstd_checksum, wrong=1)),
    "zstd with a window of 2^27": (ZSTD, partial(zstd_window, log=27)),
    "zstd with a window of 2^28": (ZSTD, partial(zstd_window, log=28)),
    "zstd with a window of 2^31": (ZSTD, partial(zstd_window, log=31)),
    "zstd with a window of 2^41": (ZSTD, partial(zstd_window, log=41)),
    "zstd with its size and a window of 2^27": (ZSTD, partial(zstd_window_and_size, log=27)),
    "zstd with its size and a window of 2^28": (ZSTD, partial(zstd_window_and_size, log=28)),
    "zstd with a dictionary": (ZSTD, zstd_dictionary),
    "zstd with a dictionary id": (ZSTD, zstd_dictionary_id),
    "zstd of two frames": (ZSTD, partial(halves, pack=zstd_frame)),
    "zstd of two frames without their sizes": (ZSTD, partial(halves, pack=zstd_streamed)),
    "zstd after a skippable frame": (ZSTD, lambda raw: SKIPPABLE + zstd_frame(raw)),
    "zstd before a skippable frame": (ZSTD, lambda raw: zstd_frame(raw) + SKIPPABLE),
    "zstd before an empty frame": (ZSTD, lambda raw: zstd_frame(raw) + zstd_frame(b"")),
    "zstd with bytes behind it": (ZSTD, lambda raw: zstd_frame(raw) + b"xy"),
    "zstd without its end": (ZSTD, lambda raw: zstd_frame(raw)[:-2]),
}

ACCEPTED = {
    "gzip",
    "gzip with a name",
    "gzip with a comment",
    "gzip with an extra field",
    "gzip marked as text",
    "gzip with a header crc",
    "gzip of python",
    "snappy",
    "snappy raw",
    "snappy of version 2",
    "snappy compatible with 2",
    "snappy of version 0",
    "snappy of a negative version",
    "snappy in large blocks",
    "snappy in tiny blocks",
    "snappy with an empty block",
    "lz4",
    "lz4 with blocks of 4 MiB",
    "lz4 with block checksums",
    "lz4 with a content checksum",
    "lz4 with its size",
    "zstd",
    "zstd without its size",
    "zstd with a checksum",
    "zstd with a window of 2^27",
    "zstd with its size and a window of 2^27",
    "zstd of two frames",
    "zstd of two frames without their sizes",
    "zstd after a skippable frame",
    "zstd before a skippable frame",
    "zstd before an empty frame",
}
"""The forms that both librdkafka and Kafka's Java classes read.

Java reads gzip of several members too, and both read gzip with bytes behind it. No producer writes either.
"""
