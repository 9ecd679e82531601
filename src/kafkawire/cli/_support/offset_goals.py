"""New offsets of a group: parsed from a goal such as `earliest`, or read from a file.

Rules:
- A goal outside a partition becomes the nearest offset of the partition.
- A time after the last record means the end.
- A file has lines `topic,partition,offset`, as kafka-consumer-groups writes them, or the objects of `--json`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli._support.numbers import parse_time
from kafkawire.cli.registry import UsageError
from kafkawire.client import EARLIEST, LATEST, TopicPartition

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.client.blocking import Admin

GOALS: Final = "earliest, latest, current, an offset, +N, -N, or @TIME (@2026-01-31T12:00, @12:30, @-2h, @MS)"


def find_offsets(
    admin: Admin, places: list[TopicPartition], goal: str, committed: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The offset of a goal in each partition. The words of `consume -o` are goals too."""
    goal = {"beginning": "earliest", "end": "latest"}.get(goal, goal)
    first, last = _at(admin, places, EARLIEST), _at(admin, places, LATEST)
    if goal == "earliest":
        wanted = first
    elif goal == "latest":
        wanted = last
    elif goal == "current":
        wanted = {place: committed.get(place, last[place]) for place in places}
    elif goal.startswith("@"):
        wanted = {**last, **_at(admin, places, parse_time(goal))}
    elif re.fullmatch(r"[+-]\d+", goal):
        wanted = {place: committed.get(place, first[place]) + int(goal) for place in places}
    elif goal.isdecimal():
        wanted = dict.fromkeys(places, int(goal))
    else:
        raise UsageError(f"--to {goal!r}: expected {GOALS}")
    return _nearest(wanted, first, last)


def find_nearest(admin: Admin, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offsets of partitions that are nearest to the wanted ones."""
    return _nearest(wanted, _at(admin, list(wanted), EARLIEST), _at(admin, list(wanted), LATEST))


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
    """The offsets of a time, for partitions that have one."""
    found = admin.list_offsets(dict.fromkeys(places, when))
    return {place: each.offset for place, each in found.items() if each is not None}
