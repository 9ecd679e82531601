"""Spark's own Kafka connector and ours stream the same topics of the same brokers, and go on from one another."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tests.interop.filled_topics import FOR_EVER, append, numbered
from tests.interop.spark_cases import REFUSED
from tests.interop.spark_connector import OURS, THEIRS, Streamed, stream
from tests.interop.spark_stream_cases import DIFFERENT_STREAMS, EARLIEST, REFUSED_STREAMS, SAME_TRIGGERS

from kafkawire.client._admin.types import NewTopic
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.interop.apache_kafka import ApacheBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COLUMNS = ("topic", "partition", "offset", "key", "value", "timestamp", "timestampType")


@pytest.mark.parametrize("name", SAME_TRIGGERS)
def test_triggers_have_the_same_rows_and_end_at_the_same_offsets(
    spark: SparkSession, filled: str, tmp_path: Path, name: str
) -> None:
    ours, theirs = (
        stream(spark, form, filled, tmp_path / form, SAME_TRIGGERS[name], COLUMNS) for form in (OURS, THEIRS)
    )
    assert any(theirs.batches)
    assert ours == theirs


@pytest.mark.parametrize("name", REFUSED_STREAMS)
@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_both_refuse(spark: SparkSession, filled: str, tmp_path: Path, form: str, name: str) -> None:
    with pytest.raises((PySparkException, Py4JError)):
        stream(spark, form, filled, tmp_path, REFUSED_STREAMS[name], COLUMNS)


@pytest.mark.parametrize("name", DIFFERENT_STREAMS)
def test_the_difference_is_the_one_in_the_table(spark: SparkSession, filled: str, tmp_path: Path, name: str) -> None:
    different = DIFFERENT_STREAMS[name]
    for form, expected in ((OURS, different.ours), (THEIRS, different.theirs)):
        if expected == REFUSED:
            with pytest.raises((PySparkException, Py4JError)):
                stream(spark, form, filled, tmp_path / form, different.options, COLUMNS)
        else:
            assert sum(map(len, stream(spark, form, filled, tmp_path / form, different.options, COLUMNS).batches)) == (
                expected
            )


def test_triggers_leave_out_the_same_transactions(
    spark: SparkSession, transactions: str, apache_kafka: ApacheBroker, tmp_path: Path
) -> None:
    options = {"subscribe": transactions, "kafka.isolation.level": "read_committed", **EARLIEST}
    ours, theirs = (
        stream(spark, form, apache_kafka.bootstrap, tmp_path / form, options, COLUMNS) for form in (OURS, THEIRS)
    )
    assert ours == theirs
    assert [len(batch) for batch in ours.batches] == [3]


def new_topic(address: str, partitions: int) -> str:
    name = f"spark-stream-{uuid4().hex[:8]}"
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(name=name, num_partitions=partitions, topic_configs=FOR_EVER)])
    return name


def test_partitions_that_appear_are_read_alike(spark: SparkSession, filled: str, tmp_path: Path) -> None:
    topic = new_topic(filled, 1)
    append(filled, topic, 0, map(numbered, range(10)))
    options = {"subscribe": topic, **EARLIEST}
    found: dict[str, list[Streamed]] = {form: [] for form in (OURS, THEIRS)}
    for turn in range(2):
        for form, streamed in found.items():
            streamed.append(stream(spark, form, filled, tmp_path / form, options, COLUMNS))
        if not turn:
            with Admin(bootstrap_servers=filled) as admin:
                admin.create_partitions({topic: 2})
            append(filled, topic, 1, map(numbered, range(5)))
            append(filled, topic, 0, map(numbered, range(10, 12)))
    assert found[OURS] == found[THEIRS]
    assert [len(batch) for streamed in found[OURS] for batch in streamed.batches] == [10, 7]


def test_a_checkpoint_of_theirs_is_gone_on_from_by_ours(spark: SparkSession, filled: str, tmp_path: Path) -> None:
    topic = new_topic(filled, 2)
    append(filled, topic, 0, map(numbered, range(10)))
    options = {"subscribe": topic, **EARLIEST}
    before = stream(spark, THEIRS, filled, tmp_path, options, ["partition", "offset"])
    append(filled, topic, 0, map(numbered, range(10, 13)))
    append(filled, topic, 1, map(numbered, range(2)))
    after = stream(spark, OURS, filled, tmp_path, options, ["partition", "offset"])
    assert before.batches == [[(0, offset) for offset in range(10)]]
    assert after.batches == [[(0, 10), (0, 11), (0, 12), (1, 0), (1, 1)]]


def test_a_checkpoint_of_ours_is_gone_on_from_by_theirs_after_its_first_batch(
    spark: SparkSession, filled: str, tmp_path: Path
) -> None:
    topic = new_topic(filled, 1)
    append(filled, topic, 0, map(numbered, range(10)))
    options = {"subscribe": topic, **EARLIEST}
    before = stream(spark, OURS, filled, tmp_path, {**options, "maxOffsetsPerTrigger": "5"}, ["offset"])
    append(filled, topic, 0, map(numbered, range(10, 13)))
    after = stream(spark, THEIRS, filled, tmp_path, options, ["offset"])
    assert [len(batch) for batch in before.batches] == [5, 5]
    assert after.batches == [[(10,), (11,), (12,)]]
