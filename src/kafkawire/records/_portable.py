"""Decompression of data that every client can decompress, and of no other data.

Rules:
- A log accepts only records that librdkafka and Kafka's Java clients can read. A reader of a log is more lenient.
- gzip is one member without reserved flags, and nothing after it: zlib rejects the flags, and librdkafka reads one
  member, hangs on a cut one, and aborts on an empty one.
- snappy has its xerial header once, lz4 has no dictionary id, a zstd window has at most 128 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records import _framing as framing
from kafkawire.records._kernel.twins import decompression
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, unpack
from kafkawire.records.errors import CorruptRecordError

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer

GZIP_RESERVED = 0xE0
LZ4_DICTIONARY = 0x01
ZSTD_SINGLE_SEGMENT = 0x20
LARGEST_WINDOW = 1 << 27


def decompress_portable(codec: int, data: Buffer) -> Buffer:
    """Decompress the records of a batch; CorruptRecordError if some client cannot decompress them.

    >>> import gzip
    >>> bytes(decompress_portable(1, gzip.compress(b"some records")))
    b'some records'
    >>> decompress_portable(1, gzip.compress(b"some ") + gzip.compress(b"records"))
    Traceback (most recent call last):
    kafkawire.records.errors.CorruptRecordError: batch at byte 0: its gzip data cannot be unpacked: 27 bytes follow it
    """
    if codec == Codec.GZIP:
        if len(data) > 3 and data[3] & GZIP_RESERVED:
            raise CorruptRecordError(f"gzip flags {data[3]:#04x}, expected none of {GZIP_RESERVED:#04x}")
        return unpack(codec, data, 2, MAX_DECOMPRESSED, 0, one_member=True)
    if codec == Codec.SNAPPY:
        _check_snappy(data)
    elif codec == Codec.LZ4:
        if len(data) > 4 and data[4] & LZ4_DICTIONARY:
            raise CorruptRecordError("lz4 frame with a dictionary id, expected none")
    elif codec == Codec.ZSTD and len(data) > 5 and not data[4] & ZSTD_SINGLE_SEGMENT:
        _check_window(data[5])
    return decompression.decompress(codec, data)


def _check_snappy(data: Buffer) -> None:
    try:
        framing.snappy_blocks(data, one_header=True)
    except ValueError as error:
        raise CorruptRecordError(f"its snappy data cannot be unpacked: {error}") from None


def _check_window(stated: int) -> None:
    base = 1 << 10 + (stated >> 3)
    window = base + (base >> 3) * (stated & 7)
    if window > LARGEST_WINDOW:
        raise CorruptRecordError(f"zstd frame with a window of {window} bytes, expected at most {LARGEST_WINDOW}")
