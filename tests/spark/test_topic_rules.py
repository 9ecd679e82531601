"""The aggregates of live topics, and what the rules find in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.inspect import Thresholds, apply_rules
from kafkawire.spark._pipeline.totals import add_up_records, record_aggregates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = Thresholds(uneven=3.0, uneven_records=100)


def test_a_topic_is_uneven_from_so_many_times_the_mean_on(spark: SparkSession) -> None:
    records = [
        *([("uneven", 0, b"hot")] * 90 + [("uneven", 1, b"k")] * 30),
        *([("nearly", 0, b"k")] * 89 + [("nearly", 1, b"k")] * 31),
        *([("small", 0, b"k")] * 99),
        *([("single", 0, b"k")] * 120),
        *([("keyless", 2, None)] * 120),
    ]
    frame = spark.createDataFrame(records, "topic string, partition int, key binary").selectExpr(
        "*", "timestamp_millis(partition) AS timestamp", "CAST(partition - 1 AS tinyint) AS timestamp_type"
    )
    read = add_up_records(frame)
    assert {each[2:] for each in read if each.topic == "uneven"} == {(90, None, None), (30, 1, 1)}
    counts = {"uneven": 4, "nearly": 4, "small": 4, "single": 1, "keyless": 4}
    found = {finding.entity: finding.text for finding in apply_rules(record_aggregates(frame, read, counts), LIMITS)}
    assert found == {
        "uneven": "uneven-0 has 75 % of the records of 4 partitions; key hot has 90 of its 90",
        "keyless": "keyless-2 has 100 % of the records of 4 partitions",
    }
