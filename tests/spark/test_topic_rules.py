"""The rules for live topics: groups that are behind or lost, records that are not spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.inspect.diagnose import Thresholds
from kafkawire.spark.group_offsets import GroupOffset
from kafkawire.spark.topic_rules import add_up_records, judge_committed, judge_lag, judge_spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = Thresholds(lag=100, uneven=3.0, uneven_records=100)


def row(committed: int | None, *, partition: int = 0, state: str = "Stable") -> GroupOffset:
    return GroupOffset("g", state, "t", partition, committed, log_start=50, log_end=500)


@pytest.mark.parametrize(
    ("committed", "text"),
    [
        (None, None),
        (50, None),
        (500, None),
        (49, "group g stands at offset 49 of t-0, whose first is 50: 1 offsets were deleted before it read them"),
        (501, "group g stands at offset 501 of t-0, which ends at 500"),
    ],
)
def test_a_committed_offset_must_be_one_of_the_log(committed: int | None, text: str | None) -> None:
    found = list(judge_committed([row(committed)]))
    assert [finding.text for finding in found] == ([text] if text else [])
    assert all((finding.rule, finding.level) == ("offset-out-of-range", "error") for finding in found)


@pytest.mark.parametrize(
    ("rows", "levels"),
    [
        ([row(400)], ["warning"]),
        ([row(401)], []),
        ([row(450), row(450, partition=1)], ["warning"]),
        ([row(499, state="Empty")], ["info"]),
        ([row(400, state="Empty")], ["warning"]),
        ([row(500, state="Empty")], []),
        ([row(None)], []),
    ],
)
def test_lag_counts_by_group_and_topic_and_any_where_nobody_reads(rows: list[GroupOffset], levels: list[str]) -> None:
    assert [finding.level for finding in judge_lag(rows, LIMITS)] == levels


def test_lag_names_the_worst_partition_and_the_absence_of_members() -> None:
    [finding] = judge_lag([row(499, state="Empty"), row(300, partition=3, state="Empty")], LIMITS)
    assert finding.text == "group g is 201 offsets behind in t, 200 of them in partition 3; it has no members"


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
    found = {finding.entity: finding.text for finding in judge_spread(frame, read, counts, LIMITS)}
    assert found == {
        "uneven": "uneven-0 has 75 % of the records of 4 partitions; key hot has 90 of its 90",
        "keyless": "keyless-2 has 100 % of the records of 4 partitions",
    }
