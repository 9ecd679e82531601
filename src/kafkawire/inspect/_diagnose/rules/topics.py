"""Live topics: groups that are behind or outside the log, and records that are spread unevenly.

Rules:
- Lag is summed by group and topic. A group without members is reported with any lag, because nothing reads for it.
- A partition is compared with the mean of the partitions of its topic that were read, by records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.aggregates import TopicAggregates
from kafkawire.inspect._diagnose.rule import Finding, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect._diagnose.aggregates import GroupOffset, PartitionRecords
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_MOST: Final = 100
_IDLE: Final = ("Empty", "Dead")


@rule("offset-out-of-range", "error", "a committed offset that the log does not have", over=TopicAggregates)
def offsets_out_of_range(topics: TopicAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Committed offsets before the start or behind the end of the log."""
    for row in topics.groups:
        if row.committed is None or row.log_start <= row.committed <= row.log_end:
            continue
        name = f"{row.topic}-{row.partition}"
        if row.committed < row.log_start:
            text = (
                f"group {row.group} committed offset {row.committed} of {name}, which starts at {row.log_start}:"
                f" {row.log_start - row.committed} offsets were deleted before it read them"
            )
            advice = "The group cannot read them any more: raise the retention, or let the group read faster."
        else:
            text = f"group {row.group} committed offset {row.committed} of {name}, which ends at {row.log_end}"
            advice = (
                "The topic was recreated or its log truncated: reset the group, because it skips the records"
                " before that offset."
            )
        yield Finding("offset-out-of-range", "error", text, advice, client_id=row.client, entity=row.group)


@rule("lag", "warning", "a group that is behind the end of a topic", over=TopicAggregates, thresholds=("lag",))
def lagging_groups(topics: TopicAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Groups that are behind."""
    together: dict[tuple[str, str], list[GroupOffset]] = {}
    for row in topics.groups:
        if row.lag:
            together.setdefault((row.group, row.topic), []).append(row)
    for (group, topic), rows in sorted(together.items()):
        lag = sum(row.lag or 0 for row in rows)
        is_idle = rows[0].state in _IDLE
        if lag < limits.lag and not is_idle:
            continue
        worst = max(rows, key=lambda row: row.lag or 0)
        text = f"group {group} is {lag} offsets behind in {topic}, {worst.lag} of them in partition {worst.partition}"
        advice = "Add members, up to one per partition, or find out what the members wait for."
        if is_idle:
            text += "; it has no members"
            advice = "Start its consumers, or delete the group if it is not needed any more."
        yield Finding("lag", "warning" if lag >= limits.lag else "info", text, advice, entity=group, count=len(rows))


@rule(
    "uneven-partitions",
    "warning",
    "a partition with several times the records of the others of its topic",
    over=TopicAggregates,
    thresholds=("uneven", "uneven_records"),
)
def uneven_partitions(topics: TopicAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Topics whose records are concentrated in one partition, with the most frequent key of that partition."""
    by_topic: dict[str, list[PartitionRecords]] = {}
    for each in topics.records:
        by_topic.setdefault(each.topic, []).append(each)
    totals = {topic: sum(each.records for each in own) for topic, own in by_topic.items()}
    for topic in sorted(totals, key=lambda topic: (-totals[topic], topic))[:_MOST]:
        count = topics.partitions.get(topic, 0)
        largest = max(by_topic[topic], key=lambda each: (each.records, each.partition))
        is_large = totals[topic] >= limits.uneven_records
        if not is_large or count < 2 or largest.records < limits.uneven * totals[topic] / count:
            continue
        share = largest.records / totals[topic]
        text = f"{topic}-{largest.partition} has {100 * share:.0f} % of the records of {count} partitions"
        key = topics.hot_key(topic, largest.partition)
        if key is not None:
            text += f"; key {key.text} has {key.records} of its {largest.records}"
        advice = "Choose a key with more distinct values, or no key, so that the partitions share the load."
        yield Finding("uneven-partitions", "warning", text, advice, entity=topic, count=largest.records)
