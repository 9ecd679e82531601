"""The codecs of record batches: which library does each, and within which bounds.

Rules:
- The size limit is enforced while unpacking: output is asked for in steps, and the step that passes the limit is
  the last.
- gzip always works. The others need the extra `codecs`; without it they fail with a message that says so.
- snappy is written in the xerial framing (blocks of 32 KiB) and read framed or raw; lz4 is written as Kafka's own
  writer does it (independent blocks of 64 KiB, no sizes, no checksums); levels are always explicit.
- Magic 0 has a wrong lz4 header checksum (KAFKA-3160): written so for magic 0, not looked at there when read, and
  verified for magic 1 and 2.

Libraries, by measurement on 16 KiB and 1 MiB of JSON records (MB/s at 16 KiB unless said otherwise):
- zstd: zstandard unpacks 1 120, with a kept context, cramjam 740, pyarrow 750 and only with a known size.
- lz4: lz4.frame unpacks 3 000 and lets other threads run; cramjam 2 200, and it packs 5 times slower.
- snappy: cramjam unpacks 2 300, pyarrow 1 200.
- gzip: isal unpacks 1 110 (1 300 at 1 MiB), zlib 730 (470), cramjam 640. isal also packs 20 times faster than zlib at
  level 6 for a tenth more bytes, so it is the default; a level that is asked for is zlib's.
"""

from __future__ import annotations

import sys
import threading
import zlib
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkawire.records import framing
from kafkawire.records.errors import CorruptRecordError, DecompressedSizeError, InvalidRecordError, MissingCodecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.records.kernel import Buffer

MAX_DECOMPRESSED = 128 * 1024 * 1024
"""The most bytes a batch may unpack to, unless the reader says otherwise."""

_ROOM = 64 * 1024
_LZ4_MOST = 255  # times: what a byte of lz4 can unpack to, so that small input needs no watching
_local = threading.local()


class Codec(IntEnum):
    """The codec bits of a batch's attributes.

    >>> Codec.of("zstd")
    <Codec.ZSTD: 4>
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def of(cls, codec: Codec | int | str) -> Codec:
        """A codec by number, or by name as Kafka's configurations write it."""
        try:
            return cls[codec.upper()] if isinstance(codec, str) else cls(codec)
        except (KeyError, ValueError):
            names = ", ".join(member.name.lower() for member in cls)
            raise InvalidRecordError(f"codec {codec!r}, expected one of {names}") from None


def library(name: str, codec: Codec) -> Any:
    """The module that serves an optional codec, or an error that names the extra to install."""
    try:
        return sys.modules.get(name) or import_module(name)
    except ImportError as error:
        raise MissingCodecError(
            f"{codec.name.lower()} batches need the library {name} ({error}): pip install 'kafkawire[codecs]'"
        ) from error


class _LimitError(Exception):
    """Raised inside this module when the output passes the limit."""


def _steps(limit: int, packed: int, step: Callable[[int], tuple[bytes, bool]]) -> bytes:
    """Join the output of `step(room)` until it says that it is done; never ask for more than the limit and one byte."""
    room = packed * 8 + _ROOM
    done, total = False, 0
    parts: list[bytes] = []
    while not done:
        part, done = step(min(room, limit - total + 1))
        total += len(part)
        if total > limit:
            raise _LimitError
        parts.append(part)
        room = max(room, total)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _gzip_module() -> Any:
    try:
        return sys.modules.get("isal.isal_zlib") or import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def _unpack_gzip(data: Buffer, limit: int, magic: int) -> bytes:
    module = _gzip_module()
    member = module.decompressobj(31)
    source: Buffer = data

    def step(room: int) -> tuple[bytes, bool]:
        nonlocal member, source
        part: bytes = member.decompress(source, room)
        if not member.eof:
            source = member.unconsumed_tail
            if not part and not source:
                raise EOFError("the data ends inside a gzip member")
            return part, False
        source = member.unused_data
        if source:
            member = module.decompressobj(31)
        return part, not source

    return _steps(limit, len(data), step)


def _pack_gzip(data: Buffer, level: int | None, magic: int) -> bytes:
    if level is not None:
        return zlib.compress(data, level, 31)
    module = _gzip_module()
    packed: bytes = module.compress(data, 6 if module is zlib else 1, 31)
    return packed


def _unpack_snappy(data: Buffer, limit: int, magic: int) -> Buffer:
    snappy = library("cramjam", Codec.SNAPPY).snappy
    blocks = framing.snappy_blocks(data)
    if sum(framing.snappy_size(block) for block in blocks) > limit:
        raise _LimitError
    parts: list[Buffer] = [snappy.decompress_raw(block) for block in blocks]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _pack_snappy(data: Buffer, level: int | None, magic: int) -> bytes:
    snappy = library("cramjam", Codec.SNAPPY).snappy
    view = memoryview(data)
    return framing.snappy_frame(
        snappy.compress_raw(view[start : start + framing.SNAPPY_BLOCK])
        for start in range(0, len(view), framing.SNAPPY_BLOCK)
    )


def _unpack_lz4(data: Buffer, limit: int, magic: int) -> bytes:
    lz4 = sys.modules.get("lz4.frame") or library("lz4.frame", Codec.LZ4)
    if magic and len(data) * _LZ4_MOST <= limit:
        whole: bytes
        whole, read = lz4.decompress(data, False, True)
        if read != len(data):
            raise ValueError(f"{len(data) - read} bytes follow the lz4 frame")
        return whole
    # A context serves one thread at a time; making one costs as much as unpacking a small batch.
    context = getattr(_local, "unpack_lz4", None)
    if context is None:
        context = _local.unpack_lz4 = lz4.create_decompression_context()
    source: Buffer = framing.lz4_repaired(data) if magic == 0 else data
    try:
        return _unpack_lz4_frame(lz4, context, source, limit)
    except BaseException:
        lz4.reset_decompression_context(context)
        raise


