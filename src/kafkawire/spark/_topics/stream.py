"""Streaming reads of topics: offsets from trigger to trigger.

Rules:
- Spark does not store the initial offset. A query that is restarted during its first batch would start elsewhere and
  lose records. So the end of the first batch contains its start under a key that no topic can have. The initial
  offset contains itself, and later ends have no start. A batch whose end has a start begins there.
- The limits of a trigger are computed here: the smallest and the largest number of offsets, and the longest delay. No
  limit applies if Spark requests everything. The smallest does not apply to a query that ends with existing records.
- A topic that was deleted and created again between two triggers is noticed by its id, and is data loss. Without
  `failOnDataLoss` it is read from its beginning, and the end of that batch contains its start.
- A new partition is read from its beginning, which must be offset 0. Missing offsets, partitions and topics are data
  loss. Every trigger looks for new partitions and topics.
- PySpark 4.1 does not say where a trigger starts. It starts where the last planned batch ended. After a restart that is
  unknown until the first batch is planned, so the first trigger reads everything there is.
- A batch is complete when Spark requests the next one, or calls `commit`. Its end is then committed to the group if
  `commitOffsets` is set. So a query that ends by itself also commits its last batch.
"""

# ruff: noqa: N802 - the names of the methods are Spark's

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkawire.spark._topics.groups import commit_group
from kafkawire.spark._topics.lookup import START, TopicLookup, as_json, from_json, plan_ranges, share_limit
from kafkawire.spark._topics.read_limits import (
    HAS_LIMITS,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from kafkawire.spark._topics.source import as_partitions, read_partition
from kafkawire.spark._topics.tasks import report_loss
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    import pyarrow as pa

    from kafkawire.client import TopicPartition
    from kafkawire.exceptions import KafkaWireError
    from kafkawire.spark._topics.lookup import Json, Offsets
    from kafkawire.spark._topics.options import TopicOptions
    from kafkawire.values import ValueColumns


class TopicsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives on the driver for the duration of the query; its copies on executors only read."""

    def __init__(self, options: TopicOptions, columns: tuple[str, ...], values: ValueColumns | None = None) -> None:
        if not HAS_LIMITS and (options.max_per_trigger or options.min_per_trigger):
            raise SourceOptionError(
                "maxOffsetsPerTrigger and minOffsetsPerTrigger need PySpark 4.2 or newer, because older releases do not"
                " say where a trigger starts"
            )
        self._options = options
        self._columns = columns
        self._values = values
        self._lookup: TopicLookup | None = None
        self._initial: Json | None = None
        self._position: Json | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        self._topics: set[str] = set()
        self._topic_ids: dict[str, UUID] = {}
        self._committed: Offsets | None = None
        self._last_trigger: float | None = None

    def initialOffset(self) -> Json:
        if self._initial is None:
            lookup = self._get_lookup()
            offsets = as_json(lookup.start(lookup.partitions()))
            self._initial = self._position = {**offsets, START: offsets}
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_per_trigger is not None:
            return ReadMaxRows(self._options.max_per_trigger)
        if self._options.min_per_trigger is not None:
            return ReadMinRows(self._options.min_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        lookup = self._get_lookup()
        self._target = lookup.latest(lookup.partitions())

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        if limit is None:
            limit = ReadAllAvailable()
        if start is None:
            start = self._position
        if start is None:
            lookup = self._get_lookup()
            self._latest = lookup.latest(lookup.partitions())
            return as_json(self._latest)
        begin = from_json(start)
        if not _is_initial(start):
            self._commit(begin)
        lookup = self._get_lookup()
        self._topics.update(partition.topic for partition in begin)
        self._latest = lookup.latest(lookup.partitions(self._topics))
        latest = self._within_target(self._latest, begin)
        recreated = self._recreated_topics(lookup)
        if self._options.fail_on_data_loss:
            self._report_gone(begin, latest)
        new = [partition for partition in latest if partition not in begin or partition.topic in recreated]
        full = begin | (lookup.earliest(new) if new else {})
        end = latest
        if not isinstance(limit, ReadAllAvailable):
            if self._must_wait(full, latest):
                return start
            if self._options.max_per_trigger is not None:
                end = share_limit(self._options.max_per_trigger, full, latest)
        if end == begin and not recreated:
            return start
        reached = as_json(end)
        if recreated:
            return {**reached, START: as_json({partition: full[partition] for partition in end})}
        return {**reached, START: start[START]} if _is_initial(start) else reached

    def reportLatestOffset(self) -> Json | None:
        return None if self._latest is None else as_json(self._latest)

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        self._position = end
        begin, reached = from_json(end.get(START, start)), from_json(end)
        lookup = self._get_lookup()
        new = [partition for partition in reached if partition not in begin]
        for partition, first in lookup.earliest(new).items() if new else ():
            if first > 0:
                report_loss(
                    f"{partition} is new and starts at offset {first}, not at 0", fail=self._options.fail_on_data_loss
                )
            begin[partition] = first
        self._report_gone(begin, reached)
        moved = {partition: offset for partition, offset in reached.items() if offset != begin[partition]}
        ranges = lookup.ranges(begin, moved)
        options = self._options
        return as_partitions(plan_ranges(ranges, largest=options.max_records, at_least=options.min_partitions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._columns, self._options, self._values)

    def commit(self, end: Json) -> None:
        self._commit(from_json(end))

    def _get_lookup(self) -> TopicLookup:
        if self._lookup is None:
            self._lookup = TopicLookup(self._options)
        return self._lookup

    def _recreated_topics(self, lookup: TopicLookup) -> set[str]:
        """The topics that have another id than at the last trigger."""
        recreated = set()
        for topic, new in lookup.topic_ids.items():
            old = self._topic_ids.get(topic, new)
            if old != new:
                text = f"topic {topic!r} was deleted and created again: its id {old} became {new}"
                report_loss(text, fail=self._options.fail_on_data_loss)
                recreated.add(topic)
        self._topic_ids |= lookup.topic_ids
        return recreated

    def _report_gone(self, begin: Offsets, end: Offsets) -> None:
        gone = sorted(begin.keys() - end.keys())
        if gone:
            places = ", ".join(f"{partition} (read up to offset {begin[partition]})" for partition in gone)
            report_loss(
                f"missing, or not among the topics of this query: {places}", fail=self._options.fail_on_data_loss
            )

    def _within_target(self, latest: Offsets, begin: Mapping[TopicPartition, int]) -> Offsets:
        """The offsets to read; a query that ends with existing records reads no further than its target."""
        if self._target is None:
            return latest
        return {
            partition: max(min(offset, self._target.get(partition, 0)), min(offset, begin.get(partition, 0)))
            for partition, offset in latest.items()
            if partition in self._target or partition in begin
        }

    def _must_wait(self, begin: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> bool:
        least = self._options.min_per_trigger
        if least is None or self._target is not None:
            return False
        now = time.monotonic()
        is_due = self._last_trigger is None or now - self._last_trigger >= self._options.max_trigger_delay
        if not is_due and sum(latest[partition] - begin[partition] for partition in latest) < least:
            return True
        self._last_trigger = now
        return False

    def _commit(self, done: Offsets) -> None:
        if self._options.commits and done != self._committed:
            commit_group(self._options, done)
            self._committed = done


class RefusedStreamReader(DataSourceStreamReader):
    """Raises the reason when Spark asks for an offset.

    If the creation of a reader raises, PySpark reports an UnboundLocalError of its own after the reason.
    """

    def __init__(self, reason: KafkaWireError) -> None:
        self._reason = reason

    def initialOffset(self) -> Json:
        raise self._reason

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        raise self._reason

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        raise self._reason

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        raise self._reason


def _is_initial(offset: Json) -> bool:
    """Whether no batch ends here yet: such an offset contains itself as its start."""
    return START in offset and from_json(offset[START]) == from_json(offset)
