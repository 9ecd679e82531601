"""Batch headers, walking buffers, and what the format says about single bytes."""

from __future__ import annotations

import pytest
from tests.records.samples import FORMATS, rows_of_columns, rows_of_records, sample

from kafkawire.records import (
    BatchBuilder,
    Codec,
    CorruptRecordError,
    add_sequence,
    crc32c,
    parse_header,
    read_batches,
    scan_batches,
)
from kafkawire.records._checksum import plain_crc32c

pytestmark = pytest.mark.twin

HELLO_WORLD = bytes.fromhex(
    "0000000000000000 00000049 ffffffff 02 ea1c28f7 0000 00000001 0000018bcfe56800 0000018bcfe56800"
    "ffffffffffffffff ffff ffffffff 00000002"
    "16 00 00 00 01 0a 68656c6c6f 00"
    "16 00 00 02 01 0a 776f726c64 00"
)


def test_hello_world_is_85_bytes_and_these() -> None:
    builder = BatchBuilder()
    for value in (b"hello", b"world"):
        builder.append(None, value, 1_700_000_000_000)
    built = builder.build()
    assert len(built) == 85
    assert built == HELLO_WORLD


def test_batch_length_counts_from_the_leader_epoch() -> None:
    assert int.from_bytes(HELLO_WORLD[8:12], "big") == 73 == len(HELLO_WORLD) - 12


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_crc32c_of_known_strings(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def test_crc32c_without_any_library_is_the_same() -> None:
    data = bytes(range(256)) * 9
    for size in (0, 1, 63, 64, 511, 512, 513, len(data)):
        assert plain_crc32c(data[:size], 7) == crc32c(data[:size], 7)


def test_crc32c_is_the_same_in_parts_at_every_length_and_alignment() -> None:
    data = bytes(index * 7 & 0xFF for index in range(9000))
    whole = crc32c(data)
    for cut in (*range(0, 600, 13), 2047, 2048, 2304, 4095, 8999):
        assert crc32c(memoryview(data)[cut:], crc32c(data[:cut])) == whole


@pytest.mark.parametrize(
    ("sequence", "count", "expected"),
    [(0, 0, 0), (5, 3, 8), (2**31 - 1, 1, 0), (2**31 - 2, 1, 2**31 - 1), (2**31 - 1, 10, 9), (2**31 - 5, 10, 5)],
)
def test_sequences_wrap_to_0_after_the_largest(sequence: int, count: int, expected: int) -> None:
    assert add_sequence(sequence, count) == expected


def test_header_has_every_field() -> None:
    batch = sample(
        *(2, Codec.LZ4, 7),
        leader_epoch=3,
        producer_id=9,
        producer_epoch=2,
        base_sequence=2**31 - 2,
        is_transactional=True,
    )
    header = parse_header(bytes(3) + batch, 3)
    assert (header.position, header.size, header.end, header.magic) == (3, len(batch), 3 + len(batch), 2)
    assert (header.codec, header.timestamp_type, header.record_count) == (Codec.LZ4, 0, 4)
    assert (header.base_offset, header.last_offset, header.next_offset) == (7, 15, 16)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_000_123)
    assert (header.leader_epoch, header.producer_id, header.producer_epoch) == (3, 9, 2)
    assert (header.base_sequence, header.last_sequence) == (2**31 - 2, 6)
    assert (header.is_transactional, header.is_control, header.has_delete_horizon) == (True, False, False)
    assert header.delete_horizon is None


def test_header_needs_only_its_own_bytes() -> None:
    assert parse_header(HELLO_WORLD[:61]).record_count == 2
    for size in (0, 16, 60):
        with pytest.raises(CorruptRecordError, match="header needs"):
            parse_header(HELLO_WORLD[:size])


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_cut_tail_is_counted_and_no_error(magic: int, codec: Codec) -> None:
    batch = sample(magic, codec)
    sizes = [len(b.data) for b in read_batches(batch)]
    for tail in (0, 1, 11, 12, 16, 17, sizes[0] - 1):
        reader = read_batches(batch + batch[:tail])
        found = list(reader)
        assert len(found) == len(sizes)
        assert [b.partial_tail for b in found] == [0] * (len(sizes) - 1) + [tail]
        assert reader.partial_tail == tail
        scan = scan_batches(batch + batch[:tail])
        assert (scan.count, scan.end, scan.partial_tail, scan.error) == (len(sizes), len(batch), tail, None)


