"""Spark's own Kafka connector and ours read the same topics of the same brokers: the same rows, the same tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from tests.interop.spark_cases import DIFFERENT_ROWS, REFUSED, REFUSED_BY_BOTH, SAME_ROWS
from tests.interop.spark_connector import OURS, THEIRS, load, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from tests.interop.apache_kafka import ApacheBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


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


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_both_refuse(spark: SparkSession, filled: str, form: str, name: str) -> None:
    with pytest.raises((PySparkException, Py4JError)):
        load(spark, form, filled, REFUSED_BY_BOTH[name]).collect()


@pytest.mark.parametrize("name", DIFFERENT_ROWS)
def test_the_difference_is_the_one_in_the_table(spark: SparkSession, filled: str, name: str) -> None:
    different = DIFFERENT_ROWS[name]
    for form, expected in ((OURS, different.ours), (THEIRS, different.theirs)):
        if expected == REFUSED:
            with pytest.raises((PySparkException, Py4JError)):
                load(spark, form, filled, different.options).collect()
        else:
            assert sum(map(len, rows_of(load(spark, form, filled, different.options)).values())) == expected
