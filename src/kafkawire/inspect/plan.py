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

from kafkawire.inspect.capture import BodyReader, header_tables, learn_topics, read_tables
from kafkawire.inspect.exchanges import converse
from kafkawire.inspect.sources.captures import connection_of, open_capture
from kafkawire.inspect.sources.rotation import Edge, Piece, Place, edges_of, find_continuations, join, take_piece
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    import pyarrow as pa

    from kafkawire.inspect.exchanges import Conversation

_PIECE_BYTES: Final = 8 << 20
_PIECE_EXCHANGES: Final = 20_000


class Later(NamedTuple):
    """A later file in which connections of a part go on: pairs of their numbers in the part's file and in this one."""

    path: str
    pairs: tuple[tuple[int, int], ...]


class Part(NamedTuple):
    """The connections of one capture file that one worker reads, and the files in which some of them go on."""

    path: str
    first_id: int
    numbers: tuple[int, ...]
    bytes: int
    later: tuple[Later, ...] = ()


def plan_captures(paths: Iterable[str | Path], parts: int) -> list[Part]:
    """Divide captures into about so many parts of like size; a file is at least one part."""
    names = [str(path) for path in paths]
    files = [_weigh(name, alone=len(names) == 1) for name in names]
    chains = find_continuations([file.edges for file in files])
    later = {place for places in chains.values() for place in places}
    for start, places in chains.items():
        files[start.file].sizes[start.number] += sum(files[place.file].sizes[place.number] for place in places)
    total = sum(size for file in files for size in file.sizes) or 1
    planned: list[Part] = []
    first_id = 0
    for number, (name, file) in enumerate(zip(names, files, strict=True)):
        families = _families(file, [each for each in range(len(file.sizes)) if Place(number, each) not in later])
        share = sum(size for size, _ in families)
        packed = _pack(name, first_id, families, max(round(parts * share / total), 1))
        planned += [part._replace(later=_later(part, number, names, chains)) for part in packed]
        first_id += len(file.sizes)
    return planned


def part_topics(part: Part) -> dict[UUID, str]:
    """The topic ids that a part tells."""
    names = TopicNames()
    learn_topics(names, _conversations(part))
    return names.names


def capture_topics(paths: Iterable[str | Path]) -> dict[UUID, str]:
    """The topic ids that captures tell."""
    return {topic: name for part in plan_captures(paths, 1) for topic, name in part_topics(part).items()}


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
    capture = open_capture(part.path)
    more: dict[int, list[Piece]] = {}
    for path, pairs in part.later:
        other = open_capture(path)
        for number, there in pairs:
            more.setdefault(number, []).append(take_piece(other, there))
    for number in part.numbers:
        piece = Piece(capture.data, capture.packets, capture.flows[number])
        if number in more:
            piece = join([take_piece(capture, number), *more[number]])
        yield converse(connection_of(*piece, number), file=part.path, first_id=part.first_id)


def _conversations(part: Part) -> list[Conversation]:
    return list(_walk(part))


class _Weighed(NamedTuple):
    """Of each connection of a file: the bytes of its packets, its hosts, and how it begins and ends."""

    sizes: list[int]
    hosts: list[tuple[int, ...]]
    edges: list[Edge]


def _weigh(path: str, *, alone: bool) -> _Weighed:
    capture = open_capture(path)
    kept = capture.packets.kept
    return _Weighed(
        sizes=[int(kept[flow.rows].sum()) + 64 * len(flow.rows) for flow in capture.flows],
        hosts=[tuple(sorted((flow.first >> 16, flow.second >> 16))) for flow in capture.flows],
        edges=[] if alone else edges_of(capture),
    )


def _families(file: _Weighed, numbers: Iterable[int]) -> list[tuple[int, list[int]]]:
    """Connections that stay together, with the bytes of their packets; the largest first."""
    together: dict[tuple[int, ...], tuple[int, list[int]]] = {}
    for number in numbers:
        size, others = together.get(file.hosts[number], (0, []))
        together[file.hosts[number]] = (size + file.sizes[number], [*others, number])
    return sorted(together.values(), reverse=True)


def _later(part: Part, file: int, names: Sequence[str], chains: Mapping[Place, Sequence[Place]]) -> tuple[Later, ...]:
    """The files in which connections of a part go on."""
    pairs: dict[int, list[tuple[int, int]]] = {}
    for number in part.numbers:
        for place in chains.get(Place(file, number), ()):
            pairs.setdefault(place.file, []).append((number, place.number))
    return tuple(Later(names[each], tuple(found)) for each, found in pairs.items())


def _pack(path: str, first_id: int, families: list[tuple[int, list[int]]], count: int) -> list[Part]:
    """The families in `count` bins: each goes where there is least."""
    bins: list[tuple[int, list[int]]] = [(0, []) for _ in range(min(count, max(len(families), 1)))]
    for size, numbers in families:
        least = min(range(len(bins)), key=lambda index: bins[index][0])
        bins[least] = (bins[least][0] + size, bins[least][1] + numbers)
    return [Part(path, first_id, tuple(sorted(numbers)), size) for size, numbers in bins if numbers]
