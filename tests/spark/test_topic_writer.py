"""`df.write.format("kafkawire")` and `writeStream`: what is written is read back, what is refused fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from tests.spark.filled_broker import FilledBroker

from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._produce.partitioner import partition_of_key
from kafkawire.spark import SourceOptionError
from kafkawire.spark._topics.writer import WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        yield broker


def write(frame: DataFrame, broker: FilledBroker, **options: str) -> None:
    named = {name.replace("__", "."): value for name, value in options.items()}
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    frame.write.format("kafkawire").mode("append").options(**servers, **named).save()


def read(broker: FilledBroker, topic: str) -> list[dict[str, Any]]:
    with BulkReader(broker.bootstrap_servers, fetch_max_wait_ms=20) as reader:
        tables = [
            pa.Table.from_batches(batches).append_column("partition", pa.repeat(partition, batches[0].num_rows))
            for partition in reader.partitions(topic)
            if (batches := list(reader.read(topic, partition, 0)))
        ]
        return [row for table in tables for row in table.to_pylist()]


def test_rows_go_to_their_topics_and_partitions_with_keys_and_headers(
    spark: SparkSession, broker: FilledBroker
) -> None:
    for topic in ("red", "blue"):
        broker.create_topic(topic, 3)
    schema = (
        "key string, value binary, topic string, partition int, headers array<struct<key string, value binary>>,"
        " ignored double"
    )
    rows: list[Any] = [
        ("a", bytearray(b"1"), "red", None, [("h", bytearray(b"x")), ("h", None)], 0.5),
        (None, None, "red", 2, None, 0.5),
        ("c", bytearray(b""), "blue", 1, [], 0.5),
    ]
    write(spark.createDataFrame(rows, schema).coalesce(1), broker)
    red = sorted(read(broker, "red"), key=lambda row: row["key"] or b"")
    assert [(row["key"], row["value"], row["partition"]) for row in red] == [
        (None, None, 2),
        (b"a", b"1", partition_of_key(b"a", 3)),
    ]
    assert [row["headers"] for row in red] == [[], [{"key": "h", "value": b"x"}, {"key": "h", "value": None}]]
    [blue] = read(broker, "blue")
    assert (blue["key"], blue["value"], blue["partition"], blue["headers"]) == (b"c", b"", 1, [])


def test_headers_of_literals_are_written(spark: SparkSession, broker: FilledBroker) -> None:
    """Spark knows that they are not null, so their type differs from that of a read."""
    header = F.struct(F.lit("h").alias("key"), F.lit("x").cast("binary").alias("value"))
    write(spark.range(1).select(F.lit("v").alias("value"), F.array(header).alias("headers")), broker, topic="literal")
    [row] = read(broker, "literal")
    assert (row["value"], row["headers"]) == (b"v", [{"key": "h", "value": b"x"}])


def test_written_rows_are_read_back_equal(spark: SparkSession, broker: FilledBroker) -> None:
    broker.create_topic("round", 2)
    rows = spark.range(30_000).select(
        F.col("id").cast("string").alias("key"), F.sha2(F.col("id").cast("string"), 256).alias("value")
    )
    write(rows, broker, topic="round", kafka__compression__type="lz4")
    back = (
        spark.read.format("kafkawire")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", "round")
        .load()
        .select(F.col("key").cast("string"), F.col("value").cast("string"))
    )
    assert back.count() == 30_000
    assert back.exceptAll(rows).count() == 0


def test_a_row_that_the_broker_refuses_fails_the_query_with_its_error(
    spark: SparkSession, broker: FilledBroker
) -> None:
    broker.create_topic("tight", configs={"max.message.bytes": "300"})
    rows = spark.range(1).select(F.repeat(F.lit("x"), 1000).alias("value"))
    with pytest.raises(PySparkException, match=r"MESSAGE_TOO_LARGE.*tight-0"):
        write(rows, broker, topic="tight")
    with pytest.raises(PySparkException, match="a row has no topic"):
        write(spark.sql("SELECT 'x' AS value, CAST(NULL AS STRING) AS topic"), broker)


def test_a_stream_is_written_from_topic_to_topic(spark: SparkSession, broker: FilledBroker, tmp_path: Path) -> None:
    broker.create_topic("from")
    broker.create_topic("to")
    broker.fill("from", 20)
    servers = broker.bootstrap_servers
    options = {"subscribe": "from", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "12"}
    rows = spark.readStream.format("kafkawire").option("kafka.bootstrap.servers", servers).options(**options).load()
    query = (
        rows.select("key", "value")
        .writeStream.format("kafkawire")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", "to")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)
    assert [(row["key"], row["value"]) for row in read(broker, "to")] == [(b"k%d" % n, b"v%d" % n) for n in range(20)]


def test_the_option_overrides_the_column(spark: SparkSession, broker: FilledBroker) -> None:
    broker.create_topic("said")
    write(spark.sql("SELECT 'x' AS value, 'column' AS topic"), broker, topic="said", includeHeaders="true")
    assert [row["value"] for row in read(broker, "said")] == [b"x"]


def test_a_stream_may_write_its_whole_result_again_and_again(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    for topic in ("counted", "counts"):
        broker.create_topic(topic)
    broker.fill("counted", 4)
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    reader = spark.readStream.format("kafkawire").options(**servers, subscribe="counted", startingOffsets="earliest")
    counts = reader.option("maxOffsetsPerTrigger", "2").load().groupBy("topic").count()
    query = (
        counts.selectExpr("CAST(count AS STRING) AS value")
        .writeStream.format("kafkawire")
        .outputMode("complete")
        .options(**servers, topic="counts", checkpointLocation=str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)
    assert [row["value"] for row in read(broker, "counts")] == [b"2", b"4"]


def test_a_topic_cannot_be_overwritten(spark: SparkSession, broker: FilledBroker) -> None:
    writer = spark.sql("SELECT 'x' AS value").write.format("kafkawire").mode("overwrite").option("topic", "red")
    with pytest.raises(PySparkException, match="a topic cannot be overwritten; use mode append"):
        writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).save()


def test_spark_itself_refuses_a_write_without_a_mode(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        spark.sql("SELECT 'x' AS value").write.format("kafkawire").option("topic", "red").save()


TEXT = StructField("value", StringType())
TOPIC = {"topic": "t"}
REFUSED: list[tuple[list[StructField], dict[str, str], str]] = [
    ([StructField("key", StringType())], TOPIC, "rows need a column 'value'; they have key"),
    ([TEXT], {}, "rows need a column 'topic', or the option topic"),
    ([StructField("value", IntegerType())], TOPIC, "column 'value' is int, expected string or binary"),
    ([TEXT, StructField("partition", LongType())], TOPIC, "column 'partition' is bigint, expected int"),
    ([TEXT, StructField("headers", StringType())], TOPIC, "column 'headers' is string, expected array<struct<key"),
    ([TEXT], {"topics": "t"}, "has no option 'topics' for writing; did you mean topic?"),
    ([TEXT], {**TOPIC, "kafka.key.serializer": "X"}, "kafka.key.serializer cannot be set"),
    ([TEXT], {**TOPIC, "kafka.partitioner.class": "X"}, "compute the partition column"),
    ([TEXT], {**TOPIC, "kafka.acks": "0"}, "the broker would not report whether rows were stored"),
    (
        [TEXT],
        {**TOPIC, "kafka.ssl.keystore": "x"},
        "no option 'kafka.ssl.keystore' for the producer; did you mean 'kafka.ssl.keystore.key'?",
    ),
    ([TEXT], {**TOPIC, "kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
]


STRING, BINARY = StringType(), BinaryType()


@pytest.mark.parametrize(
    "fields", [{"key": STRING, "value": STRING}, {"key": BINARY, "value": BINARY}, {"value": BINARY, "key": STRING}]
)
def test_headers_of_other_types_are_refused(fields: dict[str, DataType]) -> None:
    header = StructType([StructField(*each) for each in fields.items()])
    schema = StructType([StructField("value", STRING), StructField("headers", ArrayType(header))])
    with pytest.raises(SourceOptionError, match="column 'headers' is array<struct<"):
        WriteOptions.parse({"kafka.bootstrap.servers": "k:9092", "topic": "t"}, schema)


def test_an_empty_topic_is_refused_at_once() -> None:
    schema = StructType([StructField("value", StringType())])
    with pytest.raises(SourceOptionError, match="topic is '', expected the name of a topic"):
        WriteOptions.parse({"kafka.bootstrap.servers": "k:9092", "topic": ""}, schema)


@pytest.mark.parametrize(("fields", "options", "problem"), REFUSED, ids=lambda value: str(value)[:40])
def test_rows_that_cannot_be_written_are_refused(
    fields: list[StructField], options: dict[str, str], problem: str
) -> None:
    with pytest.raises(SourceOptionError) as refused:
        WriteOptions.parse({"kafka.bootstrap.servers": "k:1", **options}, StructType(fields))
    assert problem in str(refused.value)
