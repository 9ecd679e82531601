"""Dividing captures among workers: which connections each reads, planned by bytes.

Rules:
- A connection is never divided. Those of one client address with one broker stay together, because fetch sessions
  outlive connections.
- Connections keep the numbers that a single reader would give them, so the parts join to the same tables.
- Topic ids are collected from all parts before bodies are read: an id may be named in another part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.inspect.capture import learn_topics, read_tables
from kafkawire.inspect.exchanges import converse
from kafkawire.inspect.sources.captures import open_capture
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from uuid import UUID

    import pyarrow as pa

    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.inspect.sources.captures import Capture


class Part(NamedTuple):
    """The connections of one capture file that one worker reads."""

    path: str
    first_id: int
    numbers: tuple[int, ...]
    bytes: int


def plan_captures(paths: Iterable[str | Path], parts: int) -> list[Part]:
    """Divide captures into about so many parts of like size; a file is at least one part."""
    files = []
    first_id = 0
    for path in paths:
        capture = open_capture(path)
        files.append((str(path), first_id, _families(capture)))
        first_id += len(capture.flows)
    total = sum(size for _, _, families in files for size, _ in families) or 1
    planned = []
    for name, first, families in files:
        share = sum(size for size, _ in families)
        planned += _pack(name, first, families, max(round(parts * share / total), 1))
    return planned


def part_topics(part: Part) -> dict[UUID, str]:
    """The topic ids that a part tells."""
    names = TopicNames()
    learn_topics(names, _conversations(part))
    return names.names


def read_part(
    part: Part, topics: Mapping[UUID, str], *, records: bool = False, values: bool = False
) -> dict[str, pa.Table]:
    """The tables of a part."""
    names = TopicNames()
    names.names.update(topics)
    return read_tables(_conversations(part), names, records=records, values=values)


def _conversations(part: Part) -> list[Conversation]:
    connections = open_capture(part.path).connections(set(part.numbers))
    return [converse(each, file=part.path, first_id=part.first_id) for each in connections]


def _families(capture: Capture) -> list[tuple[int, list[int]]]:
    """Connections that stay together, with the bytes of their packets; the largest first."""
    together: dict[tuple[int, int], tuple[int, list[int]]] = {}
    for number, flow in enumerate(capture.flows):
        hosts = tuple(sorted((flow.first >> 16, flow.second >> 16)))
        size, numbers = together.get((hosts[0], hosts[1]), (0, []))
        carried = int(capture.packets.kept[flow.rows].sum()) + 64 * len(flow.rows)
        together[hosts[0], hosts[1]] = (size + carried, [*numbers, number])
    return sorted(together.values(), reverse=True)


def _pack(path: str, first_id: int, families: list[tuple[int, list[int]]], count: int) -> list[Part]:
    """The families in `count` bins: each goes where there is least."""
    bins: list[tuple[int, list[int]]] = [(0, []) for _ in range(min(count, max(len(families), 1)))]
    for size, numbers in families:
        least = min(range(len(bins)), key=lambda index: bins[index][0])
        bins[least] = (bins[least][0] + size, bins[least][1] + numbers)
    return [Part(path, first_id, tuple(sorted(numbers)), size) for size, numbers in bins if numbers]
