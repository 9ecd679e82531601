"""Decompression of a batch, in Python: the reference of `_decompression.pyx`, and its replacement if not compiled.

Rules:
- A frame that cannot exceed the limit is decompressed by one call of the library. An lz4 block gives at most 64 KiB,
  and a byte of lz4 at most 255. A zstd frame is bounded by its blocks, and by the size that it states if that is less.
- Most small batches are one lz4 block. It is decompressed without the frame around it, which costs a fifth.
- All other data, and data that a library rejects, takes the checked path of `compression.py`, which words the error.
- A zstd context serves one call at a time and is kept for the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.records._framing import LZ4_BLOCK, lz4_block, zstd_extent
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, library, unpack

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer

_LZ4_GROWTH = 255
_ZSTD_GROWTH, _ZSTD_ROOM = 32, 128 * 1024  # times the input, and a block: the most at once
_contexts: list[Any] = []


def decompress(
    codec: Codec | int | str, data: Buffer, *, magic: int = 2, limit: int = MAX_DECOMPRESSED, position: int = 0
) -> Buffer:
    """Decompress the output of `compress`, at most `limit` bytes; `position` is that of the batch, for errors.

    >>> from kafkawire.records import compress, decompress
    >>> bytes(decompress("gzip", compress("gzip", b"some records")))
    b'some records'
    >>> decompress("gzip", compress("gzip", bytes(100)), limit=99)
    Traceback (most recent call last):
    kafkawire.records.errors.DecompressedSizeError: batch at byte 0: its gzip data unpacks to more than 99 bytes
    """
    data = memoryview(data).cast("B")
    whole = None
    if codec == Codec.LZ4 and magic > 0:
        whole = _whole_lz4(data, limit)
    elif codec == Codec.ZSTD and magic == 2:
        whole = _whole_zstd(data, limit)
    return unpack(codec, data, magic, limit, position) if whole is None else whole


def _whole_lz4(data: Buffer, limit: int) -> bytes | None:
    block = lz4_block(data) if limit >= LZ4_BLOCK else None
    whole: bytes
    try:
        if block is not None:
            whole = library("lz4.block", Codec.LZ4).decompress(block, LZ4_BLOCK)
            return whole
        if len(data) * _LZ4_GROWTH <= limit:
            whole, read = library("lz4.frame", Codec.LZ4).decompress(data, False, True)
            return whole if read == len(data) else None
    except Exception:
        return None
    return None


def _whole_zstd(data: Buffer, limit: int) -> bytes | None:
    most = min(limit, len(data) * _ZSTD_GROWTH + _ZSTD_ROOM)
    try:
        zstd = library("zstandard", Codec.ZSTD)
        room = zstd.frame_content_size(data)
        if room < 0:
            frames, room = zstd_extent(data)
            if frames != 1:
                return None
        if not 0 < room <= most:
            return None
        unpack_frame = _contexts.pop() if _contexts else zstd.ZstdDecompressor().decompress
        whole: bytes = unpack_frame(data, room, allow_extra_data=False)
    except Exception:
        return None
    _contexts.append(unpack_frame)
    return whole
