"""`deliveryGuarantee` exactly-once: every row once for readers of committed records, or nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from tests.spark.filled_broker import FilledBroker

from kafkawire.client import BulkReader
from kafkawire.client.blocking import Admin, Producer
from kafkawire.spark._exactly_once.decision_log import read_decisions
from kafkawire.spark._exactly_once.options import DECISIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ONCE = {"deliveryGuarantee": "exactly-once"}


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("out", 3)
        yield broker


def write(frame: DataFrame, broker: FilledBroker, **options: str) -> None:
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    frame.write.format("kafkawire").mode("append").options(**servers, **ONCE, topic="out", **options).save()


def committed(broker: FilledBroker, topic: str = "out", isolation: str = "read_committed") -> Counter[str]:
    with BulkReader(broker.bootstrap_servers, isolation_level=isolation, fetch_max_wait_ms=20) as reader:
        return Counter(
            str(value, "utf-8")
            for partition in reader.partitions(topic)
            for batch in reader.read(topic, partition, 0)
            for value in batch.column("value").to_pylist()
            if value is not None
        )


def open_transactions(broker: FilledBroker) -> list[Any]:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        return admin.list_transactions(states=["Ongoing"])


def numbers(spark: SparkSession, count: int, tasks: int) -> DataFrame:
    return spark.range(0, count, 1, tasks).select(F.col("id").cast("string").alias("value"))


def test_a_batch_write_of_several_tasks_is_committed_whole(spark: SparkSession, broker: FilledBroker) -> None:
    write(numbers(spark, 5_000, 4), broker)
    assert committed(broker) == Counter(map(str, range(5_000)))
    assert open_transactions(broker) == []
    decisions = list(read_decisions({"bootstrap.servers": broker.bootstrap_servers}, DECISIONS))
    assert [decision is None for _, decision in decisions] == [False, False, True], "open, complete, forgotten"


def test_a_batch_write_whose_task_fails_writes_nothing(spark: SparkSession, broker: FilledBroker) -> None:
    rows = numbers(spark, 4_000, 4).select(
        F.when(F.col("value") == "3999", F.raise_error(F.lit("as arranged"))).otherwise(F.col("value")).alias("value")
    )
    with pytest.raises(PySparkException, match="as arranged"):
        write(rows, broker)
    assert committed(broker) == Counter()
    assert committed(broker, isolation="read_uncommitted").total() > 0, "no task has written before the failure"
    assert open_transactions(broker) == []


def test_a_write_of_one_task_needs_no_decision(spark: SparkSession, broker: FilledBroker) -> None:
    write(numbers(spark, 100, 1), broker)
    assert committed(broker) == Counter(map(str, range(100)))
    assert broker.count("CreateTopics") == 0


def test_a_batch_write_with_a_name_is_written_once_however_often_it_runs(
    spark: SparkSession, broker: FilledBroker
) -> None:
    for _ in range(3):
        write(numbers(spark, 600, 3), broker, sinkId="backfill.2026")
    write(numbers(spark, 10, 2), broker, sinkId="backfill.2027")
    assert committed(broker) == Counter(map(str, range(600))) + Counter(map(str, range(10)))
    assert open_transactions(broker) == []


def test_numbered_batches_of_a_name_are_written_once_each(spark: SparkSession, broker: FilledBroker) -> None:
    for number in (0, 1, 1, 2):
        rows = numbers(spark, 30, 2).select(F.concat(F.lit(f"{number}-"), "value").alias("value"))
        write(rows, broker, sinkId="hourly", sinkBatch=str(number))
    assert committed(broker) == Counter(f"{number}-{row}" for number in range(3) for row in range(30))
    with pytest.raises(PySparkException, match="batch 1 was requested, but batch 2 is decided already"):
        write(numbers(spark, 30, 2), broker, sinkId="hourly", sinkBatch="1")


def test_a_stream_goes_on_where_it_failed_between_the_decision_and_the_commit(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    broker.create_topic("in", 3)
    for partition in range(3):
        broker.fill("in", 100, partition=partition, first=1000 * partition)
    expected = Counter(f"v{1000 * partition + number}" for partition in range(3) for number in range(100))
    # The first EndTxn commits the decision. Two of the three transactions of tasks are refused for good.
    broker.delay_next("EndTxn", 0)
    broker.fail_next("EndTxn", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", times=2)
    with pytest.raises(PySparkException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        copy(spark, broker, tmp_path)
    copy(spark, broker, tmp_path)
    assert committed(broker) == expected
    assert open_transactions(broker) == []


def copy(spark: SparkSession, broker: FilledBroker, directory: Path, **options: str) -> None:
    """Stream everything from one topic to another."""
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    rows = spark.readStream.format("kafkawire").options(**servers, subscribe="in", startingOffsets="earliest").load()
    query = (
        rows.select("key", "value")
        .writeStream.format("kafkawire")
        .options(**servers, **ONCE, topic="out", checkpointLocation=str(directory / "checkpoint"), **options)
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_every_batch_of_a_stream_is_committed(spark: SparkSession, broker: FilledBroker, tmp_path: Path) -> None:
    broker.create_topic("in", 2)
    for first in range(0, 300, 100):
        for partition in range(2):
            broker.fill("in", 100, partition=partition, first=first)
        copy(spark, broker, tmp_path)
    assert committed(broker) == Counter(f"v{number}" for number in range(300) for _ in range(2))
    assert open_transactions(broker) == []


def test_a_timeout_that_the_brokers_do_not_allow_is_explained(spark: SparkSession, broker: FilledBroker) -> None:
    with pytest.raises(PySparkException, match=r"set kafka\.transaction\.timeout\.ms to their transaction\.max"):
        write(numbers(spark, 10, 1), broker, **{"kafka.transaction.timeout.ms": "999999999"})


def test_readers_see_uncommitted_records_unless_they_ask_otherwise(spark: SparkSession, broker: FilledBroker) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id="aborts") as producer:
        producer.begin()
        for number in range(100):
            producer.send("out", str(number).encode())
        producer.flush()
        producer.abort()
    reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    reader = reader.options(subscribe="out", **{"kafka.fetch.max.wait.ms": "20"})
    assert reader.load().count() == 100
    assert reader.option("kafka.isolation.level", "read_committed").load().count() == 0
