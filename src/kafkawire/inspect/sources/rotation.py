"""Captures that were rotated: a connection that goes on in the next file is one connection.

Rules:
- A part of a connection goes on where a later part has the same endpoints, begins with no SYN, is of a later time, and
  its sequence numbers follow: on each side that both show, at most 1 MiB back and 64 MiB ahead.
- Files may be given in any order: time tells which comes first. Files of the same time are captures of their own.
- A connection counts from the file in which it begins, under the number that it has there.
- The payload of a connection that goes on is copied to one place, on disk where it is large. Where it was is kept as
  addresses: the number of the file, and the byte in it.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkawire.inspect.sources.files import map_open_file
from kafkawire.inspect.sources.flows import Flow, flow_of
from kafkawire.inspect.sources.packets import ACK, PACKET_COLUMNS, SYN, Packets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect.sources.captures import Capture
    from kafkawire.inspect.sources.files import Bytes

_BACK: Final = -(1 << 20)
_AHEAD: Final = 1 << 26
_OVERLAP: Final = 1_000_000  # nanoseconds by which clocks of capture threads may disagree
_IN_MEMORY: Final = 1 << 20
FILE_BITS: Final = 48  # an address is a file's number above so many bits, and a byte's place in it below


class Place(NamedTuple):
    """A part of a connection: the number of the file, and of the connection in it."""

    file: int
    number: int


class Edge(NamedTuple):
    """How a part begins and ends; sides are in the order of `ends`, None for one that sent nothing."""

    ends: tuple[str, str]
    opens: bool
    begun: int
    ended: int
    first: tuple[int | None, int | None]
    following: tuple[int | None, int | None]


class Origin(NamedTuple):
    """Where bytes come from: a file as it is, or payloads that were joined, each with its address."""

    file: int
    starts: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None

    def addresses(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The addresses of bytes by their offsets in what is here."""
        if self.starts is None or self.places is None:
            return offsets + (self.file << FILE_BITS)
        payload = np.searchsorted(self.starts, offsets, "right") - 1
        return self.places[payload] + (offsets - self.starts[payload])


class Piece(NamedTuple):
    """The packets of a part, and the bytes that they point into."""

    data: Bytes
    packets: Packets
    flow: Flow
    origin: Origin


def edges_of(capture: Capture) -> list[Edge]:
    """How each connection of a capture begins and ends in it."""
    return [_edge(capture.packets, flow) for flow in capture.flows]


def find_continuations(files: Sequence[Sequence[Edge]]) -> dict[Place, list[Place]]:
    """For each connection that goes on in later files, its later parts in order."""
    started = [min((edge.begun for edge in edges), default=0) for edges in files]
    chains: dict[Place, list[Place]] = {}
    latest: dict[tuple[str, str], tuple[Place, int, Edge]] = {}
    for file in sorted(range(len(files)), key=lambda number: started[number]):
        for number, edge in enumerate(files[file]):
            before = latest.get(edge.ends)
            start = Place(file, number)
            if before is not None and before[1] != file and _goes_on(before[2], edge):
                start = before[0]
                chains.setdefault(start, []).append(Place(file, number))
            latest[edge.ends] = (start, file, edge)
    return chains


def take_piece(capture: Capture, number: int, file: int) -> Piece:
    """The part of a connection that a capture has, without the rest of its packets."""
    flow, packets = capture.flows[number], capture.packets
    columns = {name: getattr(packets, name)[flow.rows] for name in PACKET_COLUMNS}
    own = Flow(flow.first, flow.second, np.arange(len(flow.rows)), flow.opener)
    return Piece(capture.data, Packets(**columns, addresses6=packets.addresses6), own, Origin(file))


def join(parts: Iterable[Piece]) -> Piece:
    """The parts of a connection as one, in the order of time, under the endpoints of the first."""
    pieces = sorted(parts, key=lambda piece: int(piece.packets.time[0]))
    kept = np.concatenate([piece.packets.kept for piece in pieces])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(piece.packets, name) for piece in pieces])
        for name in PACKET_COLUMNS
        if name not in ("at", "source", "target")
    }
    first = pieces[0].flow
    name = pieces[0].packets.endpoint(first.first)
    from_first = np.concatenate([piece.packets.source == _end_named(piece, name) for piece in pieces])
    packets = Packets(
        **columns,
        at=np.cumsum(kept) - kept,
        source=np.where(from_first, first.first, first.second),
        target=np.where(from_first, first.second, first.first),
        addresses6=pieces[0].packets.addresses6,
    )
    places = np.concatenate([piece.origin.addresses(piece.packets.at) for piece in pieces])
    origin = Origin(pieces[0].origin.file, packets.at, places)
    return Piece(_copied(pieces), packets, flow_of(packets, np.arange(len(kept))), origin)


def _edge(packets: Packets, flow: Flow) -> Edge:
    rows = flow.rows
    sides = sorted((packets.endpoint(end), end) for end in (flow.first, flow.second))
    spans = [_span(packets, rows[packets.source[rows] == end]) for _, end in sides]
    return Edge(
        ends=(sides[0][0], sides[1][0]),
        opens=bool(packets.flags[rows[0]] & (SYN | ACK) == SYN),
        begun=int(packets.time[rows].min()),
        ended=int(packets.time[rows].max()),
        first=(spans[0][0], spans[1][0]),
        following=(spans[0][1], spans[1][1]),
    )


def _span(packets: Packets, rows: NDArray[np.int64]) -> tuple[int | None, int | None]:
    """The first sequence number of one side, and the one that follows its last packet."""
    if not len(rows):
        return None, None
    last = rows[-1]
    return int(packets.sequence[rows[0]]), (int(packets.sequence[last]) + int(packets.size[last])) & 0xFFFFFFFF


def _goes_on(before: Edge, after: Edge) -> bool:
    if after.opens or after.begun <= before.begun or after.begun < before.ended - _OVERLAP:
        return False
    steps = [
        (begin - end + (1 << 31)) % (1 << 32) - (1 << 31)
        for end, begin in zip(before.following, after.first, strict=True)
        if end is not None and begin is not None
    ]
    return bool(steps) and all(_BACK <= step <= _AHEAD for step in steps)


def _copied(pieces: Sequence[Piece]) -> Bytes:
    slices = [
        piece.data[at : at + size]
        for piece in pieces
        for at, size in zip(piece.packets.at.tolist(), piece.packets.kept.tolist(), strict=True)
        if size
    ]
    total = sum(map(len, slices))
    if total <= _IN_MEMORY:
        return np.concatenate(slices) if slices else np.empty(0, np.uint8)
    with tempfile.TemporaryFile() as file:
        file.writelines(part.data for part in slices)
        file.flush()
        return map_open_file(file)


def _end_named(piece: Piece, name: str) -> int:
    """The endpoint of a name, in the numbers of a part: IPv6 addresses are numbered anew in each file."""
    flow = piece.flow
    return flow.first if piece.packets.endpoint(flow.first) == name else flow.second
