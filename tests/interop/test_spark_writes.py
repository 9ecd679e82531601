"""Spark's own Kafka connector and ours read what the other wrote; log files give what the live topic gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from tests.interop.filled_topics import CODECS, TOPICS
from tests.interop.spark_connector import OURS, THEIRS, load, rows_of

from kafkawire.client._admin.types import NewTopic
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SCHEMA = "key binary, value binary, partition int, headers array<struct<key string, value binary>>"
ROWS: list[Any] = [
    *[(b"key-%d" % number, b"value-%d" % number, None, None) for number in range(200)],
    (None, b"no key", 1, None),
    (b"no value", None, 2, [("h", bytearray(b"x"))]),
    (b"", b"", None, [("same", bytearray(b"1")), ("same", bytearray(b"2")), ("empty", bytearray())]),
]


def new_topic(address: str) -> str:
    name = f"spark-written-{uuid4().hex[:8]}"
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(name=name, num_partitions=3)])
    return name


def write_all(spark: SparkSession, form: str, address: str) -> str:
    """The topic that the rows were written to, once with each codec."""
    topic = new_topic(address)
    frame = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    for codec in CODECS:
        writer = frame.write.format(form).mode("append").option("kafka.bootstrap.servers", address)
        writer.options(**{"topic": topic, "kafka.compression.type": codec}).save()
    return topic


def read(spark: SparkSession, form: str, address: str, topic: str) -> DataFrame:
    return load(spark, form, address, {"subscribe": topic, "includeHeaders": "true"})


def content(frame: DataFrame) -> list[Any]:
    """The place and the content of each row, in order."""
    rows = frame.select("partition", "offset", "key", "value", "headers").orderBy("partition", "offset").collect()
    return [(row.partition, row.key, row.value, row.headers) for row in rows]


def test_each_reads_what_the_other_wrote_with_every_codec(spark: SparkSession, filled: str) -> None:
    by_ours, by_theirs = (write_all(spark, form, filled) for form in (OURS, THEIRS))
    assert rows_of(read(spark, OURS, filled, by_ours)) == rows_of(read(spark, THEIRS, filled, by_ours))
    assert rows_of(read(spark, OURS, filled, by_theirs)) == rows_of(read(spark, THEIRS, filled, by_theirs))
    assert content(read(spark, THEIRS, filled, by_ours)) == content(read(spark, OURS, filled, by_theirs))


@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_each_connector_reads_the_stream_that_the_other_wrote(
    spark: SparkSession, filled: str, tmp_path: Path, form: str
) -> None:
    other = THEIRS if form == OURS else OURS
    topic = new_topic(filled)
    source = spark.readStream.format(other).option("kafka.bootstrap.servers", filled)
    source = source.options(subscribe="spark-codecs", startingOffsets="earliest", includeHeaders="true")
    sink = source.load().select("key", "value", "headers").writeStream.format(form)
    sink = sink.option("kafka.bootstrap.servers", filled).option("topic", topic)
    query = sink.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    expected = read(spark, other, filled, "spark-codecs").select("key", "value", "headers").collect()
    found = read(spark, other, filled, topic).select("key", "value", "headers").collect()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


NAMES = ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"]
BATCH = ["topic", "partition", "base_offset", "last_offset", "record_count", "codec", "magic", "crc", "max_timestamp"]


def ordered(frame: DataFrame, *by: str) -> list[Any]:
    return frame.orderBy(*by).collect()


def test_log_files_give_the_records_of_the_live_topics(spark: SparkSession, filled: str, logs: Path) -> None:
    topics = [topic.name for topic in TOPICS]
    files = spark.read.format("kafkawire-segments").option("table", "records")
    stored = files.load([str(path) for topic in topics for path in logs.glob(f"{topic}-*")])
    stored = stored.withColumn("timestampType", F.col("timestamp_type").cast("int")).select(*NAMES)
    stored = stored.where("topic != 'spark-begins-late' OR partition = 1 OR offset >= 14")
    for form in (OURS, THEIRS):
        live = load(spark, form, filled, {"subscribe": ",".join(topics), "includeHeaders": "true"}).select(*NAMES)
        assert ordered(stored, "topic", "partition", "offset") == ordered(live, "topic", "partition", "offset")


def test_log_files_give_the_batches_of_the_live_topics(spark: SparkSession, filled: str, logs: Path) -> None:
    topics = ["spark-plain", "spark-codecs", "spark-broker-time"]
    files = spark.read.format("kafkawire-segments").option("table", "batches")
    stored = files.load([str(path) for topic in topics for path in logs.glob(f"{topic}-*")]).select(*BATCH)
    live = load(spark, OURS, filled, {"subscribe": ",".join(topics), "table": "batches"}).select(*BATCH)
    found = ordered(stored, "topic", "partition", "base_offset")
    assert len(found) == 11
    assert found == ordered(live, "topic", "partition", "base_offset")
