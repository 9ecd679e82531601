"""Dividing captures among workers: which connections each reads, planned by bytes.

Rules:
- A connection is never divided. Those of one client address with one broker stay together, because fetch sessions
  outlive connections.
- Connections keep the numbers that a single reader would give them, so the parts join to the same tables.
- Topic ids are collected from all parts before bodies are read: an id may be named in another part.
- A part may be read in pieces of bounded size, a large connection in many; pieces join to the tables of the part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.inspect.capture import BodyReader, header_tables, learn_topics, read_conversations, read_tables
from kafkawire.inspect.exchanges import converse
from kafkawire.inspect.sources.captures import open_capture
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from uuid import UUID

    import pyarrow as pa

    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.inspect.sources.captures import Capture


_PIECE_BYTES: Final = 8 << 20
_PIECE_EXCHANGES: Final = 20_000


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


def capture_topics(paths: Iterable[str | Path]) -> dict[UUID, str]:
    """The topic ids that captures tell."""
    names = TopicNames()
    for path in paths:
        learn_topics(names, read_conversations(open_capture(path)))
    return names.names


def read_part(
    part: Part, topics: Mapping[UUID, str], *, records: bool = False, values: bool = False
) -> dict[str, pa.Table]:
    """The tables of a part."""
    names = TopicNames()
    names.names.update(topics)
    return read_tables(_conversations(part), names, records=records, values=values)


def stream_part(
    part: Part,
    topics: Mapping[UUID, str],
    *,
    bodies: bool = True,
    partitions: bool = True,
    records: bool = False,
    values: bool = False,
    piece_bytes: int = _PIECE_BYTES,
) -> Iterator[dict[str, pa.Table]]:
    """The tables of a part, a piece at a time; without `bodies` only what headers tell."""
    names = TopicNames()
    names.names.update(topics)
    reader = BodyReader(names, records=records, values=values, partitions=partitions)
    for talks in _together(_walk(part), piece_bytes):
        tables = header_tables(talks)
        if not bodies:
            yield tables
        elif len(talks) == 1:
            yield from _pieces(reader, talks[0], tables, piece_bytes)
        else:
            for talk in talks:
                reader.read(talk)
            yield tables | reader.tables(tables["connections"], tables["exchanges"])


def _pieces(
    reader: BodyReader, talk: Conversation, tables: dict[str, pa.Table], piece_bytes: int
) -> Iterator[dict[str, pa.Table]]:
    """One connection; what is told of it as a whole comes with its last piece."""
    exchanges = tables["exchanges"]
    sizes = [[size or 0 for size in exchanges[name].to_pylist()] for name in ("req_bytes", "resp_bytes")]
    first = size = 0
    for last, (asked, answered) in enumerate(zip(*sizes, strict=True), 1):
        size += asked + answered
        if last < len(talk) and (size >= piece_bytes or last - first >= _PIECE_EXCHANGES):
            reader.read_run(talk, first, last)
            yield reader.tables(tables["connections"].slice(0, 0), exchanges.slice(first, last - first))
            first, size = last, 0
    reader.read_run(talk, first, len(talk))
    yield tables | reader.tables(tables["connections"], exchanges.slice(first))


def _together(talks: Iterable[Conversation], piece_bytes: int) -> Iterator[list[Conversation]]:
    """Small connections several at a time, large ones alone."""
    waiting: list[Conversation] = []
    size = count = 0
    for talk in talks:
        own = sum(int(frames.size.sum()) for frames in (talk.connection.requests, talk.connection.responses))
        if waiting and (size + own > piece_bytes or count + len(talk) > _PIECE_EXCHANGES):
            yield waiting
            waiting, size, count = [], 0, 0
        waiting.append(talk)
        size, count = size + own, count + len(talk)
    if waiting:
        yield waiting


def _walk(part: Part) -> Iterator[Conversation]:
    for connection in open_capture(part.path).connections(set(part.numbers)):
        yield converse(connection, file=part.path, first_id=part.first_id)


def _conversations(part: Part) -> list[Conversation]:
    return list(_walk(part))


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
