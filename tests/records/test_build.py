"""Writing: the builder's bookkeeping, and rows written as the builder writes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.records.samples import FORMATS, RECORDS, rows_of_columns, sample

from kafkawire.records import (
    BatchBuilder,
    Codec,
    InvalidRecordError,
    add_sequence,
    from_arrow,
    parse_header,
    read_batches,
    record_size,
    to_arrow,
)

pytestmark = pytest.mark.twin

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_size_is_that_of_the_batch_and_record_size_bounds_it(magic: int) -> None:
    builder = BatchBuilder(magic=magic, base_offset=2**40)
    for key, value, timestamp, headers in RECORDS * 30:
        named = headers if magic == 2 else []
        before = builder.size
        builder.append(key, value, timestamp, named)
        assert before < builder.size <= before + record_size(key, value, named, magic=magic)
    assert builder.size == len(builder.build())
    assert builder.count == 120


def test_append_refuses_what_passes_the_limit_but_never_the_first_record() -> None:
    builder = BatchBuilder(size_limit=200)
    assert builder.append(None, b"x" * 500)
    assert not builder.append(None, b"")
    assert (builder.count, builder.next_offset) == (1, 1)
    roomy = BatchBuilder(size_limit=200)
    while roomy.append(None, b"x" * 10):
        pass
    assert 200 - record_size(None, b"x" * 10) < len(roomy.build()) <= 200


def test_offsets_may_leave_gaps_and_only_rise() -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append(None, b"a", offset=7)
    with pytest.raises(InvalidRecordError, match="offset 7, expected 8 to"):
        builder.append(None, b"b", offset=7)
    with pytest.raises(InvalidRecordError, match="expected 8"):
        builder.append(None, b"b", offset=5 + 2**31)
    builder.append(None, b"b", offset=5 + 2**31 - 1)
    with pytest.raises(InvalidRecordError, match=f"expected {2**63 - 9} to {2**63 - 2}$"):
        BatchBuilder(base_offset=2**63 - 9).append(None, b"", offset=2**63 - 1)
    assert [row[0] for row in rows_of_columns(builder.build())] == [7, 5 + 2**31 - 1]
    assert parse_header(builder.build()).base_offset == 5


def test_builder_may_go_on_after_a_build() -> None:
    builder = BatchBuilder(compression="lz4")
    builder.append(None, b"a")
    first = builder.build()
    builder.append(None, b"b")
    assert [row[4] for row in rows_of_columns(first)] == [b"a"]
    assert [row[4] for row in rows_of_columns(builder.build())] == [b"a", b"b"]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_may_be_written(kind: Any) -> None:
    builder = BatchBuilder()
    builder.append(kind(b"key"), kind(b"value"), headers=[("h", kind(b"x"))])
    plain = BatchBuilder()
    plain.append(b"key", b"value", headers=[("h", b"x")])
    assert builder.build() == plain.build()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("text", b""), TypeError),
        ((b"", 5), TypeError),
        ((b"", b"", 0, [(b"bytes", b"")]), TypeError),
        ((b"", b"", 0, [("h", "text")]), TypeError),
        ((b"", b"", 2**63), OverflowError),
        ((b"", b"", -(2**63) - 1), OverflowError),
    ],
)
def test_wrong_types_leave_the_batch_as_it_was(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    builder = BatchBuilder()
    builder.append(b"k", b"v")
    before = builder.build()
    with pytest.raises(error):
        builder.append(*arguments)
    assert builder.build() == before


@pytest.mark.parametrize(
    "options",
    [
        {"magic": 3},
        {"magic": 1, "compression": "zstd"},
        {"magic": 0, "producer_id": 1},
        {"magic": 1, "is_control": True},
        {"magic": 1, "delete_horizon": 1},
        {"base_offset": -1},
        {"compression": "brotli"},
    ],
)
def test_batches_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRecordError):
        BatchBuilder(**options)


@pytest.mark.parametrize(
    "options", [{"producer_id": 2**63}, {"producer_epoch": 2**15}, {"base_sequence": 2**31}, {"leader_epoch": -(2**40)}]
)
def test_header_fields_that_do_not_fit_are_named(options: dict[str, Any]) -> None:
    ((_, value),) = options.items()
    with pytest.raises(InvalidRecordError, match=rf"{value}\b.* does not fit its field"):
        BatchBuilder(**options).build()


def test_old_formats_have_no_headers() -> None:
    with pytest.raises(InvalidRecordError, match="magic 1 has no headers"):
        BatchBuilder(magic=1).append(None, b"", headers=[("a", b"")])


def test_last_offset_may_not_lie_before_the_records() -> None:
    builder = BatchBuilder()
    builder.append(None, b"")
    builder.append(None, b"")
    with pytest.raises(InvalidRecordError, match="before that of the last record"):
        builder.build(last_offset=0)
    assert parse_header(builder.build(last_offset=9)).last_offset == 9
    with pytest.raises(InvalidRecordError, match="expected at most 2147483647"):
        builder.build(last_offset=2**31)


@pytest.mark.parametrize("stamps", [(-1, 2**63 - 1), (-1, -(2**63)), (-1, -2), (-1, 0), (-5, -9)])
def test_any_int64_is_a_timestamp(stamps: tuple[int, int]) -> None:
    builder = BatchBuilder()
    for timestamp in stamps:
        builder.append(None, b"", timestamp)
    assert tuple(row[1] for row in rows_of_columns(builder.build())) == stamps
    assert parse_header(builder.build()).max_timestamp == max(-1, *stamps)
    rows = pa.record_batch({"value": [b"", b""], "timestamp": stamps})
    assert from_arrow(rows) == builder.build()


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_rows_are_written_as_the_builder_writes_them(magic: int, codec: Codec) -> None:
    rows = to_arrow(sample(magic, codec, 30))
    written = from_arrow(rows, magic=magic, compression=codec, base_offset=30)
    assert rows_of_columns(written) == rows_of_columns(sample(magic, codec, 30))
    if codec is Codec.NONE:
        assert written == sample(magic, codec, 30)


def test_rows_without_offsets_are_numbered_and_split() -> None:
    rows = pa.record_batch({"value": pa.array([b"x" * 50] * 25, pa.binary())})
    data = from_arrow(
        rows, records_per_batch=10, base_offset=7, producer_id=1, producer_epoch=0, base_sequence=2**31 - 5
    )
    batches = list(read_batches(data))
    assert [(batch.base_offset, batch.record_count) for batch in batches] == [(7, 10), (17, 10), (27, 5)]
    assert [batch.base_sequence for batch in batches] == [2**31 - 5, 5, 15]
    assert add_sequence(batches[0].last_sequence, 1) == batches[1].base_sequence
    small = list(read_batches(from_arrow(rows, batch_bytes=200)))
    assert {batch.record_count for batch in small} == {2, 1}
    assert all(batch.size <= 200 for batch in small)


def test_slices_tables_and_other_types_are_taken() -> None:
    table = pa.table(
        {
            "key": pa.array(["a", None, "c", "d"], pa.large_string()),
            "value": pa.array([b"1", b"2", None, b"4"], pa.large_binary()),
            "timestamp": pa.array([1_000, 2_000, None, 4_000], pa.timestamp("us")),
            "headers": pa.array([[("h", b"1")], None, [], [("i", None), ("j", b"")]], HEADERS),
            "other": pa.array([1, 2, 3, 4]),
        }
    )
    expected = [
        (0, 1, 0, b"a", b"1", (("h", b"1"),)),
        (1, 2, 0, None, b"2", ()),
        (2, -1, 0, b"c", None, ()),
        (3, 4, 0, b"d", b"4", (("i", None), ("j", b""))),
    ]
    assert rows_of_columns(from_arrow(table)) == expected
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 3)])
    assert rows_of_columns(from_arrow(chunked)) == expected
    sliced = rows_of_columns(from_arrow(table.to_batches()[0].slice(1, 3), base_offset=1))
    assert sliced == expected[1:]


def test_headers_of_a_sliced_column_stay_with_their_rows() -> None:
    rows = to_arrow(sample(2, Codec.NONE) + sample(2, Codec.NONE, 200))
    for start in range(8):
        part = rows.slice(start)
        assert (
            rows_of_columns(from_arrow(part, base_offset=0))
            == rows_of_columns(sample(2, Codec.NONE) + sample(2, Codec.NONE, 200))[start:]
        )


@pytest.mark.parametrize(
    "rows",
    [
        pa.record_batch({"offset": pa.array([4, 4])}),
        pa.record_batch({"offset": pa.array([4, None])}),
        pa.record_batch({"offset": pa.array([2**63 - 1])}),
        pa.record_batch({"headers": pa.array([[(None, b"")]], HEADERS)}),
        pa.record_batch({"headers": pa.array([[None]], HEADERS)}),
        pa.record_batch({"headers": pa.array([[("a", b""), None, ("b", b"")]], HEADERS)}),
        pa.record_batch({"headers": pa.array([[("a", b"")], [("b", b""), None]], HEADERS).slice(1)}),
    ],
)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_rows_that_cannot_be_records_are_named(rows: pa.RecordBatch, magic: int) -> None:
    with pytest.raises(InvalidRecordError, match=r"row [01]: expected an offset of \d+ or more"):
        from_arrow(rows, magic=magic)


@pytest.mark.parametrize(
    "options",
    [
        {"magic": 3},
        {"magic": -1},
        {"magic": 1, "producer_id": 5},
        {"magic": 1, "is_transactional": True},
        {"magic": 0, "compression": "zstd"},
        {"base_offset": -1},
        {"producer_id": 2**63},
        {"base_sequence": 2**31},
        {"leader_epoch": 2**31},
    ],
)
def test_formats_that_rows_cannot_have_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRecordError):
        from_arrow(pa.record_batch({"value": [b"x"]}), **options)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_rows_far_apart_are_divided(magic: int, codec: Codec) -> None:
    offsets = [3, 2**31 + 2, 2**31 + 3, 2**40]
    rows = pa.record_batch({"offset": offsets, "value": [b"x"] * 4})
    data = from_arrow(rows, magic=magic, compression=codec)
    assert [row[0] for row in rows_of_columns(data)] == offsets
    assert len(list(read_batches(data))) == (4 if magic < 2 and codec is Codec.NONE else 3)


def test_no_rows_make_no_bytes() -> None:
    assert from_arrow(to_arrow(b"")) == b""
    assert from_arrow(pa.table({"value": pa.array([], pa.binary())})) == b""


@pytest.mark.parametrize(
    "size", [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 50, 57, 58, 63, 64, 200, 256, 257, 8180, 8192, 70000]
)
def test_every_size_of_value_is_copied_whole(size: int) -> None:
    value = bytes(index & 0xFF for index in range(size))
    data = from_arrow(pa.record_batch({"key": [value], "value": [value]}))
    assert rows_of_columns(data)[0][3:5] == (value, value)
    builder = BatchBuilder()
    builder.append(value, value)
    assert builder.build() == data


def test_a_batch_in_the_memory_of_its_caller_is_the_same_batch() -> None:
    for records in (RECORDS * 20, RECORDS[:1], []):
        fields: dict[str, Any] = {"is_transactional": True, "base_offset": 3, "leader_epoch": 9}
        builder = BatchBuilder(**fields)
        expected = BatchBuilder(**fields, producer_id=2**40, producer_epoch=7, base_sequence=2**31 - 1)
        for record in records:
            builder.append(*record)
            expected.append(*record)
        space = bytearray(b"\xff" * (builder.size + 5))
        batch = builder.build_into(space, 2**40, 7, 2**31 - 1)
        assert bytes(batch) == expected.build()
        assert bytes(space[builder.size :]) == b"\xff" * 5
        assert batch.obj is space
        batch.release()
        with pytest.raises(ValueError, match="bytes at 61 of"):
            builder.build_into(bytearray(builder.size - 1), 0, 0, 0)
        assert builder.append(None, b"more")


@pytest.mark.parametrize("options", [{"magic": 1}, {"compression": "gzip"}])
def test_only_records_that_are_stored_as_they_are_go_into_the_memory_of_a_caller(options: dict[str, Any]) -> None:
    builder = BatchBuilder(**options)
    builder.append(None, b"value")
    with pytest.raises(InvalidRecordError, match="expected magic 2 without compression"):
        builder.build_into(bytearray(1000), 0, 0, 0)
