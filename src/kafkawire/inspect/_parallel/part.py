"""Read a part of captures: from shares of connections to tables, one piece at a time.

Rules:
- The bytes of several shares are loaded together, up to some MiB, and decoded in pieces of some exchanges. Memory is
  bounded by the plan of the part, the loaded bytes and one piece, for captures of any size.
- The pieces of all parts join to the tables of a single reader, except `connections`. These have the columns of headers
  only; `summaries` has one row per share with the columns of bodies, which the caller adds up.
- If a plan splits no connection, `whole_connections` returns complete connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire.inspect._capture.files import map_file
from kafkawire.inspect._parallel.share import LoadedBytes, fill, share_of
from kafkawire.inspect._tables.exchanges import exchanges_table, payload_sizes
from kafkawire.inspect._tables.read import BodyReader, with_summaries
from kafkawire.inspect._tables.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.inspect._parallel.plan import CapturePart, ConnectionShare
    from kafkawire.inspect._parallel.share import Read
    from kafkawire.inspect._tables.exchanges import Conversation

    Ranges = Callable[[int, int], memoryview]
    """Bytes of an open file: a position and a size."""

LOAD_BYTES: Final = 64 << 20
_PIECE_EXCHANGES: Final = 10_000
_HOLE: Final = 16 << 10


class _Run(NamedTuple):
    """Some exchanges of a share, and their bytes."""

    share: ConnectionShare
    talk: Conversation
    size: int

    @property
    def begins(self) -> bool:
        return self.talk.first == self.share.talk.first

    @property
    def ends(self) -> bool:
        return self.talk.first + len(self.talk) == self.share.talk.first + len(self.share.talk)


def open_ranges(path: str) -> Ranges:
    """Open a local file for reading by position and size."""
    view = map_file(path).data
    return lambda position, size: view[position : position + size]


def stream_part(
    part: CapturePart,
    *,
    bodies: bool = True,
    partitions: bool = True,
    records: bool = False,
    values: bool = False,
    load_bytes: int = LOAD_BYTES,
    opened: Callable[[str], Ranges] = open_ranges,
    hole: int = _HOLE,
) -> Iterator[dict[str, pa.Table]]:
    """The tables of a part, one piece at a time; without `bodies` only the columns of headers.

    `opened` opens a file. If requests are slow, a large `hole` is faster, because it saves requests.
    """
    yield part.tables()
    names = TopicNames()
    names.names.update(part.topics)
    reader = BodyReader(names, records=records, values=values, partitions=partitions)
    read = _reader(part, opened)
    runs = (run for share in part.shares for run in _runs(share, load_bytes))
    for together in _together(runs, lambda run: run.size, load_bytes):
        loaded = LoadedBytes([run.talk for run in together] if bodies else [], read, hole, load_bytes)
        for piece in _together(together, lambda run: len(run.talk), _PIECE_EXCHANGES):
            exchanges = exchanges_table([run.talk for run in piece])
            if not bodies:
                yield {"exchanges": exchanges}
                continue
            for run in piece:
                _decode(reader, run, loaded)
            yield reader.tables(exchanges)


def _decode(reader: BodyReader, run: _Run, loaded: LoadedBytes) -> None:
    if run.begins:
        reader.begin(run.talk)
        if run.share.sessions is not None:
            reader.sessions.resume(run.share.sessions)
    reader.read_run(fill(run.talk, loaded))
    if run.ends:
        reader.end()


def whole_connections(part: CapturePart, opened: Callable[[str], Ranges] = open_ranges, hole: int = _HOLE) -> pa.Table:
    """The connections of a part, from a plan that splits none of them."""
    connections = part.tables()["connections"]
    pieces = stream_part(part, partitions=False, opened=opened, hole=hole)
    summaries = [piece["summaries"] for piece in pieces if "summaries" in piece]
    return with_summaries(connections, pa.concat_tables(summaries)) if summaries else connections


def _reader(part: CapturePart, opened: Callable[[str], Ranges]) -> Read:
    """A reader of the files of a part, which opens each file at its first use."""
    ranges: dict[int, Ranges] = {}

    def read(file: int, position: int, size: int) -> memoryview:
        if file not in ranges:
            ranges[file] = opened(part.files[file])
        return ranges[file](position, size)

    return read


def _together(runs: Iterable[_Run], measure: Callable[[_Run], int], most: int) -> Iterator[list[_Run]]:
    """Group consecutive runs up to a size; a larger run is a group of its own."""
    waiting: list[_Run] = []
    filled = 0
    for run in runs:
        own = measure(run)
        if waiting and filled + own > most:
            yield waiting
            waiting, filled = [], 0
        waiting.append(run)
        filled += own
    if waiting:
        yield waiting


def _runs(share: ConnectionShare, load_bytes: int) -> Iterator[_Run]:
    """Split a share into runs; a small share is one run."""
    sizes = payload_sizes(share.talk)
    before = np.cumsum(sizes) - sizes
    changes = np.diff(before // load_bytes) + np.diff(np.arange(len(sizes)) // _PIECE_EXCHANGES)
    cuts = (np.flatnonzero(changes) + 1).tolist()
    if not cuts:
        yield _Run(share, share.talk, int(sizes.sum()))
        return
    for first, last in zip([0, *cuts], [*cuts, len(sizes)], strict=True):
        yield _Run(share, share_of(share.talk, first, last), int(sizes[first:last].sum()))
