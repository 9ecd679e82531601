"""What live topics show to be wrong besides what their batches do: how they are spread, and the groups that read them.

Rules:
- Lag is summed by group and topic. A group without members that is behind is worth knowing at any size: nobody reads.
- A partition is uneven by its records, against the mean of its topic's partitions that were read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.inspect.diagnose import Finding
from kafkawire.spark.aggregates import readable_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.group_offsets import GroupOffset

_MOST: Final = 100
_IDLE: Final = ("Empty", "Dead")


class PartitionRecords(NamedTuple):
    """How many records were read of a partition, and their first and last time in milliseconds."""

    topic: str
    partition: int
    records: int
    first: int | None
    last: int | None


def add_up_records(records: DataFrame) -> list[PartitionRecords]:
    """The records of every partition that has any."""
    timed = F.when(F.col("timestamp_type") >= 0, F.unix_millis("timestamp"))
    summed = records.groupBy("topic", "partition").agg(F.count(F.lit(1)), F.min(timed), F.max(timed))
    return [PartitionRecords(*row) for row in summed.collect()]


def judge_committed(groups: Iterable[GroupOffset]) -> Iterator[Finding]:
    """Committed offsets that the log does not have."""
    for row in groups:
        if row.committed is None or row.log_start <= row.committed <= row.log_end:
            continue
        name = f"{row.topic}-{row.partition}"
        if row.committed < row.log_start:
            text = (
                f"group {row.group} stands at offset {row.committed} of {name}, whose first is {row.log_start}:"
                f" {row.log_start - row.committed} offsets were deleted before it read them"
            )
            advice = "They are lost to the group: raise the retention, or let the group read faster."
        else:
            text = f"group {row.group} stands at offset {row.committed} of {name}, which ends at {row.log_end}"
            advice = (
                "The topic was made anew or its log was cut: reset the group, for it misses what is written"
                " before that offset."
            )
        yield Finding("offset-out-of-range", "error", text, advice, client_id=row.client, entity=row.group)


def judge_lag(groups: Iterable[GroupOffset], limits: Thresholds) -> Iterator[Finding]:
    """Groups that are behind."""
    together: dict[tuple[str, str], list[GroupOffset]] = {}
    for row in groups:
        if row.lag:
            together.setdefault((row.group, row.topic), []).append(row)
    for (group, topic), rows in sorted(together.items()):
        lag = sum(row.lag or 0 for row in rows)
        is_idle = rows[0].state in _IDLE
        if lag < limits.lag and not is_idle:
            continue
        worst = max(rows, key=lambda row: row.lag or 0)
        text = f"group {group} is {lag} offsets behind in {topic}, {worst.lag} of them in partition {worst.partition}"
        advice = "Give it more members, up to one a partition, or find out what its members wait for."
        if is_idle:
            text += "; it has no members"
            advice = "Start its consumers, or delete the group if nobody needs it any more."
        yield Finding("lag", "warning" if lag >= limits.lag else "info", text, advice, entity=group, count=len(rows))


def judge_spread(
    records: DataFrame, read: Sequence[PartitionRecords], partitions: Mapping[str, int], limits: Thresholds
) -> Iterator[Finding]:
    """Topics whose records are not spread over their partitions; `partitions` says how many of each were read."""
    by_topic: dict[str, list[PartitionRecords]] = {}
    for each in read:
        by_topic.setdefault(each.topic, []).append(each)
    totals = {topic: sum(each.records for each in own) for topic, own in by_topic.items()}
    for topic in sorted(totals, key=lambda topic: (-totals[topic], topic))[:_MOST]:
        count = partitions.get(topic, 0)
        largest = max(by_topic[topic], key=lambda each: (each.records, each.partition))
        is_large = totals[topic] >= limits.uneven_records
        if not is_large or count < 2 or largest.records < limits.uneven * totals[topic] / count:
            continue
        share = largest.records / totals[topic]
        text = f"{topic}-{largest.partition} has {100 * share:.0f} % of the records of {count} partitions"
        own = records.filter((F.col("topic") == topic) & (F.col("partition") == largest.partition))
        keyed = own.filter(F.col("key").isNotNull()).groupBy("key").count()
        top = keyed.orderBy(F.desc("count"), "key").first()
        if top is not None:
            text += f"; key {readable_key(bytes(top['key']))} has {top['count']} of its {largest.records}"
        advice = "Choose a key with more distinct values, or none, so that the partitions share the load."
        yield Finding("uneven-partitions", "warning", text, advice, entity=topic, count=largest.records)
