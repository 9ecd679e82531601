"""Batches and records have the same columns from topics, log files and captures: one query fits all of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.captures import Conversation, write_pcap
from tests.inspect.sample_messages import fetch, fetched
from tests.spark.filled_broker import FilledBroker
from tests.spark.segment_files import batch, batches, write_index, write_segment

from kafkawire.inspect import BATCH_COLUMNS, LOG_SCHEMAS, SCHEMAS, read_directories
from kafkawire.spark._pipeline.inputs.captures import CapturesInput
from kafkawire.spark._pipeline.inputs.segments import SegmentsInput
from kafkawire.spark._pipeline.inputs.topics import TopicsInput, topic_options
from kafkawire.spark._pipeline.job import Job
from kafkawire.spark._pipeline.output import OutputDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SOURCES = ("topics", "segments", "captures")
RECORD = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
BATCHES = """
    SELECT topic, partition, magic, codec, count(*) AS batches, sum(record_count) AS records, sum(size) AS bytes,
           min(base_offset) AS first, max(last_offset) AS last, min(base_timestamp) AS since,
           max(max_timestamp) AS until, max(producer_id) AS producer, max(producer_epoch) AS epoch,
           max(base_sequence) AS sequence, count_if(is_transactional) AS transactional, count_if(is_control) AS markers,
           count_if(has_delete_horizon) AS cleaned, bit_xor(crc) AS crc, bit_or(attributes) AS attributes,
           max(leader_epoch) AS leader
    FROM {table} GROUP BY topic, partition, magic, codec ORDER BY codec
"""
RECORDS = """
    SELECT topic, partition, count(*) AS records, min(offset) AS first, max(offset) AS last, min(timestamp) AS since,
           max(timestamp) AS until, max(timestamp_type) AS clock, max(key) AS key, max(value) AS value,
           count(headers) AS with_headers, max(size(headers)) AS headers
    FROM {table} GROUP BY topic, partition
"""


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, DataFrame]]:
    """The tables of the same batches, read from a broker, from its files and from a capture of a fetch."""
    root = tmp_path_factory.mktemp("vocabulary")
    with FilledBroker(data_dir=root / "logs") as broker:
        broker.create_topic("orders")
        broker.fill("orders", 20)
        broker.fill("orders", 10, first=20, compression="gzip", producer_id=7, producer_epoch=1, base_sequence=0)
        broker.append("orders", 0, [(b"k", b"v", 1_700_000_000_000, [("trace", b"1")])])
        inputs: dict[str, Any] = {"topics": TopicsInput(topic_options(broker.bootstrap_servers, ["orders"]))}
        tables = {"topics": run(spark, inputs["topics"], root)}
    talk = Conversation().open()
    (log,) = (root / "logs" / "orders-0").glob("*.log")
    talk.exchange(fetch(0, -1, (0, 0)), fetched(0, (0, 31, log.read_bytes())), 11)
    (root / "fetch.pcap").write_bytes(write_pcap(talk.packets))
    tables["segments"] = run(spark, SegmentsInput([str(log)]), root)
    tables["captures"] = run(spark, CapturesInput([str(root / "fetch.pcap")], values=True), root)
    return tables


def run(spark: SparkSession, source: Any, root: Path) -> dict[str, DataFrame]:
    job = Job(spark, source, OutputDirectory.claim(root / source.kind), ("batches", "records"))
    job.run()
    return {name: spark.read.parquet(job.output.table(name)) for name in ("batches", "records")}


def ask(frame: DataFrame, query: str) -> list[dict[str, Any]]:
    frame.createOrReplaceTempView("asked")
    return [row.asDict() for row in frame.sparkSession.sql(query.format(table="asked")).collect()]


@pytest.mark.parametrize(("table", "query"), [("batches", BATCHES), ("records", RECORDS)])
def test_one_query_gives_the_same_answer_for_every_source(
    written: dict[str, dict[str, DataFrame]], table: str, query: str
) -> None:
    answers = {source: ask(written[source][table], query) for source in SOURCES}
    assert answers["topics"]
    assert answers["topics"] == answers["segments"] == answers["captures"]


@pytest.mark.parametrize(("table", "query"), [("batches", BATCHES), ("records", RECORDS)])
def test_one_query_runs_over_the_union(written: dict[str, dict[str, DataFrame]], table: str, query: str) -> None:
    frames = [written[source][table] for source in SOURCES]
    union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    [alone, both] = (ask(frame, query) for frame in (frames[0], union))
    assert [row["records"] for row in both] == [3 * row["records"] for row in alone]
    assert [row["until"] for row in both] == [row["until"] for row in alone]


@pytest.mark.parametrize("table", ["batches", "records"])
def test_columns_of_one_name_have_one_type(written: dict[str, dict[str, DataFrame]], table: str) -> None:
    shared = ("topic", "partition", *(BATCH_COLUMNS.names if table == "batches" else RECORD))
    for source in SOURCES:
        types = {field.name: field.dataType for field in written[source][table].schema.fields}
        expected = {field.name: field.dataType for field in written["segments"][table].schema.fields}
        assert set(shared) <= types.keys()
        assert all(kind == expected[name] for name, kind in types.items() if name in expected)


def test_a_column_means_the_same_in_all_tables_of_log_files_and_captures() -> None:
    for table in LOG_SCHEMAS.keys() & SCHEMAS.keys():
        schema = LOG_SCHEMAS[table]
        both = [name for name in schema.names if name in SCHEMAS[table].names]
        assert [schema.field(name) for name in both] == [SCHEMAS[table].field(name) for name in both]
    assert LOG_SCHEMAS["segment_files"] is SCHEMAS["segment_files"]
    assert LOG_SCHEMAS["index_errors"] is SCHEMAS["index_errors"]


def test_files_of_a_directory_have_one_description(spark: SparkSession, tmp_path: Path) -> None:
    with FilledBroker(data_dir=tmp_path) as broker:
        broker.create_topic("orders")
        broker.fill("orders", 20)
    inspected = [row for row in read_directories([tmp_path])["segment_files"].to_pylist() if row["kind"] == "log"]
    [stored] = [row for row in inspected if row["topic"] == "orders"]
    reader = spark.read.format("kafkawire-segments").option("table", "segment_files")
    [row] = reader.load(str(tmp_path / "orders-0")).toArrow().to_pylist()
    assert row == stored | {"topic_id": None}


def test_errors_of_an_index_have_one_description(spark: SparkSession, tmp_path: Path) -> None:
    file = write_segment(tmp_path / "orders-3", batches(4))
    write_index(file, [(19, len(batch(0))), (29, 2 * len(batch(0)) + 1)])
    inspected = [row for row in read_directories([tmp_path])["index_errors"].to_pylist() if row["kind"] == "index"]
    reader = spark.read.format("kafkawire-segments").option("table", "index_errors")
    rows = reader.load(str(tmp_path / "orders-3")).toArrow().to_pylist()
    assert [row for row in rows if row["kind"] == "index"] == [
        {name: row[name] for name in SCHEMAS["index_errors"].names} for row in inspected
    ]
    assert inspected
