"""The codecs of record batches: the library for each, and the limits.

Rules:
- The size limit is enforced during decompression: output is read in steps, and the step that exceeds the limit is the
  last. Small frames that cannot exceed it take a faster path (`decompression.py`), unless they are damaged.
- gzip always works. The others need the extra `codecs`; without it, the error says so.
- snappy is written in the xerial framing (blocks of 32 KiB) and read framed or raw; lz4 is written as Kafka's own
  writer does (independent blocks of 64 KiB, no sizes, no checksums); levels are always explicit.
- Magic 0 has a wrong lz4 header checksum (KAFKA-3160): it is written so for magic 0, not checked there when read, and
  verified for magic 1 and 2.

Libraries, measured on 16 KiB and 1 MiB of JSON records (MB/s at 16 KiB unless stated otherwise):
- zstd: zstandard unpacks 1 120, with a kept context, cramjam 740, pyarrow 750 and only with a known size.
- lz4: lz4.frame unpacks 3 000 and lets other threads run, lz4.block 3 800 if a frame is one block; cramjam 2 200,
  and it packs 5 times slower.
- snappy: cramjam unpacks 2 300, pyarrow 1 200.
- gzip: isal unpacks 1 110 (1 300 at 1 MiB), zlib 730 (470), cramjam 640. isal also packs 20 times faster than zlib at
  level 6 for a tenth more bytes, so it is the default; an explicit level is zlib's.
"""

from __future__ import annotations

import threading
import zlib
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkawire.records import _framing as framing
from kafkawire.records.errors import CorruptRecordError, DecompressedSizeError, InvalidRecordError, MissingCodecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.records._kernel.kernel import Buffer

MAX_DECOMPRESSED = 128 * 1024 * 1024
"""The most bytes that a batch may decompress to, unless the reader sets another limit."""

_ROOM = 64 * 1024
_PIECE = 1024
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
    """The module of an optional codec; the error names the extra to install."""
    try:
        # not sys.modules: it has modules that another thread is still loading, without their functions
        return import_module(name)
    except ImportError as error:
        raise MissingCodecError(
            f"{codec.name.lower()} batches need the library {name} ({error}): pip install 'kafkawire[codecs]'"
        ) from error


class _LimitError(Exception):
    """Raised inside this module when the output exceeds the limit."""


def _steps(limit: int, packed: int, step: Callable[[int], tuple[bytes, bool]]) -> bytes:
    """Join the output of `step(room)` until it is done; at most the limit and one byte are requested."""
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


@cache
def gzip_library() -> Any:
    """The fastest installed module for gzip."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def _unpack_gzip(data: Buffer, limit: int, magic: int, *, one_member: bool = False) -> bytes:
    module = gzip_library()
    member = module.decompressobj(31)
    source = memoryview(data)
    given = piece = len(source)
    rest: Buffer = source

    def step(room: int) -> tuple[bytes, bool]:
        nonlocal member, given, piece, rest
        part: bytes = member.decompress(rest, room)
        rest = member.unconsumed_tail
        if member.eof:
            given -= len(member.unused_data)
            if given == len(source):
                return part, True
            if one_member:
                raise ValueError(f"{len(source) - given} bytes follow it")
            # The library copies the data after a member, so members after the first are passed in small pieces.
            member, piece, rest = module.decompressobj(31), _PIECE, b""
        if not rest:
            rest = source[given : given + piece]
            given, piece = given + len(rest), piece * 2
            if not part and not rest:
                raise EOFError("the data ends inside a gzip member")
        return part, False

    return _steps(limit, len(source), step)


def _pack_gzip(data: Buffer, level: int | None, magic: int) -> bytes:
    if level is not None:
        return zlib.compress(data, level, 31)
    module = gzip_library()
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
    lz4 = library("lz4.frame", Codec.LZ4)
    source: Buffer = framing.lz4_repaired(data) if magic == 0 else data
    context = lz4.create_decompression_context()

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
    frames, most = framing.zstd_extent(data)
    if frames == 1 and (stated := zstd.frame_content_size(data)) > min(limit, most):
        if stated > most:
            raise ValueError(f"the frame states {stated} bytes, its blocks hold at most {most}")
        raise _LimitError
    reader = zstd.ZstdDecompressor().stream_reader(data, read_across_frames=True)

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
_UNPACK: dict[Codec, Callable[[Buffer, int, int], Buffer]] = {
    Codec.GZIP: _unpack_gzip,
    Codec.SNAPPY: _unpack_snappy,
    Codec.LZ4: _unpack_lz4,
    Codec.ZSTD: _unpack_zstd,
}


def compress(codec: Codec | int | str, data: Buffer, *, level: int | None = None, magic: int = 2) -> Buffer:
    """Compress the records of a batch (magic 2) or an inner message set (magic 0 and 1).

    >>> compress("lz4", b"some records").hex()[:14]
    '04224d18604082'
    """
    chosen = Codec.of(codec)
    if chosen is Codec.NONE:
        return data
    if chosen is Codec.ZSTD and magic < 2:
        raise InvalidRecordError(f"zstd needs magic 2, found magic {magic}")
    try:
        return _PACK[chosen](data, level, magic)
    except (MissingCodecError, MemoryError):
        raise
    except Exception as error:  # each library has its own exceptions for levels that it does not have
        raise InvalidRecordError(f"{chosen.name.lower()} cannot pack at level {level}: {error}") from error


def unpack(
    codec: Codec | int | str, data: Buffer, magic: int, limit: int, position: int, *, one_member: bool = False
) -> Buffer:
    """Decompress any data of a codec within the limit; errors have the position of the batch.

    With `one_member`, gzip data after the first member is an error.
    """
    try:
        chosen = Codec.of(codec)
    except InvalidRecordError as error:
        raise CorruptRecordError(str(error), position=position) from None
    if chosen is Codec.NONE:
        return data
    if chosen is Codec.ZSTD and magic < 2:
        raise CorruptRecordError(f"zstd data in magic {magic}, which cannot hold it", position=position)
    name = chosen.name.lower()
    try:
        if one_member and chosen is Codec.GZIP:
            return _unpack_gzip(memoryview(data).cast("B"), limit, magic, one_member=True)
        return _UNPACK[chosen](memoryview(data).cast("B"), limit, magic)
    except _LimitError:
        raise DecompressedSizeError(f"its {name} data unpacks to more than {limit} bytes", position=position) from None
    except (MissingCodecError, MemoryError):
        raise
    except Exception as error:  # each library has its own exceptions for bad data
        raise CorruptRecordError(f"its {name} data cannot be unpacked: {error}", position=position) from error
