"""Damaged batches: cut or changed at every byte, they are refused or read as something, and never past their end.

The buffers end right before a page that may not be touched: one byte too many read is a crash of the test run.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.hostile.guarded_memory import GuardedMemory
from tests.records.samples import FORMATS, rows_of_columns, rows_of_records, sample

from kafkawire.records import (
    Codec,
    CorruptRecordError,
    batches_to_arrow,
    compress,
    crc32c,
    decompress,
    read_batches,
    scan_batches,
    to_arrow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.records.samples import Row

pytestmark = pytest.mark.twin


class Fence(GuardedMemory):
    """Guarded memory that is filled again and again."""

    def holding(self, data: bytes) -> memoryview:
        with self.ending_with(data) as view:
            return memoryview(view.obj)[self.size - len(data) : self.size]


@pytest.fixture(scope="module")
def fence() -> Fence:
    return Fence(2 * 4096)


def outcome(read: Callable[..., list[Row]], data: memoryview, *, verify: bool) -> list[Row] | None:
    """The rows, or None for a refusal; any other exception fails the test."""
    try:
        return read(data, verify=verify)
    except CorruptRecordError:
        return None


def recomputed(data: bytes) -> bytes:
    """A magic 2 batch with the CRC of what it has become, so that only its structure can be wrong."""
    if len(data) < 61 or data[16] != 2:
        return data
    return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_cut_at_every_byte_is_a_tail(magic: int, codec: Codec, fence: Fence) -> None:
    data = sample(magic, codec)
    starts = [batch.position for batch in read_batches(data)]
    for size in range(len(data)):
        held = fence.holding(data[:size])
        whole = sum(batch.end <= size for batch in read_batches(data))
        scan = scan_batches(held)
        assert (scan.count, scan.error) == (whole, None)
        assert scan.partial_tail == size - (starts[whole] if whole < len(starts) else len(data))
        assert rows_of_columns(held) == rows_of_records(held)
        assert batches_to_arrow(held).num_rows == whole


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_every_changed_byte_is_noticed_or_harmless(magic: int, codec: Codec, fence: Fence) -> None:
    data = sample(magic, codec)
    good = [row[3:] for row in rows_of_columns(data)]
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 0xFF
        held = fence.holding(bytes(bad))
        rows = outcome(rows_of_columns, held, verify=True)
        assert rows == outcome(rows_of_records, held, verify=True)
        if rows is not None:
            # An offset or leader epoch, which no CRC covers, or a size that makes the rest a tail.
            assert [row[3:] for row in rows] == good[: len(rows)]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("value", [0x00, 0x7F, 0x80, 0xFF])
def test_both_readers_agree_on_every_changed_byte_without_a_crc(
    magic: int, codec: Codec, value: int, fence: Fence
) -> None:
    data = sample(magic, codec)
    for at in range(8, len(data)):
        bad = bytearray(data)
        bad[at] = value
        held = fence.holding(recomputed(bytes(bad)))
        assert outcome(rows_of_columns, held, verify=False) == outcome(rows_of_records, held, verify=False)


def noise(seed: int, count: int) -> Iterator[bytes]:
    """Valid headers over random records, and plain noise."""
    dice = random.Random(seed)
    header = sample(2, Codec.NONE)[:57]
    for _ in range(count):
        body = bytes(dice.choice((0, 1, 2, 6, 12, 0x80, 0xFF, dice.randrange(256))) for _ in range(dice.randrange(120)))
        batch = bytearray(header + dice.choice((1, 1, 2, 9, 2**31 - 1)).to_bytes(4, "big") + body)
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        yield bytes(batch)
        yield body


def test_random_records_are_read_alike_and_within_bounds(fence: Fence) -> None:
    for data in noise(7, 4000):
        held = fence.holding(data)
        assert outcome(rows_of_columns, held, verify=False) == outcome(rows_of_records, held, verify=False)


def batch_of(records: bytes, count: int = 1) -> bytes:
    batch = bytearray(sample(2, Codec.NONE)[:57] + count.to_bytes(4, "big", signed=True) + records)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    return recomputed(bytes(batch))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_packed_data_is_never_read_past_its_end(codec: Codec, fence: Fence) -> None:
    packed = bytes(compress(codec, b"some records, " * 20))
    random_bytes = random.Random(5)
    for size in range(1, len(packed) + 1):
        for data in (packed[:size], packed[: size // 2] + random_bytes.randbytes(size - size // 2)):
            try:
                decompress(codec, fence.holding(data))
            except CorruptRecordError:
                continue


@pytest.mark.parametrize(
    ("records", "count", "words"),
    [
        (b"", 1, "record count 1, but the bytes hold at most 0"),
        (bytes(70), 2**31 - 1, "record count 2147483647, but the bytes hold at most 10"),
        (bytes(70), -1, "record count -1"),
        (b"\x01" + bytes(6), 1, "length -1 at byte 0"),
        (b"\x10" + bytes(6), 1, "length 8 at byte 0 of the records, expected -1 to 6"),
        (b"\x00" + bytes(6), 1, "1 bytes needed at byte 1"),
        (b"\xff\xff\xff\xff\x1f" + bytes(6), 1, "varint at byte 0 .* longer than its type"),
        (b"\xff\xff\xff\xff\xff\x00" + bytes(6), 1, "varint at byte 0 .* longer than its type"),
        (b"\x1a\x00" + b"\xff" * 9 + b"\x02\x00\x01", 1, "varint at byte 2 .* longer than its type"),
        (b"\x0c\x00\x00\x00\x03\x01\x00", 1, "length -2 at byte 4"),
        (b"\x0c\x00\x00\x00\x01\x03\x00", 1, "length -2 at byte 5"),
        (b"\x0c\x00\x00\x00\x01\x08\x00", 1, "length 4 at byte 5"),
        (b"\x0c\x00\x00\x00\x01\x01\x01", 1, "header count -1"),
        (b"\x0c\x00\x00\x00\x01\x01\x02", 1, "header count 1 at byte 7 of the records, expected 0 to 0"),
        (b"\x10\x00\x00\x00\x01\x01\x02\x01\x01", 1, "length -1 at byte 7"),
        (b"\x10\x00\x00\x00\x01\x01\x02\x00\x03", 1, "length -2 at byte 8"),
        (b"\x0e\x00\x00\x00\x01\x01\x00\x00", 1, "is 7 bytes long, its fields take 6"),
        (b"\x0c\x00\x00\x00\x01\x01\x00\x00", 1, "1 bytes left over after the last record"),
    ],
)
def test_faults_are_named_with_their_place(records: bytes, count: int, words: str, fence: Fence) -> None:
    held = fence.holding(batch_of(records, count))
    for read in (to_arrow, rows_of_records):
        with pytest.raises(CorruptRecordError, match=words):
            read(held)


def test_largest_varints_are_read() -> None:
    stamp = b"\xff" * 9 + b"\x01"
    record = b"\x00" + stamp + b"\xfe\xff\xff\xff\x0f" + b"\x01\x01\x00"
    ((offset, timestamp, *_),) = rows_of_columns(batch_of(bytes((2 * len(record),)) + record))
    assert offset == 100 + 2**31 - 1
    assert timestamp == 1_700_000_000_000 - 2**63
