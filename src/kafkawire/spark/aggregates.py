"""Aggregates that chapters are made of: sums over time, percentiles, the largest of many. All are made by Spark.

Rules:
- What comes to the driver is bounded: some 60 steps, or a few dozen rows.
- Percentiles are values that occur, the smallest that so many are not above; beyond ten thousand values, about so.
- Keys are shown as text where they are text, else as hex, and never at length.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire.spark.chapters import Steps

SHOWN: Final = 25
OTHER: Final = "other"
_SERIES: Final = 7
_CELLS: Final = 20_000
_KEY: Final = 48


def sums_over_time(frame: DataFrame, time: Column, steps: Steps, sums: dict[str, Column]) -> dict[str, list[int]]:
    """Sums by step of time, which is in milliseconds; rows outside the steps do not count."""
    rows = _stepped(frame, time, steps).groupBy("step").agg(*(F.sum(each).alias(name) for name, each in sums.items()))
    series = {name: [0] * steps.count for name in sums}
    for row in rows.collect():
        for name in sums:
            series[name][row["step"]] = row[name] or 0
    return series


def counts_over_time(frame: DataFrame, time: Column, steps: Steps, key: str) -> dict[str, list[int]]:
    """Counts of rows by step and key, the most frequent keys first; beyond seven, the others are one series."""
    counted = _stepped(frame, time, steps).groupBy(F.col(key).cast("string").alias("series"), "step").count()
    rows = counted.filter(F.col("series").isNotNull()).orderBy(F.desc("count")).limit(_CELLS).collect()
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["series"]] += row["count"]
    most = sorted(totals, key=lambda name: (-totals[name], name))[:_SERIES]
    series: dict[str, list[int]] = {name: [0] * steps.count for name in most}
    for row in rows:
        name = row["series"] if row["series"] in series else OTHER
        series.setdefault(name, [0] * steps.count)[row["step"]] += row["count"]
    return series


def percentiles(column: str, shares: Sequence[float] = (0.5, 0.9, 0.99)) -> Column:
    """Percentiles of a column, as an array."""
    return F.percentile_approx(column, [float(share) for share in shares], 10_000)


def readable_key(key: bytes | None) -> str | None:
    """A key for people.

    >>> readable_key(b"order-1"), readable_key(bytes([255, 0])), readable_key(None)
    ('order-1', '0xff00', None)
    """
    if key is None:
        return None
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (key and not text):
        text = f"0x{key[:_KEY].hex()}"
    return text if len(text) <= _KEY else text[: _KEY - 1] + "\u2026"


def top_keys(records: DataFrame, size: Column, totals: Mapping[str | None, int]) -> list[list[Any]]:
    """The keys that most records have, given the records of each topic.

    A row has topic, key, records, bytes, and the share of the topic's records.
    """
    keyed = records.filter(F.col("key").isNotNull()).groupBy("topic", "key")
    counted = keyed.agg(F.count(F.lit(1)).alias("records"), F.sum(size).alias("bytes"))
    most = counted.orderBy(F.desc("records"), F.desc("bytes"), "topic", "key").limit(SHOWN)
    return [
        [row.topic, readable_key(bytes(row.key)), row.records, row.bytes, row.records / totals[row.topic]]
        for row in most.collect()
    ]


def _stepped(frame: DataFrame, time: Column, steps: Steps) -> DataFrame:
    step = F.floor((time - F.lit(steps.start)) / F.lit(steps.step))
    return frame.withColumn("step", step).filter(F.col("step").between(0, steps.count - 1))
