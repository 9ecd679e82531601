"""From options to offset ranges: the partitions of a read, its start and end offsets, and the range of each task.

Rules:
- Offsets or times given by partition must name every partition that is read, and no other.
- If no record is at or after a start time, the read starts at the end or raises, as the options say. An end time
  without such a record means the end. A batch that starts after its end raises; committed offsets of a group that are
  after the end are data loss.
- Look-ups that fail temporarily are retried as often as the options say, in addition to the retries of the client. A
  look-up that took all its time is not: an unreachable broker fails within `default.api.timeout.ms`.
- A range is half open, start <= offset < end, and counts offsets: compacted topics have fewer records.
- Ranges are first split to the largest size allowed. Then large ones are split until there are about as many as
  requested; a small range is not split for that. No split loses or repeats an offset, and parts differ by at most one.
- The limit of a trigger is divided by what each partition has to read; every partition with records gets some.
- Offsets as JSON have the shape of Spark's own connector, `{"topic": {"0": 23}}`, in order, because Spark compares them
  as text.
"""

from __future__ import annotations

import logging
import math
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kafkawire.client import TopicPartition
from kafkawire.client.errors import OptionError, RequestTimeoutError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import UnknownTopicOrPartitionError
from kafkawire.spark._topics.groups import read_group
from kafkawire.spark._topics.options import EARLIEST, LATEST, as_typed
from kafkawire.spark._topics.tasks import pooled_reader, report_loss
from kafkawire.spark.errors import SourceOptionError, SparkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from kafkawire.client import BulkReader
    from kafkawire.spark._topics.options import Bound, TopicOptions

    Json = dict[str, Any]

_Result = TypeVar("_Result")
_log = logging.getLogger("kafkawire.spark")
START: Final = "@start"
"""The key of the start that the end of a first batch carries; no topic can have this name."""
Offsets = dict[TopicPartition, int]


