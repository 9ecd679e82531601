"""The sizes of records and their sums over time, from one pass over the table of records.

Rules:
- Values are most of the bytes of the table. So one query counts records by topic, step of time, and sizes of key and
  value; all numbers here come from these counts, which are few.
- A percentile is the size at its rank, and exact.
- Keys themselves are read by a second query, for the approximate number of distinct ones, if there are any keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from kafkawire._look.series import Steps

_SHARES: Final = (0.5, 0.99, 1.0)


class TopicRecords(NamedTuple):
    """The records of a topic in numbers; of sizes the median, the 99th percentile and the largest."""

    topic: str | None
    records: int
    keyed: int
    distinct_keys: int
    tombstones: int
    keys: int | None
    values: int | None
    key_sizes: Sequence[int | None]
    value_sizes: Sequence[int | None]


class RecordSizes(NamedTuple):
    """Records and their bytes by step of time, and the topics, the one with the most records first."""

    over_time: dict[str, list[int]]
    by_topic: list[TopicRecords]


def measure_records(records: DataFrame, steps: Steps | None) -> RecordSizes:
    """The numbers of a table of records; without steps no record has a time."""
    rows = _summed(_counted(records, steps)).collect()
    count = 0 if steps is None else steps.count
    over_time = {"records": [0] * count, "bytes": [0] * count}
    for row in rows:
        if row.kind == "step" and row.step is not None and 0 <= row.step < count:
            over_time["records"][row.step] = row.records
            over_time["bytes"][row.step] = row.bytes
    keys, values = ({row.topic: row for row in rows if row.kind == kind} for kind in ("key", "value"))
    distinct = _distinct_keys(records) if any(row.known for row in keys.values()) else {}
    by_topic = [_topic_records(keys[topic], values[topic], distinct.get(topic, 0)) for topic in keys]
    return RecordSizes(over_time, sorted(by_topic, key=lambda row: (-row.records, row.topic or "")))


def _topic_records(key: Row, value: Row, distinct: int) -> TopicRecords:
    sizes = (key.percentiles, value.percentiles)
    return TopicRecords(key.topic, key.records, key.known or 0, distinct, value.gone, key.bytes, value.bytes, *sizes)


def _counted(records: DataFrame, steps: Steps | None) -> DataFrame:
    """Records by topic, step, and sizes of key and value."""
    step = F.lit(None).cast("long")
    if steps is not None:
        passed = F.unix_millis("timestamp") - F.lit(steps.start)
        step = F.when(F.col("timestamp_type") >= 0, F.floor(passed / F.lit(steps.step)))
    columns = (step.alias("step"), F.length("key").alias("key"), F.length("value").alias("value"))
    return records.select("topic", *columns).groupBy("topic", "step", "key", "value").agg(F.count(F.lit(1)).alias("n"))


def _summed(counted: DataFrame) -> DataFrame:
    """A row for each step, and for the keys and the values of each topic."""
    n, key, value = F.col("n"), F.col("key").cast("long"), F.col("value").cast("long")
    size = F.coalesce(key, F.lit(0)) + F.coalesce(value, F.lit(0))
    gone = F.when(key.isNotNull() & value.isNull(), n).otherwise(0)
    no_topic = F.lit(None).cast("string")
    kinds = F.array(
        _kind("step", no_topic, F.col("step"), size * n, gone),
        _kind("key", F.col("topic"), key, key * n, gone),
        _kind("value", F.col("topic"), value, value * n, gone),
    )
    sums = (F.sum(name).alias(name) for name in ("n", "bytes", "gone"))
    by_number = counted.select(F.inline(kinds)).groupBy("kind", "topic", "number").agg(*sums)
    known = F.when(F.col("number").isNotNull(), F.col("n"))
    alike = Window.partitionBy("kind", "topic")
    ranked = by_number.select(
        "*",
        known.alias("known"),
        F.sum(known).over(alike.orderBy("number")).alias("below"),
        F.sum(known).over(alike).alias("total"),
    )
    reached = [F.col("below") >= F.ceil(F.lit(share) * F.col("total")) for share in _SHARES]
    step = F.when(F.col("kind") == "step", F.col("number")).alias("step")
    return ranked.groupBy("kind", "topic", step).agg(
        F.sum("n").alias("records"),
        F.sum("known").alias("known"),
        F.sum("bytes").alias("bytes"),
        F.sum("gone").alias("gone"),
        F.array(*(F.min(F.when(each, F.col("number"))) for each in reached)).alias("percentiles"),
    )


def _kind(name: str, topic: Column, number: Column, size: Column, gone: Column) -> Column:
    return F.struct(
        F.lit(name).alias("kind"),
        topic.alias("topic"),
        number.alias("number"),
        F.col("n").alias("n"),
        size.alias("bytes"),
        gone.alias("gone"),
    )


def _distinct_keys(records: DataFrame) -> dict[str | None, int]:
    counted = records.groupBy("topic").agg(F.approx_count_distinct("key").alias("keys"))
    return {row.topic: row["keys"] for row in counted.collect()}
