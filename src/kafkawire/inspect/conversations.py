"""The connections of capture files that were opened together, each with its exchanges matched.

Rules:
- Connections are in the order of their numbers: that of the files, and of their first packets in them.
- Files that were rotated are one capture: a connection that goes on in another file is read as one.
- One file's packets are in memory at a time, besides those of connections that go on, until their last file is read.
  So several files are opened twice: which connections go on is known when all files were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.inspect.exchanges import Conversation, converse
from kafkawire.inspect.sources.captures import connection_of
from kafkawire.inspect.sources.rotation import Origin, Piece, Place, edges_of, find_continuations, join, take_piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kafkawire.inspect.sources.captures import Capture


class FileFacts(NamedTuple):
    """What is known of a capture file before its connections are read; `size` is that of its bytes unpacked."""

    path: str
    size: int
    packets: int
    connections: int
    faults: list[str]


class Found(NamedTuple):
    """A connection, and where the bytes of its streams come from."""

    talk: Conversation
    origin: Origin


@dataclass(slots=True)
class Gathered:
    """The connections of a run, and what its files are like."""

    found: list[Found] = field(default_factory=list)
    files: list[FileFacts] = field(default_factory=list)


def gather_conversations(paths: Sequence[str], opened: Callable[[str], Capture]) -> Gathered:
    """The connections of captures, which `opened` opens one at a time."""
    edges = [edges_of(opened(path)) for path in paths] if len(paths) > 1 else []
    chains = find_continuations(edges)
    first_ids = list(accumulate(map(len, edges), initial=0))
    waiting: dict[Place, list[Piece]] = {}
    gathered = Gathered()
    for file, path in enumerate(paths):
        capture = opened(path)
        facts = FileFacts(path, len(capture.data), len(capture.packets), len(capture.flows), capture.faults)
        gathered.files.append(facts)
        for start, piece in _complete(capture, file, chains, waiting):
            connection = connection_of(piece.data, piece.packets, piece.flow, start.number)
            talk = converse(connection, file=paths[start.file], first_id=first_ids[start.file])
            gathered.found.append(Found(talk, piece.origin))
    gathered.found.sort(key=lambda found: found.talk.conn_id)
    return gathered


def _complete(
    capture: Capture, file: int, chains: Mapping[Place, Sequence[Place]], waiting: dict[Place, list[Piece]]
) -> Iterator[tuple[Place, Piece]]:
    """The connections of which the last part is in a file: where each begins, and all of it."""
    starts = {place: start for start, places in chains.items() for place in (start, *places) if place.file == file}
    for number, flow in enumerate(capture.flows):
        here = Place(file, number)
        start = starts.get(here)
        if start is None:
            yield here, Piece(capture.data, capture.packets, flow, Origin(file))
            continue
        parts = waiting.setdefault(start, [])
        parts.append(take_piece(capture, number, file))
        if len(parts) == 1 + len(chains[start]):
            yield start, join(waiting.pop(start))
