"""Magic 0 and 1: wrappers, their offsets and timestamps, and what may not be inside them."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from tests.records.samples import rows_of_columns, rows_of_records

from kafkawire.records import BatchBuilder, Codec, CorruptRecordError, compress, parse_header, read_batches, to_arrow

pytestmark = pytest.mark.twin


def message(magic: int, offset: int, value: bytes | None, *, attributes: int = 0, timestamp: int = 5) -> bytes:
    stamp = struct.pack(">q", timestamp) if magic else b""
    field = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    rest = bytes((magic, attributes)) + stamp + struct.pack(">i", -1) + field
    return struct.pack(">qiI", offset, len(rest) + 4, crc32(rest)) + rest


def wrapper(magic: int, offset: int, *inner: bytes, attributes: int = 1, timestamp: int = 9) -> bytes:
    packed = bytes(compress("gzip", b"".join(inner)))
    return message(magic, offset, packed, attributes=attributes, timestamp=timestamp)


def offsets(data: bytes) -> list[int]:
    rows = rows_of_columns(data)
    assert rows == rows_of_records(data)
    return [row[0] for row in rows]


def test_inner_offsets_of_magic_1_are_relative_and_keep_their_gaps() -> None:
    inner = [message(1, offset, b"v") for offset in (0, 3, 10)]
    assert offsets(wrapper(1, 20, *inner)) == [10, 13, 20]


def test_inner_offsets_of_magic_0_are_absolute() -> None:
    assert offsets(wrapper(0, 12, message(0, 10, b"a"), message(0, 12, b"b"))) == [10, 12]


def test_wrapper_offset_0_of_old_librdkafka_takes_inner_offsets_as_they_are() -> None:
    assert offsets(wrapper(1, 0, message(1, 0, b"a"), message(1, 1, b"b"))) == [0, 1]


def test_wrapper_offset_below_the_last_inner_one_is_corrupt() -> None:
    data = wrapper(1, 1, message(1, 0, b"a"), message(1, 2, b"b"))
    with pytest.raises(CorruptRecordError, match="wrapper offset 1 is smaller than the last inner offset 2"):
        to_arrow(data)


def test_append_time_of_the_wrapper_counts_for_every_message_in_it() -> None:
    inner = [message(1, 0, b"a", timestamp=5), message(1, 1, b"b", timestamp=6)]
    appended = wrapper(1, 1, *inner, attributes=1 | 8, timestamp=99)
    assert [row[1:3] for row in rows_of_columns(appended)] == [(99, 1), (99, 1)]
    assert rows_of_columns(appended) == rows_of_records(appended)
    assert [row[1:3] for row in rows_of_columns(wrapper(1, 1, *inner))] == [(5, 0), (6, 0)]


@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_carries_the_last_offset_and_the_largest_timestamp(magic: int) -> None:
    builder = BatchBuilder(magic=magic, compression=Codec.SNAPPY, base_offset=40)
    for step, stamp in enumerate((7, 9, 8)):
        builder.append(b"k", b"v", stamp, offset=40 + 2 * step)
    header = parse_header(builder.build())
    assert (header.base_offset, header.last_offset, header.record_count) == (44, 44, -1)
    assert header.max_timestamp == (9 if magic else -1)
    assert offsets(builder.build()) == [40, 42, 44]


def test_uncompressed_messages_follow_each_other_without_a_wrapper() -> None:
    builder = BatchBuilder(magic=1, base_offset=3)
    for value in (b"a", b"b"):
        builder.append(None, value, 5)
    assert builder.build() == message(1, 3, b"a") + message(1, 4, b"b")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (wrapper(1, 0, wrapper(1, 0, message(1, 0, b"v"))), "compressed message inside"),
        (wrapper(1, 0), "without inner messages"),
        (message(1, 0, None, attributes=1), "null value"),
        (wrapper(1, 0, message(1, 0, b"v")[:-1]), "needed"),
        (wrapper(1, 0, message(1, 0, b"v") + bytes(11)), "needed"),
        (wrapper(1, 0, message(1, 0, b"v")[:12] + b"xxxx" + message(1, 0, b"v")[16:]), "CRC"),
        (wrapper(1, 0, BatchBuilder(base_offset=0).build(last_offset=0)), "magic 2"),
        (message(1, 0, b"zstd", attributes=4), "zstd data in magic 1"),
        (message(0, 0, b"none", attributes=7), "codec 7"),
    ],
    ids=["nested", "empty", "null", "cut", "trailing", "inner crc", "magic 2 inside", "zstd", "codec 7"],
)
def test_wrappers_with_forbidden_content_are_refused(data: bytes, words: str) -> None:
    data = message(1, 5, b"good") + data
    for read in (lambda: to_arrow(data), lambda: rows_of_records(data)):
        with pytest.raises(CorruptRecordError, match=words) as caught:
            read()
        assert caught.value.position == len(message(1, 5, b"good"))


def test_inner_crc_is_checked_only_on_demand() -> None:
    inner = message(1, 0, b"v")
    data = wrapper(1, 0, inner[:12] + b"xxxx" + inner[16:])
    assert to_arrow(data, verify=False).num_rows == 1
    assert len(list(next(read_batches(data)).records(verify=False))) == 1


def test_message_whose_fields_do_not_fill_it_is_corrupt() -> None:
    rest = b"\x00\x00" + struct.pack(">ii", -1, 1) + b"vextra"
    data = struct.pack(">qiI", 0, len(rest) + 4, crc32(rest)) + rest
    for read in (lambda: to_arrow(data), lambda: rows_of_records(data)):
        with pytest.raises(CorruptRecordError, match="its fields take"):
            read()
