"""Small batches that unpack to much more than is allowed are refused, and the memory for it is never taken."""

from __future__ import annotations

import struct
import subprocess
import sys
import textwrap
import tracemalloc
from typing import TYPE_CHECKING
from zlib import crc32

import cramjam
import lz4.frame
import pytest
import zstandard
from tests.records.samples import sample

from kafkawire.records import (
    Codec,
    CorruptRecordError,
    DecompressedSizeError,
    compress,
    crc32c,
    decompress,
    read_batches,
    to_arrow,
)

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 64 * 1024 * 1024
LIMIT = 1024 * 1024


def bomb(codec: Codec) -> bytes:
    """A batch of zeros: hundreds of megabytes in less than a few."""
    zeros = bytes(SIZE)
    packed = bytes(compress(codec, zeros, level=None if codec is Codec.SNAPPY else 1))
    header = bytearray(sample(2, codec)[:61])
    header[8:12] = (49 + len(packed)).to_bytes(4, "big")
    header[17:21] = crc32c(packed, crc32c(header[21:])).to_bytes(4, "big")
    return bytes(header) + packed


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_bomb_is_refused_within_its_bound(codec: Codec, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(codec))
    program = f"""
        import resource
        from kafkawire.records import DecompressedSizeError, read_batches, to_arrow, compress, decompress
        decompress({int(codec)}, compress({int(codec)}, b"warm"))
        data = open({str(path)!r}, "rb").read()
        to_arrow(b"")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for read in (
            lambda: to_arrow(data, max_decompressed={LIMIT}),
            lambda: list(next(read_batches(data)).records(max_decompressed={LIMIT})),
        ):
            try:
                read()
            except DecompressedSizeError:
                continue
            raise SystemExit("read a bomb")
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) * 1024 < 16 * LIMIT


def test_stated_sizes_are_not_believed() -> None:
    lying_zstd = bytearray(zstandard.compress(b"x" * 300, 3))
    lying_zstd[5:7] = (60000).to_bytes(2, "little")
    lying_snappy = b"\xff\xff\xff\xff\x07" + bytes(cramjam.snappy.compress_raw(b"x" * 300))[2:]
    for codec, data in ((Codec.ZSTD, bytes(lying_zstd)), (Codec.SNAPPY, lying_snappy)):
        with pytest.raises(CorruptRecordError):
            decompress(codec, data)


def zstd_frame(header: bytes, blocks: int) -> bytes:
    """A frame of runs of 128 KiB, four bytes each."""
    runs = [(128 * 1024 << 3 | 1 << 1 | (step == blocks - 1)).to_bytes(3, "little") + b"x" for step in range(blocks)]
    return b"\x28\xb5\x2f\xfd" + header + b"".join(runs)


BOMBS = {
    "lz4 with a checksum": (Codec.LZ4, lz4.frame.compress(bytes(SIZE), content_checksum=True)),
    "lz4 in large blocks": (Codec.LZ4, lz4.frame.compress(bytes(SIZE), block_size=7, store_size=False)),
    "zstd without its size": (Codec.ZSTD, zstd_frame(b"\x00\x58", 512)),
    "zstd that states less": (Codec.ZSTD, zstd_frame(b"\x80\x58" + (1000).to_bytes(4, "little"), 512)),
    "zstd in many frames": (Codec.ZSTD, zstandard.compress(bytes(LIMIT // 2), 3) * 128),
    "gzip in many members": (Codec.GZIP, bytes(compress("gzip", bytes(LIMIT // 2))) * 128),
}


@pytest.mark.twin
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_of_other_writers_are_refused_within_the_bound(name: str) -> None:
    codec, packed = BOMBS[name]
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError) as caught:
            decompress(codec, packed, limit=LIMIT, position=9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.position == 9
    assert isinstance(caught.value, DecompressedSizeError) or name == "zstd that states less"
    assert peak < 8 * LIMIT


def test_wrapper_of_a_bomb_is_refused() -> None:
    packed = bytes(compress("gzip", bytes(4 * LIMIT)))
    rest = struct.pack(">bbqii", 1, 1, 0, -1, len(packed)) + packed
    data = struct.pack(">qiI", 0, len(rest) + 4, crc32(rest)) + rest
    for read in (
        lambda: to_arrow(data, max_decompressed=LIMIT),
        lambda: list(next(read_batches(data)).records(max_decompressed=LIMIT)),
    ):
        with pytest.raises(DecompressedSizeError):
            read()
