"""The offsets of -o, and the ranges of partitions that they select.

Rules:
- An offset outside a partition becomes the nearest one of the partition. A time after the last record means the end.
- A range ends before the records that are written after it was looked up. With read_committed it ends before the first
  open transaction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.cli._support.numbers import parse_time
from kafkawire.cli._support.topic_names import find_topics
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    from kafkawire.client import TopicPartition
    from kafkawire.client.blocking import Admin

    Ranges = dict[TopicPartition, tuple[int, int]]


class OffsetSpec(NamedTuple):
    """The start and the end of a read: an offset, a distance from the end, times, or a word."""

    start: str = ""
    start_time: int | None = None
    end_time: int | None = None


def parse_offsets(texts: list[str]) -> OffsetSpec:
    """Parse the values of -o, as kcat does: beginning, end, stored, N, -N, s@TIME, e@TIME; @TIME is a start.

    >>> parse_offsets(["s@1000", "e@2000"])
    OffsetSpec(start='', start_time=1000, end_time=2000)
    """
    spec = OffsetSpec()
    before: str | int | None
    for text in texts:
        if text.startswith(("@", "s@")):
            before, spec = spec.start_time, spec._replace(start_time=parse_time(text.removeprefix("s")))
        elif text.startswith("e@"):
            before, spec = spec.end_time, spec._replace(end_time=parse_time(text.removeprefix("e")))
        elif text in ("beginning", "earliest", "end", "latest", "stored") or re.fullmatch(r"-?\d+", text):
            before = spec.start or None
            spec = spec._replace(start={"earliest": "beginning", "latest": "end"}.get(text, text))
        else:
            raise UsageError(
                f"-o {text!r}: expected beginning, end, stored, an offset, -N from the end, s@TIME or e@TIME, "
                "or a file that ends in .parquet"
            )
        if before is not None or (spec.start and spec.start_time is not None):
            raise UsageError(f"-o {' -o '.join(texts)}: expected one start and one end")
    if spec.start_time is not None and spec.end_time is not None and spec.end_time < spec.start_time:
        raise UsageError(f"-o {' -o '.join(texts)}: the end is before the start")
    return spec


def find_ranges(
    admin: Admin, topics: list[str], partitions: list[int] | None, spec: OffsetSpec, *, read_committed: bool
) -> Ranges:
    """The start and the end offset of each partition, ordered by topic and partition."""
    from kafkawire.client import EARLIEST, LATEST, TopicPartition

    if spec.start == "stored":
        raise UsageError("-o stored needs a group: -G NAME")
    places = []
    for topic in find_topics(admin, topics):
        missing = [number for number in partitions or () if number not in topic.partitions]
        if missing:
            raise UsageError(f"{topic.name} has no partition {missing[0]}; it has {len(topic.partitions)}")
        places += [TopicPartition(topic.name, each) for each in (partitions or sorted(topic.partitions))]

    def offsets_at(when: int) -> dict[TopicPartition, int]:
        found = admin.list_offsets(dict.fromkeys(places, when), read_committed=read_committed)
        return {place: each.offset for place, each in found.items() if each is not None}

    first, last = offsets_at(EARLIEST), offsets_at(LATEST)
    starts = first
    if spec.start_time is not None:
        starts = {**last, **offsets_at(spec.start_time)}
    elif spec.start == "end":
        starts = last
    elif spec.start not in ("", "beginning"):
        at = int(spec.start)
        starts = {place: last[place] + at if at < 0 else at for place in places}
    ends = last if spec.end_time is None else {**last, **offsets_at(spec.end_time)}
    return {place: (min(max(starts[place], first[place]), last[place]), ends[place]) for place in places}
