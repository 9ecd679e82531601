"""Offset ranges: what a task reads, how ranges are split among tasks, how a trigger's limit is shared out.

Rules:
- A range is half open, start <= offset < end, and counts offsets: compacted topics hold fewer records than that.
- No split loses or repeats an offset; parts differ by one in size at most.
- Ranges first get no larger than the largest allowed, then the large ones are split until there are about as many as
  wanted; a small range is never split for that.
- A trigger's limit is shared by how much each partition has; none with anything to read gets nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.client.metadata import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
        """The range in parts of about the same size, the smaller ones first, as Spark's own connector has them.

        >>> [(part.start, part.end) for part in OffsetRange("t", 0, 10, 20).split(3)]
        [(10, 13), (13, 16), (16, 20)]
        """
        start = self.start
        for left in range(parts, 0, -1):
            end = start + (self.end - start) // left
            yield self._replace(start=start, end=end)
            start = end


def plan_ranges(ranges: Sequence[OffsetRange], *, largest: int | None, at_least: int | None) -> list[OffsetRange]:
    """What each task reads.

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
    """The ends of a trigger that reads about `limit` offsets at most.

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
