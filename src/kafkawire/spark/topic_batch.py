"""Planning a batch read: from options to the ranges that tasks read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.topic_offsets import TopicLookup
from kafkawire.spark.topic_ranges import plan_ranges

if TYPE_CHECKING:
    from kafkawire.spark.topic_options import TopicOptions
    from kafkawire.spark.topic_ranges import OffsetRange


def plan_batch(options: TopicOptions) -> list[OffsetRange]:
    """The ranges of all tasks."""
    ranges = whole_ranges(TopicLookup(options), options)
    return plan_ranges(ranges, largest=options.max_records, at_least=options.min_partitions)


def whole_ranges(lookup: TopicLookup, options: TopicOptions) -> list[OffsetRange]:
    """What is to be read of each partition; those with nothing to read are left out."""
    partitions = lookup.partitions()
    start, end = lookup.start(partitions), lookup.end(partitions)
    for partition in partitions:
        if start[partition] > end[partition] and options.end.word != "latest":
            raise SourceOptionError(
                f"{partition}: {options.start.option} is offset {start[partition]},"
                f" after {options.end.option}, {end[partition]}"
            )
    return lookup.ranges(start, end)
