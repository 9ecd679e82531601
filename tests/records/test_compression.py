"""Codecs: every framing that is met in the wild, and bounds while unpacking."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cramjam
import lz4.frame
import pytest
import zstandard
from tests.records.samples import FORMATS

from kafkawire.records import (
    Buffer,
    Codec,
    CorruptRecordError,
    DecompressedSizeError,
    InvalidRecordError,
    compress,
    compression,
    decompress,
)
from kafkawire.records._framing import zstd_extent
from kafkawire.records.compression import library, unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.twin

PACKED = [codec for codec in Codec if codec is not Codec.NONE]
TEXT = b"".join(b'{"id": %d, "name": "user %d"}' % (index, index % 7) for index in range(9000))
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def xerial_block(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return struct.pack(">i", len(block)) + block


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("data", [b"", b"a", TEXT], ids=["empty", "byte", "long"])
def test_compressed_bytes_decompress_to_the_same(codec: Codec, data: bytes, magic: int) -> None:
    packed = compress(codec, memoryview(data), magic=magic)
    assert bytes(decompress(codec, memoryview(packed), magic=magic, limit=len(data))) == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_levels_are_followed(codec: Codec) -> None:
    sizes = [len(compress(codec, TEXT, level=level)) for level in (1, 9)]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(("name", "codec"), [("gzip", Codec.GZIP), (3, Codec.LZ4), (Codec.ZSTD, Codec.ZSTD)])
def test_codecs_have_names_and_numbers(name: str | int, codec: Codec) -> None:
    assert Codec.of(name) is codec


@pytest.mark.parametrize("name", ["brotli", 5, -1])
def test_unknown_codec_names_the_known(name: str | int) -> None:
    with pytest.raises(InvalidRecordError, match="none, gzip, snappy, lz4, zstd"):
        Codec.of(name)
    with pytest.raises(CorruptRecordError):
        decompress(name, b"")


def test_gzip_may_have_several_members() -> None:
    assert decompress("gzip", gzip.compress(TEXT) + gzip.compress(b"more")) == TEXT + b"more"


def test_snappy_is_written_in_xerial_blocks_of_32_kib() -> None:
    packed = compress("snappy", TEXT)
    first = cramjam.snappy.decompress_raw(packed[20 : 20 + struct.unpack(">i", packed[16:20])[0]])
    assert packed[:16] == XERIAL
    assert bytes(first) == TEXT[: 32 * 1024]


@pytest.mark.parametrize(
    "packed",
    [
        bytes(cramjam.snappy.compress_raw(b"onetwo")),
        XERIAL + xerial_block(b"onetwo"),
        XERIAL + xerial_block(b"one") + xerial_block(b"two"),
        XERIAL + xerial_block(b"one") + XERIAL + xerial_block(b"two"),
        XERIAL + xerial_block(b"one") + xerial_block(b"two") + XERIAL,
    ],
    ids=["raw", "framed", "blocks", "header repeated", "header at the end"],
)
def test_snappy_is_read_framed_and_raw(packed: bytes) -> None:
    assert bytes(decompress("snappy", packed)) == b"onetwo"


@pytest.mark.parametrize("tail", [b"\x00\x00", b"\x00\x00\x00\x7fabc", b"\xff\xff\xff\xffabc", XERIAL[:9]])
def test_snappy_blocks_that_are_cut_are_refused(tail: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="snappy"):
        decompress("snappy", XERIAL + xerial_block(b"one") + tail)


def test_lz4_is_written_as_kafka_writes_it() -> None:
    assert bytes(compress("lz4", b"x"))[:7].hex() == "04224d18604082"
    assert bytes(compress("lz4", b"x", magic=0))[:7].hex() == "04224d1860401a"


@pytest.mark.parametrize("magic", [1, 2])
def test_lz4_header_checksum_is_verified_except_in_magic_0(magic: int) -> None:
    wrong = bytes(compress("lz4", TEXT, magic=0))
    assert bytes(decompress("lz4", wrong, magic=0)) == TEXT
    assert bytes(decompress("lz4", compress("lz4", TEXT), magic=0)) == TEXT
    with pytest.raises(CorruptRecordError, match="lz4"):
        decompress("lz4", wrong, magic=magic)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
def test_lz4_frames_with_sizes_and_checksums_are_read(magic: int, size: bool, checksums: bool) -> None:
    packed = lz4.frame.compress(TEXT, store_size=size, content_checksum=checksums, block_checksum=checksums)
    assert bytes(decompress("lz4", packed, magic=magic)) == TEXT


def test_zstd_frames_without_a_size_and_several_frames_are_read() -> None:
    plain = zstandard.ZstdCompressor(level=3, write_content_size=False)
    skippable = struct.pack("<II", 0x184D2A50, 3) + b"abc"
    assert zstd_extent(plain.compress(TEXT))[0] == 1
    for packed, expected in (
        (plain.compress(TEXT), TEXT),
        (plain.compress(bytes(10_000_000)), bytes(10_000_000)),
        (plain.compress(b"one") + zstandard.compress(b"two", 3), b"onetwo"),
        (skippable + plain.compress(b"one") + skippable, b"one"),
    ):
        assert bytes(decompress("zstd", packed)) == expected


def test_zstd_does_not_exist_before_magic_2() -> None:
    with pytest.raises(InvalidRecordError, match="zstd needs magic 2"):
        compress("zstd", b"", magic=1)
    with pytest.raises(CorruptRecordError, match="magic 1"):
        decompress("zstd", zstandard.compress(b"", 3), magic=1)


@pytest.mark.parametrize("codec", PACKED)
def test_cut_data_is_refused_at_every_byte(codec: Codec) -> None:
    packed = bytes(compress(codec, TEXT[:2000]))
    for size in range(len(packed)):
        if codec is Codec.SNAPPY and size == 16:
            continue  # no blocks at all is a valid framing of nothing
        with pytest.raises(CorruptRecordError):
            decompress(codec, packed[:size], position=9)


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("size", [1, 1000, 16 * 1024, 64 * 1024, 64 * 1024 + 1, len(TEXT)])
def test_limit_is_exact(codec: Codec, size: int) -> None:
    packed = compress(codec, TEXT[:size])
    assert bytes(decompress(codec, packed, limit=size)) == TEXT[:size]
    with pytest.raises(DecompressedSizeError) as caught:
        decompress(codec, packed, limit=size - 1, position=9)
    assert caught.value.position == 9


def lz4_frame(**options: Any) -> Callable[[bytes], bytes]:
    return lambda data: bytes(lz4.frame.compress(data, **options))


def zstd_frame(**options: Any) -> Callable[[bytes], bytes]:
    return lambda data: bytes(zstandard.ZstdCompressor(level=3, **options).compress(data))


FRAMES = {
    "lz4 of Kafka's client": (Codec.LZ4, lz4_frame(block_size=4, block_linked=False, store_size=False)),
    "lz4 of librdkafka": (Codec.LZ4, lz4_frame(block_size=4, store_size=False)),
    "lz4 of kafka-python": (Codec.LZ4, lz4_frame()),
    "lz4 of aiokafka": (Codec.LZ4, lambda data: bytes(cramjam.lz4.compress(data))),
    "lz4 of large blocks": (Codec.LZ4, lz4_frame(block_size=7, content_checksum=True)),
    "zstd with its size": (Codec.ZSTD, zstd_frame()),
    "zstd of Kafka's client": (Codec.ZSTD, zstd_frame(write_content_size=False)),
    "zstd with a checksum": (Codec.ZSTD, zstd_frame(write_checksum=True)),
}
NOISE = random.Random(3).randbytes(200_000)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("size", [0, 1, 255, 256, 16 * 1024, 64 * 1024, 64 * 1024 + 1, 200_000])
@pytest.mark.parametrize("content", [TEXT, NOISE, bytes(200_000)], ids=["text", "noise", "zeros"])
def test_frames_of_every_writer_are_read(frame: str, size: int, content: bytes) -> None:
    codec, pack = FRAMES[frame]
    packed = pack(content[:size])
    assert bytes(decompress(codec, packed)) == content[:size]
    assert bytes(decompress(codec, memoryview(bytearray(packed)))) == content[:size]


@pytest.mark.parametrize("frame", FRAMES)
def test_bytes_after_a_frame_are_refused(frame: str) -> None:
    codec, pack = FRAMES[frame]
    for tail in (b"\x00", bytes(4), b"junk" * 5):
        with pytest.raises(CorruptRecordError) as caught:
            decompress(codec, pack(TEXT[:2000]) + tail, position=9)
        assert caught.value.position == 9


def outcome(work: Callable[[], Buffer]) -> bytes | int:
    """The decompressed bytes, or the position of the batch that was refused."""
    try:
        return bytes(work())
    except CorruptRecordError as error:
        return error.position


@pytest.mark.parametrize("frame", FRAMES)
def test_damage_to_any_byte_has_the_same_outcome_in_one_call_and_watched(frame: str) -> None:
    codec, pack = FRAMES[frame]
    packed = bytearray(pack(TEXT[:600]))
    for at in range(len(packed)):
        packed[at] ^= 0x55
        found = outcome(lambda: decompress(codec, packed, position=9))
        assert found == outcome(lambda: unpack(codec, packed, 2, 2**27, 9)), at
        packed[at] ^= 0x55


def test_missing_library_names_the_extra() -> None:
    packed = {codec.name: bytes(compress(codec, TEXT[:100])) for codec in (Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)}
    program = f"""if True:
        import sys
        sys.modules.update(dict.fromkeys(("cramjam", "lz4.block", "lz4.frame", "zstandard")))
        from kafkawire.records import MissingCodecError, compress, decompress
        for codec, data in {packed!r}.items():
            for work in (compress, decompress):
                try:
                    work(codec, data)
                except MissingCodecError as error:
                    print(error)
    """
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.partition(" ")[0] for line in told] == ["snappy", "snappy", "lz4", "lz4", "zstd", "zstd"]
    assert all(line.endswith("pip install 'kafkawire[codecs]'") for line in told)


def test_gzip_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    monkeypatch.setattr(compression, "gzip_library", compression.gzip_library.__wrapped__)
    packed = compress("gzip", TEXT)
    assert zlib.decompress(packed, 31) == decompress("gzip", packed) == TEXT


def test_a_library_that_another_thread_is_still_loading_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_codec.py").write_text("import time\ntime.sleep(0.3)\ndecompress = bytes\n")
    monkeypatch.syspath_prepend(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(library, "slow_codec", Codec.LZ4)
        while "slow_codec" not in sys.modules:
            time.sleep(0.001)
        assert library("slow_codec", Codec.LZ4).decompress is bytes
        assert first.result().decompress is bytes
    del sys.modules["slow_codec"]


def test_gzip_waits_for_its_library_too(tmp_path: Path) -> None:
    package = tmp_path / "isal"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "isal_zlib.py").write_text("import time\ntime.sleep(0.3)\nfrom zlib import *\n")
    program = f"""if True:
        import sys, threading, time
        sys.path.insert(0, {str(tmp_path)!r})
        from kafkawire.records import compress
        first = threading.Thread(target=compress, args=("gzip", b"x"))
        first.start()
        while "isal.isal_zlib" not in sys.modules:
            time.sleep(0.001)
        compress("gzip", b"y")
        first.join()
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


