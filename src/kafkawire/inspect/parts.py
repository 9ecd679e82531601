"""Reading a part of captures: from shares of connections to tables, a piece at a time.

Rules:
- Bytes are loaded for shares of some MiB together, and given on in pieces of so many exchanges: memory is that of the
  plan of a part, of what is loaded at a time and of a piece, whatever the captures.
- The pieces of all parts join to the tables of a single reader, but for `connections`: those have what headers tell,
  and `summaries` has a row a share with what bodies tell of its connection, to be added up.
- Of a plan in which no connection is divided, `whole_connections` makes the connections complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire.inspect.capture import BodyReader, with_summaries
from kafkawire.inspect.exchanges import exchanges_table
from kafkawire.inspect.shares import Loaded, fill, payload_sizes, share_of
from kafkawire.inspect.sources.files import map_file
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.inspect.plan import Part, Share
    from kafkawire.inspect.shares import Read

    Ranges = Callable[[int, int], memoryview]
    """Bytes of an open file: a position and a size."""

LOAD_BYTES: Final = 64 << 20
_PIECE_EXCHANGES: Final = 10_000
_HOLE: Final = 16 << 10


class _Run(NamedTuple):
    """Exchanges of a share, of so many bytes."""

    share: Share
    talk: Conversation
    size: int

    @property
    def begins(self) -> bool:
        return self.talk.first == self.share.talk.first

    @property
    def ends(self) -> bool:
        return self.talk.first + len(self.talk) == self.share.talk.first + len(self.share.talk)


def open_ranges(path: str) -> Ranges:
    """The bytes of a file of this machine."""
    view = map_file(path).data
    return lambda position, size: view[position : position + size]


def stream_part(
    part: Part,
    *,
    bodies: bool = True,
    partitions: bool = True,
    records: bool = False,
    values: bool = False,
    load_bytes: int = LOAD_BYTES,
    opened: Callable[[str], Ranges] = open_ranges,
    hole: int = _HOLE,
) -> Iterator[dict[str, pa.Table]]:
    """The tables of a part, a piece at a time; without `bodies` only what headers tell.

    `opened` opens a file. Where asking takes long it pays to read over a large `hole` rather than to ask twice.
    """
    yield part.tables()
    names = TopicNames()
    names.names.update(part.topics)
    reader = BodyReader(names, records=records, values=values, partitions=partitions)
    read = _reader(part, opened)
    runs = (run for share in part.shares for run in _runs(share, load_bytes))
    for together in _together(runs, lambda run: run.size, load_bytes):
        loaded = Loaded([run.talk for run in together] if bodies else [], read, hole, load_bytes)
        for piece in _together(together, lambda run: len(run.talk), _PIECE_EXCHANGES):
            exchanges = exchanges_table([run.talk for run in piece])
            if not bodies:
                yield {"exchanges": exchanges}
                continue
            for run in piece:
                _decode(reader, run, loaded)
            yield reader.tables(exchanges)


def _decode(reader: BodyReader, run: _Run, loaded: Loaded) -> None:
    if run.begins:
        reader.begin(run.talk)
        if run.share.sessions is not None:
            reader.sessions.resume(run.share.sessions)
    reader.read_run(fill(run.talk, loaded))
    if run.ends:
        reader.end()


def whole_connections(part: Part, opened: Callable[[str], Ranges] = open_ranges, hole: int = _HOLE) -> pa.Table:
    """The connections of a part of a plan in which none is divided."""
    connections = part.tables()["connections"]
    pieces = stream_part(part, partitions=False, opened=opened, hole=hole)
    summaries = [piece["summaries"] for piece in pieces if "summaries" in piece]
    return with_summaries(connections, pa.concat_tables(summaries)) if summaries else connections


def _reader(part: Part, opened: Callable[[str], Ranges]) -> Read:
    """What reads the files of a part, each of which is opened when it is first needed."""
    ranges: dict[int, Ranges] = {}

    def read(file: int, position: int, size: int) -> memoryview:
        if file not in ranges:
            ranges[file] = opened(part.files[file])
        return ranges[file](position, size)

    return read


def _together(runs: Iterable[_Run], measure: Callable[[_Run], int], most: int) -> Iterator[list[_Run]]:
    """Runs that follow each other, as many as measure up to a number, or one that measures more."""
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


def _runs(share: Share, load_bytes: int) -> Iterator[_Run]:
    """A share as a whole where it is small, else in runs."""
    sizes = payload_sizes(share.talk)
    before = np.cumsum(sizes) - sizes
    changes = np.diff(before // load_bytes) + np.diff(np.arange(len(sizes)) // _PIECE_EXCHANGES)
    cuts = (np.flatnonzero(changes) + 1).tolist()
    if not cuts:
        yield _Run(share, share.talk, int(sizes.sum()))
        return
    for first, last in zip([0, *cuts], [*cuts, len(sizes)], strict=True):
        yield _Run(share, share_of(share.talk, first, last), int(sizes[first:last].sum()))