def _unpack_lz4_frame(lz4: Any, context: Any, source: Buffer, limit: int) -> bytes:
    part: bytes
    part, read, done = lz4.decompress_chunk(context, source, max_length=min(limit + 1, len(source) * 8 + _ROOM))
    if done and read == len(source) and len(part) <= limit:
        return part
    lz4.reset_decompression_context(context)

    def step(room: int) -> tuple[bytes, bool]:
        nonlocal source
        part, read, done = lz4.decompress_chunk(context, source, max_length=room)
        source = memoryview(source)[read:]
        if done and source:
            raise ValueError(f"{len(source)} bytes follow the lz4 frame")
        if not done and not part and not source:
            raise EOFError("the data ends inside the lz4 frame")
        return part, done

    return _steps(limit, len(source), step)


def _pack_lz4(data: Buffer, level: int | None, magic: int) -> bytes:
    lz4 = library("lz4.frame", Codec.LZ4)
    packed: bytes = lz4.compress(
        data,
        compression_level=0 if level is None else level,
        block_size=lz4.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return framing.lz4_misstated(packed) if magic == 0 else packed


def _unpack_zstd(data: Buffer, limit: int, magic: int) -> bytes:
    zstd = library("zstandard", Codec.ZSTD)
    # A context serves one thread at a time, and takes half as long to make as a small batch takes to unpack.
    context = getattr(_local, "unpack_zstd", None)
    if context is None:
        context = _local.unpack_zstd = zstd.ZstdDecompressor()
    usual = min(limit, len(data) * 8 + _ROOM)
    whole: bytes
    if 0 <= zstd.frame_content_size(data) <= usual:
        try:
            whole = context.decompress(data, allow_extra_data=False)
            return whole
        except zstd.ZstdError:
            pass  # several frames, or a broken one: the slower way tells
    frames, most = framing.zstd_extent(data)
    if frames == 1:
        if zstd.frame_content_size(data) > limit:
            raise _LimitError
        if most <= usual:
            whole = context.decompress(data, max_output_size=most)
            return whole
    reader = context.stream_reader(data, read_across_frames=True)

    def step(room: int) -> tuple[bytes, bool]:
        part: bytes = reader.read(room)
        return part, not part

    return _steps(limit, len(data), step)


def _pack_zstd(data: Buffer, level: int | None, magic: int) -> bytes:
    zstd = library("zstandard", Codec.ZSTD)
    contexts: dict[int, Any] = _local.__dict__.setdefault("pack_zstd", {})
    number = 3 if level is None else level
    if number not in contexts:
        contexts[number] = zstd.ZstdCompressor(level=number)
    packed: bytes = contexts[number].compress(data)
    return packed


_PACK: dict[Codec, Callable[[Buffer, int | None, int], bytes]] = {
    Codec.GZIP: _pack_gzip,
    Codec.SNAPPY: _pack_snappy,
    Codec.LZ4: _pack_lz4,
    Codec.ZSTD: _pack_zstd,
}
_UNPACK: dict[Codec | int | str, Callable[[Buffer, int, int], Buffer]] = {
    Codec.GZIP: _unpack_gzip,
    Codec.SNAPPY: _unpack_snappy,
    Codec.LZ4: _unpack_lz4,
    Codec.ZSTD: _unpack_zstd,
}


def compress(codec: Codec | int | str, data: Buffer, *, level: int | None = None, magic: int = 2) -> Buffer:
    """Pack the records of a batch (magic 2) or an inner message set (magic 0 and 1).

    >>> bytes(decompress("gzip", compress("gzip", b"some records")))
    b'some records'
    """
    chosen = Codec.of(codec)
    if chosen is Codec.NONE:
        return data
    if chosen is Codec.ZSTD and magic < 2:
        raise InvalidRecordError(f"zstd needs magic 2, asked for with magic {magic}")
    return _PACK[chosen](data, level, magic)


def decompress(
    codec: Codec | int | str, data: Buffer, *, magic: int = 2, limit: int = MAX_DECOMPRESSED, position: int = 0
) -> Buffer:
    """Unpack what `compress` packs, holding no more than `limit` bytes; `position` is that of the batch, for errors.

    >>> decompress("gzip", compress("gzip", bytes(100)), limit=99)
    Traceback (most recent call last):
    kafkawire.records.errors.DecompressedSizeError: batch at byte 0: its gzip data unpacks to more than 99 bytes
    """
    unpack = _UNPACK.get(codec)  # a codec's number is found as the codec is
    if unpack is None:
        try:
            chosen = Codec.of(codec)
        except InvalidRecordError as error:
            raise CorruptRecordError(str(error), position=position) from None
        if chosen is Codec.NONE:
            return data
        unpack = _UNPACK[chosen]
    if magic < 2 and unpack is _unpack_zstd:
        raise CorruptRecordError(f"zstd data in magic {magic}, which cannot hold it", position=position)
    try:
        return unpack(data, limit, magic)
    except _LimitError:
        name = Codec.of(codec).name.lower()
        raise DecompressedSizeError(f"its {name} data unpacks to more than {limit} bytes", position=position) from None
    except (MissingCodecError, MemoryError):
        raise
    except Exception as error:  # each library has its own exceptions for bad data
        name = Codec.of(codec).name.lower()
        raise CorruptRecordError(f"its {name} data cannot be unpacked: {error}", position=position) from error
