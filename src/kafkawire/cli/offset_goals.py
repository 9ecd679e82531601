"""Where the offsets of a group are to be set: the words that people use, and files that say it one by one.

Rules:
- A goal beyond what a partition holds becomes the nearest offset that it has.
- A time without a zone is UTC, as in Kafka's own tools. Where nothing was written since, it means the end.
- A file has lines `topic,partition,offset`, as kafka-consumer-groups writes them, or the objects of `--json`.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.commands import UsageError
from kafkawire.client import EARLIEST, LATEST, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.client.blocking import Admin

GOALS: Final = "earliest, latest, current, an offset, +N, -N, @MS, @2026-01-31T12:00 or @-2h"
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def find_places(admin: Admin, texts: Iterable[str]) -> list[TopicPartition]:
    """The partitions that TOPIC or TOPIC:0,1 stand for, however many texts are of the same topic."""
    wanted: dict[str, list[str]] = {}
    for text in texts:
        name, _, numbers = text.partition(":")
        wanted.setdefault(name, []).append(numbers)
    found = []
    for topic in admin.describe_topics(wanted):
        every = ",".join(map(str, topic.partitions))
        for number in ",".join(numbers or every for numbers in wanted[topic.name]).split(","):
            if not number.isdecimal() or int(number) not in topic.partitions:
                raise UsageError(
                    f"topic {topic.name!r} has no partition {number!r}, only 0 to {len(topic.partitions) - 1}"
                )
            found.append(TopicPartition(topic.name, int(number)))
    return list(dict.fromkeys(found))


def find_offsets(
    admin: Admin, places: list[TopicPartition], goal: str, committed: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The offset that a goal means in each partition."""
    first, last = _at(admin, places, EARLIEST), _at(admin, places, LATEST)
    if goal == "earliest":
        wanted = first
    elif goal == "latest":
        wanted = last
    elif goal == "current":
        wanted = {place: committed.get(place, last[place]) for place in places}
    elif goal.startswith("@"):
        wanted = {**last, **_at(admin, places, parse_time(goal[1:], time.time()))}
    elif re.fullmatch(r"[+-]\d+", goal):
        wanted = {place: committed.get(place, first[place]) + int(goal) for place in places}
    elif goal.isdecimal():
        wanted = dict.fromkeys(places, int(goal))
    else:
        raise UsageError(f"--to {goal!r}: expected {GOALS}")
    return _nearest(wanted, first, last)


def find_nearest(admin: Admin, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offsets that partitions have nearest to those wanted."""
    return _nearest(wanted, _at(admin, list(wanted), EARLIEST), _at(admin, list(wanted), LATEST))


def parse_time(text: str, now: float) -> int:
    """Milliseconds since 1970 that a text stands for.

    >>> parse_time("1700000000000", 0), parse_time("2023-11-14T22:13:20", 0), parse_time("-2h", 7200.5)
    (1700000000000, 1700000000000, 500)
    """
    if text.isdecimal():
        return int(text)
    ago = re.fullmatch(r"-(\d+)([smhd])", text)
    if ago is not None:
        return int((now - int(ago[1]) * _UNITS[ago[2]]) * 1000)
    with suppress(ValueError):
        stamp = datetime.fromisoformat(text)
        return int((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp() * 1000)
    raise UsageError(f"time {text!r}: expected milliseconds, 2026-01-31T12:00 or -2h (s, m, h, d)")


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """The offsets in a file."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                topic, partition, offset = _fields(line)
                found[TopicPartition(topic, int(partition))] = int(offset)
            except (ValueError, KeyError):
                raise UsageError(f"{path}, line {number}: expected topic,partition,offset, found {line!r}") from None
    return found


def _fields(line: str) -> tuple[str, Any, Any]:
    if line.lstrip().startswith("{"):
        row = json.loads(line)
        return row["topic"], row["partition"], row["offset"] if "offset" in row else row["after"]
    topic, partition, offset = (field.strip().strip('"') for field in line.split(","))
    return topic, partition, offset


def _nearest(
    wanted: dict[TopicPartition, int], first: dict[TopicPartition, int], last: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    return {place: min(max(offset, first[place]), last[place]) for place, offset in wanted.items()}


def _at(admin: Admin, places: list[TopicPartition], when: int) -> dict[TopicPartition, int]:
    """The offsets of a time, where there are any."""
    found = admin.list_offsets(dict.fromkeys(places, when))
    return {place: each.offset for place, each in found.items() if each is not None}
