"""Rows from stretches: Spark's types, projections, bounds, and batches that do not unpack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType
from tests.spark.segment_files import batch, batches, write_segment

from kafkawire.records import BatchBuilder
from kafkawire.records.walk import Damage, Stretch, walk
from kafkawire.spark import _columns
from kafkawire.spark._columns import TABLES, check_segments_projection, table_schema
from kafkawire.spark._segments import rows
from kafkawire.spark._segments.files import OpenFile
from kafkawire.spark._segments.rows import RowMaker
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path


def made(path: Path, data: bytes, columns: list[str], table: str = "records", **options: Any) -> list[Any]:
    """The Arrow batches and faults that a file gives."""
    file = write_segment(path / "orders-3", data)
    maker = RowMaker(table, columns, **options)
    with OpenFile(file.name) as opened:
        found = list(walk(opened, 0, file.size, file_size=file.size))
        return [row for part in found if isinstance(part, Stretch) for row in maker.rows(file, part)]


def values(items: list[Any]) -> list[dict[str, Any]]:
    return [row for item in items for row in item.to_pylist()]


@pytest.mark.parametrize("table", TABLES)
def test_arrow_types_are_exactly_those_that_spark_compares_with(table: str) -> None:
    maker = RowMaker(table, TABLES[table])
    assert to_arrow_schema(table_schema(table), timezone="UTC").equals(maker.schema)
    assert str(to_arrow_schema(table_schema(table), timezone="UTC")) == str(maker.schema)


def test_a_record_comes_with_its_origin(tmp_path: Path) -> None:
    data = b"".join(batches(2, 1))
    first, second = values(made(tmp_path, data, ["topic", "partition", "offset", "value", "position", "file", "codec"]))
    assert first | {"file": ""} == {
        "topic": "orders",
        "partition": 3,
        "offset": 0,
        "value": b"value 000000",
        "position": 0,
        "file": "",
        "codec": "none",
    }
    assert first["file"] == str(tmp_path / "orders-3" / f"{0:020}.log")
    assert (second["offset"], second["position"]) == (1, len(data) // 2)


def test_columns_of_the_source_alone_still_give_a_row_a_record(tmp_path: Path) -> None:
    assert values(made(tmp_path, batch(0, 3), ["topic"])) == [{"topic": "orders"}] * 3


def test_a_record_without_headers_has_null_and_one_with_headers_has_them(tmp_path: Path) -> None:
    builder = BatchBuilder()
    builder.append(None, b"plain")
    builder.append(None, b"traced", headers=[("trace", b"1"), ("empty", None)])
    headers = [row["headers"] for row in values(made(tmp_path, builder.build(), ["headers"]))]
    assert headers == [None, [{"key": "trace", "value": b"1"}, {"key": "empty", "value": None}]]


def test_a_time_that_spark_cannot_hold_is_null_and_its_neighbours_are_not(tmp_path: Path) -> None:
    builder = BatchBuilder()
    for timestamp in (1_700_000_000_123, 2**62, -1):
        builder.append(None, b"", timestamp)
    [item] = made(tmp_path, builder.build(), ["timestamp"])
    assert item.column(0).cast(pa.int64()).to_pylist() == [1_700_000_000_123_000, None, -1000]


def test_control_records_come_only_when_asked_for(tmp_path: Path) -> None:
    builder = BatchBuilder(base_offset=1, is_control=True, is_transactional=True, producer_id=1, producer_epoch=0)
    builder.append(b"\0\0\0\1", b"\0\0\0\0\0\0")
    data = batch(0, 1) + builder.build()
    assert [row["offset"] for row in values(made(tmp_path, data, ["offset"]))] == [0]
    everything = values(made(tmp_path, data, ["offset", "is_control"], include_control=True))
    assert everything == [{"offset": 0, "is_control": False}, {"offset": 1, "is_control": True}]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_arrow_batches_stay_within_rows_and_bytes(
    tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rows, _columns):
        monkeypatch.setattr(module, "MAX_ROWS", 70)
    monkeypatch.setattr(_columns, "MAX_BYTES", 40_000)
    data = b"".join(batches(50, 20, value=bytes(1000), compression=compression))
    items = made(tmp_path, data, ["offset", "value"])
    assert [row["offset"] for row in values(items)] == list(range(1000))
    assert max(item.num_rows for item in items) <= 40


def test_a_batch_that_grows_far_more_than_its_neighbours_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_TOGETHER", 100_000)
    data = b"".join(
        batch(number * 10, 10, value=bytes(40_000 if number == 5 else 10), compression="gzip") for number in range(10)
    )
    assert [row["offset"] for row in values(made(tmp_path, data, ["offset", "value"]))] == list(range(100))


def test_a_batch_that_does_not_unpack_is_a_fault_between_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_DECOMPRESSED", 50_000)
    bomb = batch(10, 10, value=bytes(100_000), compression="zstd")
    before, after = batch(0), batch(20)
    items = made(tmp_path, before + bomb + after, ["offset"])
    [fault] = [item for item in items if isinstance(item, Damage)]
    assert (fault.position, fault.size) == (len(before), len(bomb))
    offsets = [row["offset"] for item in items if not isinstance(item, Damage) for row in item.to_pylist()]
    assert offsets == [*range(10), *range(20, 30)]


def test_the_batches_table_does_not_unpack(tmp_path: Path) -> None:
    bomb = batch(0, 10, value=bytes(100_000), compression="zstd")
    [row] = values(made(tmp_path, bomb, ["record_count", "codec", "size"], "batches"))
    assert row == {"record_count": 10, "codec": "zstd", "size": len(bomb)}


def test_a_fault_is_a_row_that_knows_its_place(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "orders-3", batch(0))
    maker = RowMaker("records", ["topic", "partition", "offset", "key", "position", "size", "fault"])
    [row] = maker.fault_row(file, Damage(7, 5_000_000_000, "bad")).to_pylist()
    assert row == {
        "topic": "orders",
        "partition": 3,
        "offset": None,
        "key": None,
        "position": 7,
        "size": 5_000_000_000,
        "fault": "bad",
    }


@pytest.mark.parametrize(
    ("table", "field", "problem"),
    [
        ("records", StructField("x", LongType()), "the records table has no column 'x'; it has topic, partition"),
        (
            "records",
            StructField("value", StringType()),
            "'value' of the records table is binary, the schema says string",
        ),
        ("records", StructField("key", BinaryType(), nullable=False), "'key' of the records table may be null"),
        ("batches", StructField("value", BinaryType()), "the batches table has no column 'value'"),
    ],
)
def test_a_schema_that_asks_for_what_is_not_there_is_refused(table: str, field: StructField, problem: str) -> None:
    with pytest.raises(SourceOptionError, match=problem):
        check_segments_projection(table, StructType([field]))
