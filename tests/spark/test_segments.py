"""`format("kafkawire-segments")` on a running Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from tests.spark.segment_files import batch, batches, damage, write_index, write_segment

from kafkawire.records import BatchBuilder
from kafkawire.testing.sample_logs import Sample, write_sample

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ORDER = ("topic", "partition", "offset")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_sample(tmp_path_factory.mktemp("sample"), scale=2)


def load(spark: SparkSession, *paths: Path | str, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("kafkawire-segments").options(**options)
    if schema:
        reader = reader.schema(schema)
    names = [str(path) for path in paths]
    return reader.load(names if len(names) > 1 else names[0])


def in_order(frame: DataFrame, schema: pa.Schema) -> list[dict[str, Any]]:
    table = frame.select(*schema.names).toArrow().cast(schema)
    return table.sort_by([(name, "ascending") for name in ORDER]).to_pylist()


def test_every_record_of_every_format_and_codec_comes_as_it_was_written(spark: SparkSession, sample: Sample) -> None:
    found = in_order(load(spark, sample.root), sample.expected.schema)
    expected = sample.expected.sort_by([(name, "ascending") for name in ORDER]).to_pylist()
    assert len(found) == len(expected) == 1750
    assert found == expected


def test_small_tasks_give_the_same_records_each_once(spark: SparkSession, sample: Sample) -> None:
    frame = load(spark, sample.root, maxPartitionBytes="5k", schema="topic string, partition int, offset bigint")
    assert frame.rdd.getNumPartitions() > 10
    found = sorted(tuple(row) for row in frame.collect())
    assert found == sorted(zip(*(sample.expected[name].to_pylist() for name in ORDER), strict=True))


def test_a_large_file_is_cut_by_its_index(spark: SparkSession, tmp_path: Path) -> None:
    data = batches(200)
    file = write_segment(tmp_path / "orders-0", data)
    write_index(file, [(number * 10 + 9, number * len(data[0])) for number in range(1, 200, 3)])
    frame = load(spark, tmp_path, maxPartitionBytes=str(20 * len(data[0])), schema="offset bigint")
    assert frame.rdd.getNumPartitions() == 10
    assert sorted(row.offset for row in frame.collect()) == list(range(2000))


def test_a_schema_is_a_projection_in_any_order(spark: SparkSession, sample: Sample) -> None:
    frame = load(spark, sample.root / "payments-1", schema="codec string, value binary, offset bigint")
    first = frame.orderBy("offset").first()
    assert first is not None
    assert frame.columns == ["codec", "value", "offset"]
    rows = [row for row in sample.expected.to_pylist() if row["topic"] == "payments"]
    assert (first.codec, first.value, first.offset) == ("zstd", rows[0]["value"], 0)
    assert frame.count() == len(rows)


def test_batches_come_from_the_headers(spark: SparkSession, sample: Sample) -> None:
    frame = load(spark, sample.root / "payments-1", table="batches")
    first, marker = frame.orderBy("position").limit(2).collect()
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 49, 50)
    assert (first.producer_id, first.is_transactional, first.is_control) == (4000, True, False)
    assert (marker.base_offset, marker.is_control, marker.position) == (50, True, first.size)
    assert {first.topic, first.partition, first.fault} == {"payments", 1, None}


def test_null_and_empty_keys_and_values_are_distinguished(spark: SparkSession, tmp_path: Path) -> None:
    builder = BatchBuilder()
    for key, value in ((None, b"1"), (b"", b"2"), (b"3", None), (b"4", b"")):
        builder.append(key, value)
    write_segment(tmp_path / "orders-0", builder.build())
    rows = load(spark, tmp_path).orderBy("offset").collect()
    assert [(row.key, row.value) for row in rows] == [(None, b"1"), (b"", b"2"), (b"3", None), (b"4", b"")]


def test_paths_may_be_several_and_patterns(spark: SparkSession, sample: Sample) -> None:
    frame = load(spark, sample.root / "pay*", sample.root / "audit-0" / "*.log", schema="topic string")
    assert {row.topic for row in frame.distinct().collect()} == {"payments", "audit"}


def test_an_empty_directory_is_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    assert load(spark, tmp_path).count() == 0


def test_sql_reads_a_view_of_segments(spark: SparkSession, sample: Sample) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW segments USING `kafkawire-segments`"
        f" OPTIONS (path '{sample.root}', table 'batches')"
    )
    [row] = spark.sql("SELECT max(magic) AS newest, min(magic) AS oldest FROM segments").collect()
    assert (row.newest, row.oldest) == (2, 0)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Batches at 0, 10, 20 and 30; the second has a wrong CRC."""
    data = batches(4)
    write_segment(tmp_path / "orders-0", [data[0], damage(data[1], 100), *data[2:]])
    return tmp_path


def test_a_corrupt_batch_fails_the_read_with_file_and_position(spark: SparkSession, damaged: Path) -> None:
    place = rf"orders-0/{0:020}\.log, batch at byte {len(batch(0))}: stated CRC 0x[0-9a-f]{{8}}, computed"
    with pytest.raises(PySparkException, match=place):
        load(spark, damaged).count()


@pytest.mark.parametrize("table", ["records", "batches"])
def test_permissive_gives_a_row_for_what_could_not_be_read(spark: SparkSession, damaged: Path, table: str) -> None:
    frame = load(spark, damaged, table=table, mode="PERMISSIVE")
    [fault] = frame.filter("fault IS NOT NULL").collect()
    assert (fault.topic, fault.position, fault.fault.split()[:2]) == ("orders", len(batch(0)), ["stated", "CRC"])
    assert frame.filter("fault IS NULL").count() == (30 if table == "records" else 3)


def test_dropmalformed_leaves_out_what_could_not_be_read(spark: SparkSession, damaged: Path) -> None:
    frame = load(spark, damaged, mode="DROPMALFORMED")
    assert sorted(row.offset for row in frame.collect()) == [*range(10), *range(20, 40)]


@pytest.mark.parametrize(
    ("options", "schema", "problem"),
    [
        ({"tabel": "batches"}, None, "has no option tabel"),
        ({"mode": "loose"}, None, "mode is 'LOOSE', expected FAILFAST"),
        ({}, "nonsense int", "the records table has no column 'nonsense'"),
    ],
)
def test_nonsense_is_refused_with_a_reason(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], schema: str | None, problem: str
) -> None:
    with pytest.raises(PySparkException, match=problem):
        load(spark, tmp_path, schema=schema, **options).count()


def test_a_path_that_is_not_there_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="absent: no such file or directory"):
        load(spark, tmp_path / "absent").count()
