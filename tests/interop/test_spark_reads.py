"""Spark's own Kafka connector and ours read the same topics of the same brokers: the same rows, the same tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from tests.interop.filled_topics import TIME, TOPICS
from tests.interop.spark_connector import OURS, THEIRS, load, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from tests.interop.apache_kafka import ApacheBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

ALL = {"subscribe": ",".join(topic.name for topic in TOPICS)}
PLAIN = {"assign": '{"spark-plain":[0,1]}'}
SAME_ROWS: dict[str, tuple[dict[str, str], int]] = {
    "all there is": ({**ALL, "includeHeaders": "true"}, 147),
    "without headers": (ALL, 147),
    "a pattern": ({"subscribePattern": "spark-(plain|codecs|empty)"}, 132),
    "a pattern within a name": ({"subscribePattern": "ark-pl"}, 107),
    "partitions by number": ({"assign": '{"spark-plain":[1,2],"spark-codecs":[0]}', "includeHeaders": "true"}, 32),
    "offsets": (
        {
            **PLAIN,
            "startingOffsets": '{"spark-plain":{"0":95,"1":-2}}',
            "endingOffsets": '{"spark-plain":{"0":-1,"1":3}}',
        },
        8,
    ),
    "times": ({**PLAIN, "startingTimestamp": str(TIME + 4_500), "endingTimestamp": str(TIME + 60_000)}, 57),
    "times by partition": (
        {
            **PLAIN,
            "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 3_000},"1":{TIME}}}}}',
            "endingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 9_001},"1":{TIME + 5_000}}}}}',
        },
        12,
    ),
    "times that go before offsets": (
        {**PLAIN, "startingTimestamp": str(TIME + 6_000), "startingOffsets": '{"spark-plain":{"0":1,"1":1}}'},
        95,
    ),
    "a time after the last record, which is the end": (
        {
            **PLAIN,
            "startingTimestamp": str(TIME + 50_000),
            "startingOffsetsByTimestampStrategy": "latest",
            "endingTimestamp": str(TIME + 10**9),
        },
        50,
    ),
    "what is left of deleted records": (
        {
            "subscribe": "spark-begins-late",
            "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
            "failOnDataLoss": "false",
        },
        9,
    ),
    "more tasks": ({"subscribe": "spark-plain", "minPartitions": "9"}, 107),
    "small tasks": ({"subscribe": "spark-plain", "maxRecordsPerPartition": "30"}, 107),
    "more and small tasks": ({"subscribe": "spark-plain", "maxRecordsPerPartition": "40", "minPartitions": "6"}, 107),
    "small fetches": (
        {"subscribe": "spark-codecs", "kafka.max.partition.fetch.bytes": "1000", "includeHeaders": "true"},
        25,
    ),
}


@pytest.mark.parametrize("name", SAME_ROWS)
def test_the_rows_are_the_same(spark: SparkSession, filled: str, name: str) -> None:
    options, count = SAME_ROWS[name]
    ours, theirs = (load(spark, form, filled, options) for form in (OURS, THEIRS))
    assert ours.schema == theirs.schema
    expected = rows_of(theirs)
    assert sum(map(len, expected.values())) == count
    assert rows_of(ours) == expected


@pytest.mark.parametrize(("level", "count"), [("read_committed", 3), ("read_uncommitted", 9)])
def test_the_rows_of_transactions_are_the_same(
    spark: SparkSession, transactions: str, apache_kafka: ApacheBroker, level: str, count: int
) -> None:
    options = {"subscribe": transactions, "kafka.isolation.level": level}
    ours, theirs = (rows_of(load(spark, form, apache_kafka.bootstrap, options)) for form in (OURS, THEIRS))
    assert ours == theirs
    assert len(ours[transactions, 0]) == count


def test_the_rows_of_a_named_group_are_the_same(spark: SparkSession, filled: str) -> None:
    options = {"subscribe": "spark-plain", "kafka.group.id": f"spark-{filled}"}
    ours, theirs = (rows_of(load(spark, form, filled, options)) for form in (OURS, THEIRS))
    assert ours == theirs


def tasks(frame: DataFrame) -> list[Any]:
    """The rows that each task read: topic, partition, first and last offset."""
    grouped = frame.groupBy(F.spark_partition_id().alias("task"), "topic", "partition")
    found = grouped.agg(F.min("offset").alias("first"), F.max("offset").alias("last")).drop("task").collect()
    return sorted(tuple(row) for row in found)


# In a batch, Spark's connector looks at maxRecordsPerPartition only beside minPartitions; ours always does.
@pytest.mark.parametrize("name", ["more tasks", "more and small tasks", "all there is"])
def test_tasks_have_the_same_ranges(spark: SparkSession, filled: str, name: str) -> None:
    options, _ = SAME_ROWS[name]
    ours, theirs = (tasks(load(spark, form, filled, options)) for form in (OURS, THEIRS))
    assert ours == theirs


REFUSED_BY_BOTH: dict[str, dict[str, str]] = {
    "no topics": {},
    "two ways to say which": {"subscribe": "spark-plain", "assign": '{"spark-plain":[0]}'},
    "a batch from the end": {"subscribe": "spark-plain", "startingOffsets": "latest"},
    "a batch to the beginning": {"subscribe": "spark-plain", "endingOffsets": "earliest"},
    "offset -1 to start at": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":-1,"1":0}}'},
    "offset -2 to end at": {**PLAIN, "endingOffsets": '{"spark-plain":{"0":-2,"1":0}}'},
    "a partition without an offset": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":1}}'},
    "an offset without a partition": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":1,"1":1,"2":0}}'},
    "no record that late": {**PLAIN, "startingTimestamp": str(TIME + 10**9)},
    "no task": {**PLAIN, "minPartitions": "0"},
    "no record a task": {**PLAIN, "maxRecordsPerPartition": "0"},
    "where to start by the client": {**PLAIN, "kafka.auto.offset.reset": "earliest"},
    "decoders": {**PLAIN, "kafka.key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer"},
    "commits by the client": {**PLAIN, "kafka.enable.auto.commit": "true"},
    "interceptors": {**PLAIN, "kafka.interceptor.classes": "x.Y"},
    "an empty pattern": {"subscribePattern": " "},
    "deleted offsets": {
        "subscribe": "spark-begins-late",
        "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
    },
}


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_both_refuse(spark: SparkSession, filled: str, form: str, name: str) -> None:
    with pytest.raises((PySparkException, Py4JError)):
        load(spark, form, filled, REFUSED_BY_BOTH[name]).collect()