class CountingZlib:
    """zlib that adds up the bytes given to it to unpack."""

    def __init__(self) -> None:
        self.given = 0

    def decompressobj(self, wbits: int) -> CountingMember:
        return CountingMember(self, zlib.decompressobj(wbits))


class CountingMember:
    def __init__(self, zlib_used: CountingZlib, member: Any) -> None:
        self._zlib = zlib_used
        self._member = member

    def decompress(self, data: Buffer, most: int) -> bytes:
        self._zlib.given += len(data)
        unpacked: bytes = self._member.decompress(data, most)
        return unpacked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)


def test_many_members_of_gzip_cost_no_more_than_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingZlib()
    monkeypatch.setattr(compression, "gzip_library", lambda: counting)
    member = gzip.compress(b"x" * 100)
    data = member * 2000
    assert bytes(decompress("gzip", data)) == b"x" * 200_000
    assert counting.given < len(data) + 2000 * 1024 + 1
    large = gzip.compress(NOISE)
    counting.given = 0
    assert bytes(decompress("gzip", member + large + member)) == b"x" * 100 + NOISE + b"x" * 100
    assert counting.given < 3 * len(large)


def test_levels_that_a_codec_does_not_have_are_refused() -> None:
    for codec in (Codec.GZIP, Codec.ZSTD):
        with pytest.raises(InvalidRecordError, match=f"{codec.name.lower()} cannot pack at level 77"):
            compress(codec, b"x", level=77)


@pytest.mark.parametrize("codec", PACKED)
def test_buffers_of_wider_items_are_read_by_their_bytes(codec: Codec) -> None:
    sizes = range(1000, 1100)
    packed = next(data for size in sizes if len(data := bytes(compress(codec, TEXT[:size]))) % 8 == 0)
    for items in ("b", "q"):
        assert decompress(codec, memoryview(packed).cast(items)) == decompress(codec, packed)
