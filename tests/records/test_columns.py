"""Columns: which are built, which rows are in them, and that they say what records say."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.records.samples import FORMATS, rows_of_columns, rows_of_records, sample

from kafkawire.records import (
    BATCH_SCHEMA,
    HEADER_SIZE,
    RECORD_SCHEMA,
    BatchBuilder,
    Codec,
    ColumnSizeError,
    ControlType,
    CorruptRecordError,
    DecompressedSizeError,
    InvalidRecordError,
    batches_to_arrow,
    crc32c,
    read_batches,
    to_arrow,
    transaction_marker,
)
from kafkawire.records._kernel import decode

pytestmark = pytest.mark.twin

MIXED = b"".join(sample(magic, codec, 1000 * step) for step, (magic, codec) in enumerate(FORMATS))


def transactional(base_offset: int, producer_id: int, *values: bytes) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, producer_id=producer_id, producer_epoch=0, is_transactional=True)
    for value in values:
        builder.append(None, value)
    return builder.build()


def marker(offset: int, producer_id: int, kind: ControlType, codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
        compression=codec,
    )
    builder.append(*transaction_marker(kind, 5))
    return builder.build()


TRANSACTIONS = b"".join(
    (
        transactional(0, 1, b"a0", b"a1"),
        transactional(2, 2, b"b2"),
        marker(3, 1, ControlType.ABORT),
        transactional(4, 1, b"c4"),
        marker(5, 2, ControlType.COMMIT),
        marker(6, 1, ControlType.COMMIT),
    )
)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_columns_say_what_records_say(magic: int, codec: Codec) -> None:
    data = sample(magic, codec)
    assert rows_of_columns(data) == rows_of_records(data)
    assert len(rows_of_columns(data)) == 4


def test_formats_may_be_mixed_in_one_buffer() -> None:
    assert rows_of_columns(MIXED + MIXED[:20]) == rows_of_records(MIXED)
    assert to_arrow(MIXED).schema == RECORD_SCHEMA


def test_no_batches_give_no_rows() -> None:
    assert to_arrow(b"").num_rows == to_arrow(MIXED[:20]).num_rows == batches_to_arrow(b"").num_rows == 0
    assert to_arrow(b"", columns=["codec", "headers"]).schema.names == ["codec", "headers"]


@pytest.mark.parametrize("name", [*RECORD_SCHEMA.names, *BATCH_SCHEMA.names])
def test_any_one_column_can_be_had_alone(name: str) -> None:
    alone = to_arrow(MIXED, columns=[name])
    together = to_arrow(MIXED, columns=[*RECORD_SCHEMA.names, *BATCH_SCHEMA.names])
    assert alone.schema.names == [name]
    assert alone.column(0).equals(together.column(name))


def test_header_fields_are_repeated_over_their_rows() -> None:
    fields = to_arrow(MIXED, columns=BATCH_SCHEMA.names).to_pylist()
    expected = batches_to_arrow(MIXED).to_pylist()
    by_position = {row["position"]: row for row in expected}
    assert [by_position[row["position"]] for row in fields] == fields


def test_batches_come_from_the_headers_alone() -> None:
    data = sample(
        2, Codec.ZSTD, producer_id=6, producer_epoch=1, base_sequence=3, is_transactional=True, leader_epoch=2
    )
    (row,) = batches_to_arrow(data[:61] + data[61:], verify=False).to_pylist()
    assert row["codec"] == "zstd"
    assert row["is_transactional"] is True
    assert row["is_control"] is False
    assert (row["producer_id"], row["producer_epoch"], row["base_sequence"], row["leader_epoch"]) == (6, 1, 3, 2)
    assert (row["base_offset"], row["last_offset"], row["record_count"], row["size"]) == (100, 108, 4, len(data))
    assert batches_to_arrow(data).schema == BATCH_SCHEMA


def test_batches_with_a_wrong_crc_are_refused() -> None:
    data = bytearray(sample(2, Codec.NONE))
    data[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="CRC"):
        batches_to_arrow(data)
    assert batches_to_arrow(data, verify=False).num_rows == 1


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_only_offsets_in_the_range_are_kept(magic: int, codec: Codec) -> None:
    data = sample(magic, codec, 0) + sample(magic, codec, 20)
    everything = rows_of_columns(data)
    for start, end in ((None, None), (0, 1), (1, 21), (8, 20), (9, 28), (28, None), (None, 7), (29, None)):
        low, high = start if start is not None else 0, end if end is not None else 99
        assert rows_of_columns(data, start=start, end=end) == [row for row in everything if low <= row[0] < high]


def test_ranges_reach_the_ends_of_an_int64() -> None:
    data = bytearray(sample(2, Codec.NONE, 0))
    data[0:8] = (-7).to_bytes(8, "big", signed=True)
    assert [row[0] for row in rows_of_columns(data)] == [-7, -6, 0, 1]
    assert [row[0] for row in rows_of_columns(data, start=0)] == [0, 1]
    data[0:8] = (2**63 - 9).to_bytes(8, "big")
    assert [row[0] for row in rows_of_columns(data)] == [2**63 - 9, 2**63 - 8, 2**63 - 2, 2**63 - 1]
    assert [row[0] for row in rows_of_columns(data, end=2**63 - 1)] == [2**63 - 9, 2**63 - 8, 2**63 - 2]


def test_batches_outside_the_range_are_not_even_unpacked() -> None:
    broken = bytearray(sample(2, Codec.GZIP, 0))
    broken[70] ^= 0xFF
    broken[17:21] = crc32c(broken[21:]).to_bytes(4, "big")
    data = bytes(broken) + sample(2, Codec.NONE, 50)
    assert [row[0] for row in rows_of_columns(data, start=50)] == [50, 51, 57, 58]


def test_control_batches_are_left_out_unless_wanted() -> None:
    assert [row[0] for row in rows_of_columns(TRANSACTIONS)] == [0, 1, 2, 4]
    assert [row[0] for row in rows_of_columns(TRANSACTIONS, include_control=True)] == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("aborted", "kept"),
    [
        ([], [0, 1, 2, 4]),
        ([(1, 0)], [2, 4]),
        ([(2, 2)], [0, 1, 4]),
        ([(2, 2), (1, 0)], [4]),
        ([(1, 4)], [0, 1, 2]),
        ([(9, 0)], [0, 1, 2, 4]),
    ],
)
def test_aborted_transactions_are_left_out_up_to_their_marker(aborted: list[tuple[int, int]], kept: list[int]) -> None:
    assert [row[0] for row in rows_of_columns(TRANSACTIONS, aborted=aborted)] == kept
    with_control = rows_of_columns(TRANSACTIONS, aborted=aborted, include_control=True)
    assert [row[0] for row in with_control] == sorted({*kept, 3, 5, 6})


def test_an_abort_marker_counts_before_the_range_and_when_compressed() -> None:
    data = transactional(0, 1, b"x") + marker(1, 1, ControlType.ABORT, Codec.GZIP) + transactional(2, 1, b"y")
    assert [row[0] for row in rows_of_columns(data, aborted=[(1, 0)], start=2)] == [2]


def test_plain_batches_of_an_aborted_producer_are_kept() -> None:
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0)
    builder.append(None, b"idempotent")
    assert len(rows_of_columns(builder.build(), aborted=[(1, 0)])) == 1


def test_header_keys_that_are_not_utf8_have_their_bytes_replaced() -> None:
    parts = (
        b"a",
        b"\xc3\xa9",
        b"\xf0\x9f\x98\x80",
        b"\xff",
        b"\xc0\x80",
        b"\xe0\x9f\x80",
        b"\xed\xa0\x80",
        b"\xf0\x8f",
    )
    cut = (b"\xe2\x82", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf5\x80", b"\x80", b"")
    keys = [first + second + third for first in parts for second in parts for third in cut]
    builder = BatchBuilder()
    builder.append(None, b"v", headers=[("_" * len(key), b"1") for key in keys])
    data = bytearray(builder.build())
    at = HEADER_SIZE
    for key in keys:
        at = data.index(b"_" * len(key), at)
        data[at : at + len(key)] = key
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    assert rows_of_columns(data) == rows_of_records(data)
    assert [name for name, _ in rows_of_columns(data)[0][5]] == [key.decode(errors="replace") for key in keys]


def test_timestamps_are_utc_milliseconds() -> None:
    data = sample(2, Codec.NONE)
    assert to_arrow(data).schema.field("timestamp").type == pa.timestamp("ms", tz="UTC")
    assert to_arrow(data).column("timestamp")[0].as_py().isoformat() == "2023-11-14T22:13:20+00:00"


def test_limit_on_unpacked_bytes_is_for_each_batch() -> None:
    data = sample(2, Codec.GZIP) * 50
    size = len(sample(2, Codec.NONE)) - 61
    assert to_arrow(data, max_decompressed=size).num_rows == 200
    with pytest.raises(DecompressedSizeError, match=f"more than {size - 1} bytes"):
        to_arrow(data, max_decompressed=size - 1)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("most", [1023, 3000, 4999])
@pytest.mark.parametrize("column", ["key", "value", "headers"])
def test_a_column_takes_what_its_offsets_can_count_and_no_more(
    column: str, most: int, codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "COLUMN_BYTES", most)
    fields: dict[str, Any] = {"key": b"", "value": b"", "headers": ()}
    fields[column] = [("h", bytes(100))] if column == "headers" else bytes(100)
    batches = []
    for step in range(100):
        builder = BatchBuilder(base_offset=step, compression=codec)
        builder.append(**fields)
        batches.append(builder.build())
    fitting = most // 100
    assert to_arrow(b"".join(batches[:fitting]), columns=[column]).num_rows == fitting
    position = len(batches[0]) * fitting
    with pytest.raises(ColumnSizeError, match=f"batch at byte {position}: a column would exceed 2 GiB"):
        to_arrow(b"".join(batches), columns=[column])
    assert to_arrow(b"".join(batches), columns=["offset"]).num_rows == 100


@pytest.mark.parametrize("columns", [["offset", "offset"], ["nothing"]])
def test_columns_that_cannot_be_are_refused(columns: list[str]) -> None:
    with pytest.raises(InvalidRecordError):
        to_arrow(MIXED, columns=columns)


def test_rows_are_counted_without_any_column() -> None:
    assert to_arrow(MIXED, columns=[]).num_rows == to_arrow(MIXED).num_rows > 0


@pytest.mark.parametrize("items", ["b", "q"])
def test_buffers_of_wider_items_are_read_by_their_bytes(items: str) -> None:
    data = MIXED + bytes(-len(MIXED) % 8)
    wide = memoryview(data).cast(items)  # type: ignore[call-overload]  # any format of the struct module
    assert to_arrow(wide).equals(to_arrow(MIXED))
    assert rows_of_records(wide) == rows_of_records(MIXED)
    assert batches_to_arrow(wide).equals(batches_to_arrow(MIXED))


def test_rows_outlive_their_buffer() -> None:
    buffer = bytearray(MIXED)
    table = to_arrow(buffer)
    before = table.to_pylist()
    buffer[:] = bytes(len(buffer))
    assert table.to_pylist() == before


def test_many_batches_grow_the_columns() -> None:
    data = sample(2, Codec.LZ4) * 400 + sample(1, Codec.GZIP) * 300
    table = to_arrow(data)
    assert table.num_rows == 2800
    assert table.column("key").null_count == 700
    assert [batch.position for batch in read_batches(data)] == batches_to_arrow(data).column("position").to_pylist()