class OffsetRange(NamedTuple):
    """Offsets of one partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def split(self, parts: int) -> Iterator[OffsetRange]:
        """Split into parts of about the same size, the smaller ones first, as Spark's own connector has them.

        >>> [(part.start, part.end) for part in OffsetRange("t", 0, 10, 20).split(3)]
        [(10, 13), (13, 16), (16, 20)]
        """
        start = self.start
        for left in range(parts, 0, -1):
            end = start + (self.end - start) // left
            yield self._replace(start=start, end=end)
            start = end


def plan_ranges(ranges: Sequence[OffsetRange], *, largest: int | None, at_least: int | None) -> list[OffsetRange]:
    """The range of each task.

    >>> [part.size for part in plan_ranges([OffsetRange("t", 0, 0, 90), OffsetRange("t", 1, 0, 10)], largest=None,
    ... at_least=4)]
    [30, 30, 30, 10]
    """
    planned = [each for each in ranges if each.size > 0]
    if largest is not None:
        planned = [part for each in planned for part in each.split(-(-each.size // largest))]
    if at_least is None or len(planned) >= at_least:
        return planned
    total = sum(each.size for each in planned)
    ideal = total / at_least
    small = [each for each in planned if each.size < 1.5 * ideal]
    large_total = total - sum(each.size for each in small)
    left = at_least - len(small)
    wanted = {each: max(1, round(left * each.size / large_total)) for each in planned if each.size >= 1.5 * ideal}
    return [part for each in planned for part in each.split(min(wanted.get(each, 1), each.size))]


def share_limit(limit: int, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Offsets:
    """The ends of a trigger that reads at most about `limit` offsets.

    >>> a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    >>> sorted(share_limit(10, {a: 0, b: 5}, {a: 99, b: 6}).values())
    [6, 9]
    """
    sizes = {partition: end[partition] - start[partition] for partition in end if end[partition] > start[partition]}
    total = sum(sizes.values())
    shared = dict(end)
    for partition, size in sizes.items():
        share = limit * size / total
        step = math.ceil(share) if share < 1 else math.floor(share)
        shared[partition] = min(end[partition], start[partition] + step)
    return shared


class TopicLookup:
    """Looks up partitions and offsets for one read."""

    def __init__(self, options: TopicOptions, reader: BulkReader | None = None) -> None:
        self._options = options
        self._reader = reader or pooled_reader(options.client)
        self._cached: tuple[float, list[TopicPartition]] | None = None
        self._assigned = frozenset(options.assigned)
        self.topic_ids: dict[str, UUID] = {}
        """The ids of the topics when their partitions were last looked up."""

    def partitions(self, known: Iterable[str] = ()) -> list[TopicPartition]:
        """The partitions to read. A missing topic raises, unless it is `known` from before."""
        options = self._options
        if self._cached is not None and time.monotonic() - self._cached[0] < options.cache_seconds:
            return self._cached[1]
        found = self._retry(lambda: self._list_partitions(set(known)))
        self._cached = (time.monotonic(), found)
        return found

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return self._filled(partitions, EARLIEST)

    def latest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return self._filled(partitions, LATEST)

    def start(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The start of a new read. A partition without a committed offset of the group starts at the default."""
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
                " set startingOffsetsByTimestampStrategy to latest to start such partitions at their end"
            )
        return self._or_latest(offsets)

    def end(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The end of a batch read."""
        bound = self._options.end
        if bound.word:
            return self.latest(partitions)
        return self._or_latest(self._at(bound, partitions))

    def ranges(self, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[OffsetRange]:
        """The ranges between two offsets as far as they still exist; missing offsets are data loss."""
        fail = self._options.fail_on_data_loss
        partitions = sorted(end)
        earliest, latest = self.earliest(partitions), self.latest(partitions)
        ranges = []
        for partition in partitions:
            first, last = start[partition], end[partition]
            if first < last and first < earliest[partition]:
                text = f"offset {first} is before the start of the log, {earliest[partition]}"
                report_loss(f"{partition}: {text}", fail=fail)
            if last > latest[partition]:
                report_loss(f"{partition}: offset {last} is after the end of the log, {latest[partition]}", fail=fail)
            if first > last:
                report_loss(f"{partition}: the position is offset {first}, but the log ends at {last}", fail=fail)
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
            topic_id = self._reader.topic_id(topic)
            if topic_id is not None:
                self.topic_ids[topic] = topic_id
        if options.strategy != "assign":
            return sorted(found)
        kept = [partition for partition in options.assigned if partition in found]
        missing = ", ".join(str(partition) for partition in options.assigned if partition not in found)
        if missing and not known:
            if not kept:
                raise SourceOptionError(f"assign: no such partition: {missing}")
            _log.warning("assign: no such partition: %s; the others are read", missing)
        return kept

    def _at(self, bound: Bound, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
        if bound.timestamp is not None:
            return self._by_time(dict.fromkeys(partitions, bound.timestamp))
        given = bound.timestamps if bound.timestamps is not None else bound.offsets or {}
        # an assigned partition that does not exist may have an offset
        if given.keys() - (self._assigned - set(partitions)) != set(partitions):
            raise SourceOptionError(
                f"{bound.option} must name exactly the partitions that are read; it names"
                f" {', '.join(map(str, sorted(given)))}, but these are read: {', '.join(map(str, partitions))}"
            )
        if bound.timestamps is not None:
            return self._by_time({partition: bound.timestamps[partition] for partition in partitions})
        given = {partition: given[partition] for partition in partitions}
        found: dict[TopicPartition, int | None] = dict(given)
        found |= self.earliest([partition for partition, offset in given.items() if offset == EARLIEST])
        found |= self.latest([partition for partition, offset in given.items() if offset == LATEST])
        return found

    def _by_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return self._retry(lambda: self._reader.offsets_of(times))

    def _or_latest(self, offsets: Mapping[TopicPartition, int | None]) -> Offsets:
        latest = self.latest([partition for partition, offset in offsets.items() if offset is None])
        return {partition: latest[partition] if offset is None else offset for partition, offset in offsets.items()}

    def _filled(self, partitions: Sequence[TopicPartition], place: int) -> Offsets:
        isolation = self._options.isolation if place == LATEST else ""
        times = dict.fromkeys(partitions, place)
        found = self._retry(lambda: self._reader.offsets_of(times, isolation=isolation))
        return {partition: offset or 0 for partition, offset in found.items()}

    def _retry(self, attempt: Callable[[], _Result]) -> _Result:
        for _ in range(self._options.retries):
            try:
                return attempt()
            except OptionError as error:
                raise SourceOptionError(as_typed(str(error), dict(self._options.client))) from error
            except KafkaWireError as error:
                if not is_retriable(error) or isinstance(error, (UnknownTopicOrPartitionError, RequestTimeoutError)):
                    raise
                time.sleep(self._options.retry_interval)
        return attempt()


def plan_batch(options: TopicOptions) -> list[OffsetRange]:
    """The ranges of all tasks."""
    ranges = whole_ranges(TopicLookup(options), options)
    return plan_ranges(ranges, largest=options.max_records, at_least=options.min_partitions)


def whole_ranges(lookup: TopicLookup, options: TopicOptions) -> list[OffsetRange]:
    """The range of each partition that has something to read."""
    partitions = lookup.partitions()
    start, end = lookup.start(partitions), lookup.end(partitions)
    for partition in partitions:
        if start[partition] > end[partition]:
            last = "the end of the log" if options.end.word else options.end.option
            text = f"{partition}: {options.start.option} is offset {start[partition]}, after {last}, {end[partition]}"
            if options.start.word != "group":
                raise SourceOptionError(text)
            report_loss(text, fail=options.fail_on_data_loss)
            start[partition] = end[partition]
    return lookup.ranges(start, end)


def as_json(offsets: Mapping[TopicPartition, int]) -> Json:
    """Offsets as Spark stores them.

    >>> as_json({TopicPartition("b", 10): 1, TopicPartition("b", 9): 2, TopicPartition("a", 0): 3})
    {'a': {'0': 3}, 'b': {'9': 2, '10': 1}}
    """
    topics: Json = {}
    for partition in sorted(offsets):
        topics.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return topics


def from_json(offsets: Mapping[str, Any]) -> Offsets:
    """Parse offsets that Spark stored, without the start that they may carry."""
    try:
        return {
            TopicPartition(topic, int(number)): int(offset)
            for topic, numbers in offsets.items()
            if topic != START
            for number, offset in numbers.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise SparkError(
            f"offset {offsets!r} in the checkpoint, expected the shape of {{'topic': {{'0': 23}}}}"
        ) from error
