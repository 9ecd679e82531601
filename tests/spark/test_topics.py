"""`spark.read.format("kafkawire")` against a running broker."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource
from tests.spark.filled_broker import TIME, FilledBroker

from pyspark_kafkawire import DefaultSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("orders", 2)
        broker.fill("orders", 60)
        broker.fill("orders", 40, first=60)
        broker.fill("orders", 10, partition=1)
        broker.create_topic("my-orders-2")
        broker.fill("my-orders-2", 3)
        yield broker


def load(spark: SparkSession, broker: FilledBroker, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.option("kafka.fetch.max.wait.ms", "50").options(
        **{name.replace("__", "."): value for name, value in options.items()}
    )
    return (reader.schema(schema) if schema else reader).load()


def offsets(frame: DataFrame) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for row in frame.select("topic", "partition", "offset").collect():
        found.setdefault((row.topic, row.partition), []).append(row.offset)
    return {place: sorted(each) for place, each in found.items()}


def test_columns_are_those_of_sparks_own_connector(spark: SparkSession, broker: FilledBroker) -> None:
    frame = load(spark, broker, subscribe="orders")
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    row = frame.where("partition = 0 AND offset = 7").first()
    assert row is not None
    moment = datetime.fromtimestamp((TIME + 7000) / 1000, UTC)
    assert (row.key, row.value, row.topic, row.partition, row.offset, row.timestampType) == (
        b"k7",
        b"v7",
        "orders",
        0,
        7,
        0,
    )
    assert row.timestamp.astimezone(UTC) == moment
    assert offsets(frame) == {("orders", 0): list(range(100)), ("orders", 1): list(range(10))}


def test_nulls_headers_and_every_codec(spark: SparkSession, broker: FilledBroker) -> None:
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    records: list[Any] = [
        (None, b"1", TIME, ()),
        (b"", None, TIME, [("trace", b"a"), ("trace", None), ("empty", b"")]),
        (b"3", b"", TIME, ()),
    ]
    broker.create_topic("codecs")
    for codec in codecs:
        broker.append("codecs", 0, records, compression=codec)
    rows = load(spark, broker, subscribe="codecs", includeHeaders="true").orderBy("offset").collect()
    assert [(row.key, row.value) for row in rows] == [(None, b"1"), (b"", None), (b"3", b"")] * len(codecs)
    assert [row.headers and [tuple(each) for each in row.headers] for row in rows] == [
        None,
        [("trace", b"a"), ("trace", None), ("empty", b"")],
        None,
    ] * len(codecs)


def test_a_schema_is_a_projection(spark: SparkSession, broker: FilledBroker) -> None:
    frame = load(
        spark, broker, "headers array<struct<key string, value binary>>, offset bigint", subscribe="my-orders-2"
    )
    assert frame.columns == ["headers", "offset"]
    assert sorted(tuple(row) for row in frame.collect()) == [(None, 0), (None, 1), (None, 2)]
    assert load(spark, broker, "topic string", subscribe="my-orders-2").distinct().collect() == [("my-orders-2",)]
    with pytest.raises(PySparkException, match="column 'value' of the records table is binary, the schema says string"):
        load(spark, broker, "value string", subscribe="orders").count()


def test_a_pattern_is_searched_for_as_the_connector_does(spark: SparkSession, broker: FilledBroker) -> None:
    assert offsets(load(spark, broker, subscribePattern="orders")).keys() == {
        *(("orders", 0), ("orders", 1)),
        ("my-orders-2", 0),
    }
    assert offsets(load(spark, broker, subscribePattern="^no-such")) == {}


def test_ranges_are_split_among_tasks(spark: SparkSession, broker: FilledBroker) -> None:
    frame = load(spark, broker, subscribe="orders", minPartitions="6")
    assert frame.rdd.getNumPartitions() == 6
    assert offsets(frame) == {("orders", 0): list(range(100)), ("orders", 1): list(range(10))}
    assert load(spark, broker, subscribe="orders", maxRecordsPerPartition="30").rdd.getNumPartitions() == 5


def test_connections_are_kept_by_the_worker(spark: SparkSession, broker: FilledBroker) -> None:
    frame = load(spark, broker, "offset bigint", subscribe="orders", maxRecordsPerPartition="5")
    frame.count()
    before = broker.count("ApiVersions")
    assert frame.count() == 110
    assert broker.count("ApiVersions") - before <= 4


REFUSED: list[tuple[dict[str, str], str]] = [
    ({"subscribe": "no-such-topic"}, "topic 'no-such-topic'"),
    ({"subscribe": "orders", "kafka.auto.offset.reset": "latest"}, "kafka.auto.offset.reset cannot be set"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED, ids=lambda value: str(value)[:50])
def test_unreadable_topics_are_refused_with_a_reason(
    spark: SparkSession, broker: FilledBroker, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(PySparkException) as refused:
        load(spark, broker, **options).count()
    assert problem in str(refused.value)


def test_deleted_records_fail_the_read_or_are_skipped_as_asked(spark: SparkSession, broker: FilledBroker) -> None:
    broker.create_topic("short")
    broker.fill("short", 20)
    broker.delete_records("short", 0, before=15)
    start = json.dumps({"short": {"0": 5}})
    with pytest.raises(PySparkException, match=r"short-0: offset 5 is before the start of the log, 15\. Retention may"):
        load(spark, broker, subscribe="short", startingOffsets=start).count()
    frame = load(spark, broker, subscribe="short", startingOffsets=start, failOnDataLoss="false")
    assert offsets(frame) == {("short", 0): [15, 16, 17, 18, 19]}
    assert load(spark, broker, subscribe="short").count() == 5


def test_filters_of_one_query_are_not_those_of_the_next(spark: SparkSession, broker: FilledBroker) -> None:
    frame = load(spark, broker, subscribe="my-orders-2")
    assert frame.filter("offset < 1").count() == 1
    assert frame.count() == 3
    assert frame.filter("offset < 1").union(frame.filter("offset > 1")).count() == 2


def test_actions_on_one_frame_read_the_same_records(spark: SparkSession, broker: FilledBroker) -> None:
    broker.create_topic("growing")
    broker.fill("growing", 2)
    frame = load(spark, broker, "offset bigint", subscribe="growing")
    assert frame.count() == 2
    broker.fill("growing", 3)
    assert frame.count() == 2
    assert load(spark, broker, "offset bigint", subscribe="growing").count() == 5


def test_sql_reads_a_view_of_a_topic(spark: SparkSession, broker: FilledBroker) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW topic_view USING kafkawire OPTIONS"
        f" (`kafka.bootstrap.servers` '{broker.bootstrap_servers}', subscribe 'orders')"
    )
    assert spark.sql("SELECT count(*) AS n FROM topic_view").collect()[0].n == 110


def test_spark_finds_the_format_by_itself() -> None:
    assert issubclass(DefaultSource, DataSource)
    assert DefaultSource.name() == "kafkawire"


def test_the_name_kafka_stays_sparks_own(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="KAFKA_DATA_SOURCE_NOT_ENABLED"):
        spark.read.format("kafka").load()


def test_looking_for_the_format_imports_nothing_heavy() -> None:
    script = "import sys, pyspark_kafkawire; print({'kafkawire.client', 'kafkawire.records'} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "set()"
