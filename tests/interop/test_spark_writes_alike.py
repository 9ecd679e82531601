"""Spark's own Kafka connector and ours write the same rows with the same options, and refuse the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tests.interop.spark_cases import REFUSED
from tests.interop.spark_connector import OURS, THEIRS, load
from tests.interop.spark_write_cases import DIFFERENT_WRITES, REFUSED_WRITES, SAME_WRITES, TOPIC, Write
from tests.interop.test_spark_writes import new_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def write(spark: SparkSession, form: str, address: str, wanted: Write) -> list[Any]:
    """The rows that were written, without their times and the name of the topic."""
    topic = new_topic(address)
    columns = [column.replace(TOPIC, topic) for column in wanted.columns]
    options = {name: value.replace(TOPIC, topic) for name, value in wanted.options.items()}
    frame = spark.range(20).coalesce(1).selectExpr(*columns)
    writer = frame.write.format(form).mode("append").option("kafka.bootstrap.servers", address)
    writer.options(**options).save()
    rows = load(spark, THEIRS, address, {"subscribe": topic, "includeHeaders": "true"})
    found = rows.orderBy("partition", "offset").select("partition", "offset", "key", "value", "headers").collect()
    return [tuple(row) for row in found]


@pytest.mark.parametrize("name", SAME_WRITES)
def test_the_written_rows_are_the_same(spark: SparkSession, filled: str, name: str) -> None:
    ours, theirs = (write(spark, form, filled, SAME_WRITES[name]) for form in (OURS, THEIRS))
    assert len(theirs) == 20
    assert ours == theirs


@pytest.mark.parametrize("name", REFUSED_WRITES)
@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_both_refuse(spark: SparkSession, filled: str, form: str, name: str) -> None:
    with pytest.raises((PySparkException, Py4JError)):
        write(spark, form, filled, REFUSED_WRITES[name])


@pytest.mark.parametrize("name", DIFFERENT_WRITES)
def test_the_difference_is_the_one_in_the_table(spark: SparkSession, filled: str, name: str) -> None:
    different = DIFFERENT_WRITES[name]
    for form, expected in ((OURS, different.ours), (THEIRS, different.theirs)):
        if expected == REFUSED:
            with pytest.raises((PySparkException, Py4JError)):
                write(spark, form, filled, different.write)
        else:
            assert len(write(spark, form, filled, different.write)) == expected
