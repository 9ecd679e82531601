"""Looking up partitions and offsets: from what the options say to what the cluster has.

Rules:
- Offsets or times given by partition must name every partition that is read, and no other.
- Where a time has no record at or after it, reading starts at the end if the options say so, else it is an error;
  reading ends at the end.
- Look-ups that fail for a while are tried again as often as the options say, besides the client's own patience.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client.errors import is_retriable
from kafkawire.client.metadata import TopicPartition
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import UnknownTopicOrPartitionError
from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.topic_groups import read_group
from kafkawire.spark.topic_loss import report_loss
from kafkawire.spark.topic_options import EARLIEST, LATEST
from kafkawire.spark.topic_ranges import OffsetRange
from kafkawire.spark.topic_tasks import pooled_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkawire.client.fetch import BulkReader
    from kafkawire.spark.topic_options import Bound, TopicOptions
    from kafkawire.spark.topic_ranges import Offsets

_Result = TypeVar("_Result")


class TopicLookup:
    """Asks the cluster on behalf of one read."""

    def __init__(self, options: TopicOptions, reader: BulkReader | None = None) -> None:
        self._options = options
        self._reader = reader or pooled_reader(options.client)
        self._cached: tuple[float, list[TopicPartition]] | None = None

    def partitions(self, known: Iterable[str] = ()) -> list[TopicPartition]:
        """The partitions to read; a topic that is not there is an error, unless it is `known` from before."""
        options = self._options
        if self._cached is not None and time.monotonic() - self._cached[0] < options.cache_seconds:
            return self._cached[1]
        found = self._retry(lambda: self._list_partitions(set(known)))
        self._cached = (time.monotonic(), found)
        return found

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return self._filled(partitions, lambda topic, numbers: self._reader.earliest(topic, numbers))

    def latest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        isolation = self._options.isolation
        return self._filled(partitions, lambda topic, numbers: self._reader.latest(topic, numbers, isolation=isolation))

    def start(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Where a new read starts; a partition that its group has committed nothing for starts as by default."""
        bound = self._options.start
        if bound.word == "group":
            committed = read_group(self._options, partitions)
            default = self.latest if self._options.is_stream else self.earliest
            return committed | default([partition for partition in partitions if partition not in committed])
        if bound.word:
            return self.earliest(partitions) if bound.word == "earliest" else self.latest(partitions)
        offsets = self._at(bound, partitions)
        missing = [partition for partition, offset in offsets.items() if offset is None]
        if missing and self._options.no_match == "error":
            raise SourceOptionError(
                f"{bound.option}: no record at or after that time in {', '.join(map(str, missing))};"
                " with startingOffsetsByTimestampStrategy latest such partitions start at their end"
            )
        return self._or_latest(offsets)

    def end(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Where a batch read ends."""
        bound = self._options.end
        if bound.word:
            return self.latest(partitions)
        return self._or_latest(self._at(bound, partitions))

    def ranges(self, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[OffsetRange]:
        """The ranges between two offsets as far as they are still there; what is not is data lost."""
        fail = self._options.fail_on_data_loss
        partitions = sorted(end)
        earliest, latest = self.earliest(partitions), self.latest(partitions)
        ranges = []
        for partition in partitions:
            first, last = start[partition], end[partition]
            if first < last and first < earliest[partition]:
                report_loss(f"{partition}: offset {first} is before the log's first, {earliest[partition]}", fail=fail)
            if last > latest[partition]:
                report_loss(f"{partition}: offset {last} is after the log's end, {latest[partition]}", fail=fail)
            if first > last:
                report_loss(f"{partition}: reading stood at offset {first}, the log ends at {last}", fail=fail)
            kept = OffsetRange(*partition, max(first, earliest[partition]), min(last, latest[partition]))
            if kept.size > 0:
                ranges.append(kept)
        return ranges

    def _list_partitions(self, known: set[str]) -> list[TopicPartition]:
        options, found = self._options, []
        topics: Iterable[str] = options.topics
        if options.strategy == "subscribePattern":
            pattern = re.compile(options.topics[0])
            topics = [name for name in self._reader.topics() if pattern.search(name)]
        for topic in topics:
            try:
                there = self._reader.partitions(topic)
            except UnknownTopicOrPartitionError:
                if topic not in known:
                    raise
                continue
            found += [TopicPartition(topic, number) for number in there]
        if options.strategy != "assign":
            return sorted(found)
        missing = [partition for partition in options.assigned if partition not in found]
        if missing and not known:
            raise SourceOptionError(f"assign: there is no partition {', '.join(map(str, missing))}")
        return [partition for partition in options.assigned if partition in found]

    def _at(self, bound: Bound, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
        if bound.timestamp is not None:
            return self._by_time(dict.fromkeys(partitions, bound.timestamp))
        given = bound.timestamps if bound.timestamps is not None else bound.offsets or {}
        if given.keys() != set(partitions):
            raise SourceOptionError(
                f"{bound.option} must name every partition that is read and no other; it names"
                f" {', '.join(map(str, sorted(given)))}, to read are {', '.join(map(str, partitions))}"
            )
        if bound.timestamps is not None:
            return self._by_time(bound.timestamps)
        found: dict[TopicPartition, int | None] = dict(given)
        found |= self.earliest([partition for partition, offset in given.items() if offset == EARLIEST])
        found |= self.latest([partition for partition, offset in given.items() if offset == LATEST])
        return found

    def _by_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        grouped: dict[tuple[str, int], list[int]] = {}
        for partition, moment in times.items():
            grouped.setdefault((partition.topic, moment), []).append(partition.partition)
        found: dict[TopicPartition, int | None] = {}
        for (topic, moment), numbers in grouped.items():
            look = self._retry(lambda: self._reader.offsets_at(topic, moment, numbers))  # noqa: B023 - called at once
            found |= {TopicPartition(topic, number): offset for number, offset in look.items()}
        return found

    def _or_latest(self, offsets: Mapping[TopicPartition, int | None]) -> Offsets:
        latest = self.latest([partition for partition, offset in offsets.items() if offset is None])
        return {partition: latest[partition] if offset is None else offset for partition, offset in offsets.items()}

    def _filled(
        self, partitions: Sequence[TopicPartition], look: Callable[[str, list[int]], Mapping[int, int]]
    ) -> Offsets:
        numbers: dict[str, list[int]] = {}
        for topic, number in partitions:
            numbers.setdefault(topic, []).append(number)
        return {
            TopicPartition(topic, number): offset
            for topic, wanted in numbers.items()
            for number, offset in self._retry(lambda: look(topic, wanted)).items()  # noqa: B023 - called at once
        }

    def _retry(self, attempt: Callable[[], _Result]) -> _Result:
        for _ in range(self._options.retries):
            try:
                return attempt()
            except KafkaWireError as error:
                if not is_retriable(error) or isinstance(error, UnknownTopicOrPartitionError):
                    raise
                time.sleep(self._options.retry_interval)
        return attempt()
