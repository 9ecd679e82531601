"""`spark.readStream.format("kafkawire")` on a running Spark: checkpoints, restarts, progress."""

from __future__ import annotations

import json
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from tests.spark.filled_broker import FilledBroker

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.spark._topics.groups import read_group
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.progress import LagListener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t", 2)
        broker.fill("t", 20)
        broker.fill("t", 10, partition=1)
        yield broker


def run(spark: SparkSession, broker: FilledBroker, checkpoint: Path, rows: list[Any], **options: str) -> StreamingQuery:
    """Read what is there now, from the checkpoint on if there is one; rows are added to the list."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    frame = (
        spark.readStream.format("kafkawire")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("kafka.fetch.max.wait.ms", "50")
        .option("subscribe", "t")
        .options(**{"startingOffsets": "earliest", **named})
        .load()
    )
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.select("partition", "offset").collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)
    return query


def test_a_refused_option_is_the_reason_of_a_failed_query(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    with pytest.raises(StreamingQueryException) as refused:
        run(spark, broker, tmp_path, [], minOffsetsPerTrigger="9", maxOffsetsPerTrigger="5")
    assert "SourceOptionError: minOffsetsPerTrigger is 9, more than maxOffsetsPerTrigger, 5" in str(refused.value)
    assert "UnboundLocalError" not in str(refused.value)


def test_a_restart_goes_on_exactly_where_the_checkpoint_left(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    rows: list[Any] = []
    query = run(spark, broker, tmp_path, rows, maxOffsetsPerTrigger="15")
    assert [progress.numInputRows for progress in query.recentProgress if progress.numInputRows] == [15, 15]
    broker.fill("t", 5, first=20)
    broker.add_partitions("t", 3)
    broker.fill("t", 2, partition=2)
    run(spark, broker, tmp_path, rows)
    expected = [(0, n) for n in range(25)] + [(1, n) for n in range(10)] + [(2, n) for n in range(2)]
    assert sorted(tuple(row) for row in rows) == expected


def test_a_crash_before_the_first_commit_loses_nothing(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    before: list[Any] = []
    run(spark, broker, tmp_path, before, startingOffsets='{"t":{"0":15,"1":10}}')
    for commit in (tmp_path / "commits").iterdir():
        commit.unlink()
    after: list[Any] = []
    run(spark, broker, tmp_path, after, startingOffsets='{"t":{"0":18,"1":10}}')
    assert before == after
    assert sorted(row.offset for row in after) == [15, 16, 17, 18, 19]


def test_progress_has_offsets_in_the_connectors_shape_and_the_lag(
    spark: SparkSession, broker: FilledBroker, tmp_path: Path
) -> None:
    lags: Queue[dict[str, dict[int, int]]] = Queue()
    listener = LagListener(lambda _, lag: lags.put(lag))
    spark.streams.addListener(listener)
    try:
        query = run(spark, broker, tmp_path, [], maxOffsetsPerTrigger="15")
        assert lags.get(timeout=60) == {"t": {0: 10, 1: 5}}
        assert lags.get(timeout=60) == {"t": {0: 0, 1: 0}}
    finally:
        spark.streams.removeListener(listener)
    [source] = query.recentProgress[0].sources
    assert json.loads(source.latestOffset) == {"t": {"0": 20, "1": 10}}
    assert json.loads(query.recentProgress[1].sources[0].endOffset) == {"t": {"0": 20, "1": 10}}


def test_the_group_has_the_offsets_of_the_last_batch(spark: SparkSession, broker: FilledBroker, tmp_path: Path) -> None:
    group = {"kafka__group__id": "g", "commitOffsets": "true"}
    run(spark, broker, tmp_path, [], **group)
    asked = TopicOptions.parse(
        {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t", "kafka.group.id": "g"}, is_stream=False
    )
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert read_group(asked, partitions) == dict(zip(partitions, (20, 10), strict=True))