def test_buffer_of_a_tail_only() -> None:
    reader = read_batches(HELLO_WORLD[:50])
    assert reader.partial_tail == 50
    assert list(reader) == []


@pytest.mark.parametrize(
    ("at", "byte", "message"),
    [
        (10, 0xFF, "size|tail"),
        (8, 0xFF, "size field -"),
        (11, 13, "size field 13, expected at least 14"),
        (11, 48, "size field 48, expected at least 49"),
        (16, 3, "magic 3, expected 0, 1 or 2"),
        (84, 0x55, "stated CRC"),
    ],
)
def test_wrong_size_magic_and_crc_are_refused_at_their_position(at: int, byte: int, message: str) -> None:
    bad = bytearray(sample(2, Codec.NONE) + HELLO_WORLD)
    start = len(bad) - len(HELLO_WORLD)
    bad[start + at] = byte
    scan = scan_batches(bad)
    if scan.error is None:
        assert scan.partial_tail == len(HELLO_WORLD)
        return
    assert (scan.count, scan.end, scan.error.position) == (1, start, start)
    for read in (lambda: list(read_batches(bad)), lambda: rows_of_columns(bad)):
        with pytest.raises(CorruptRecordError, match=message) as caught:
            read()
        assert caught.value.position == start


def test_base_offset_and_leader_epoch_are_outside_the_crc() -> None:
    batch = bytearray(sample(2, Codec.GZIP))
    batch[0:8] = (5000).to_bytes(8, "big")
    batch[12:16] = (8).to_bytes(4, "big")
    assert [row[0] for row in rows_of_columns(batch)] == [5000, 5001, 5007, 5008]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_scan_and_reader_see_the_same_headers(magic: int, codec: Codec) -> None:
    data = sample(magic, codec) + sample(2, Codec.NONE, 500) + sample(magic, codec, 900)
    scan = scan_batches(data)
    batches = list(read_batches(data))
    for name in scan.__slots__[:14]:
        assert getattr(scan, name).tolist() == [getattr(batch, name) for batch in batches], name
    assert scan.next_offset == batches[-1].next_offset


def test_scan_starts_and_stops_at_the_given_positions() -> None:
    data = HELLO_WORLD * 5
    scan = scan_batches(data, start=85, verify=False, limit=2)
    assert (scan.position.tolist(), scan.end, scan.partial_tail) == ([85, 170], 255, 0)


def test_log_append_time_is_the_time_of_every_record() -> None:
    for magic, codec in FORMATS[1:]:
        rows = rows_of_columns(sample(magic, codec, append_timestamp=77))
        assert {(row[1], row[2]) for row in rows} == ({(77, 1)} if magic else {(-1, -1)})


def test_delete_horizon_is_kept_in_the_base_timestamp() -> None:
    data = sample(2, Codec.NONE, delete_horizon=1_800_000_000_000)
    header = parse_header(data)
    assert (header.has_delete_horizon, header.delete_horizon) == (True, 1_800_000_000_000)
    assert rows_of_columns(data) == rows_of_columns(sample(2, Codec.NONE))


def test_empty_batch_keeps_its_offsets_and_producer() -> None:
    builder = BatchBuilder(base_offset=10, compression="zstd", producer_id=4, producer_epoch=1, base_sequence=2**31 - 1)
    data = builder.build(last_offset=14)
    header = parse_header(data)
    assert len(data) == 61
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 14, 0)
    assert (header.codec, header.base_timestamp, header.last_sequence) == (Codec.NONE, -1, 3)
    assert rows_of_columns(data) == rows_of_records(data) == []
