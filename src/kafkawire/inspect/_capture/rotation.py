"""Rotated captures: a connection that continues in the next file is one connection.

Rules:
- A later part continues a connection if it has the same endpoints, no SYN, a later time, and following sequence
  numbers: on each side that both parts have, at most 1 MiB back and 64 MiB ahead.
- Files may be given in any order, because their times give the order. Files of the same time are separate captures.
- A connection belongs to the file in which it begins, with the number that it has there.
- The payload of a connection that continues is copied to one place, on disk if it is large. Addresses keep where it
  was: the number of the file, and the byte in it.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkawire.inspect._capture.files import map_open_file
from kafkawire.inspect._capture.packets import ACK, PACKET_COLUMNS, SYN, Packets
from kafkawire.inspect._capture.tcp import ConnectionPart, Flow, Origin, PartId, flow_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.connections import Capture
    from kafkawire.inspect._capture.files import Bytes

_BACK: Final = -(1 << 20)
_AHEAD: Final = 1 << 26
_OVERLAP: Final = 1_000_000  # nanoseconds by which clocks of capture threads may disagree
_IN_MEMORY: Final = 1 << 20


class Edge(NamedTuple):
    """How a part begins and ends; sides are in the order of `ends`, None for one that sent nothing."""

    ends: tuple[str, str]
    opens: bool
    begun: int
    ended: int
    first: tuple[int | None, int | None]
    following: tuple[int | None, int | None]


def edges_of(capture: Capture) -> list[Edge]:
    """How each connection of a capture begins and ends in it."""
    return [_edge(capture.packets, flow) for flow in capture.flows]


def find_continuations(files: Sequence[Sequence[Edge]]) -> dict[PartId, list[PartId]]:
    """For each connection that continues in later files, its later parts in order."""
    started = [min((edge.begun for edge in edges), default=0) for edges in files]
    chains: dict[PartId, list[PartId]] = {}
    latest: dict[tuple[str, str], tuple[PartId, int, Edge]] = {}
    for file in sorted(range(len(files)), key=lambda number: started[number]):
        for number, edge in enumerate(files[file]):
            before = latest.get(edge.ends)
            start = PartId(file, number)
            if before is not None and before[1] != file and _continues(before[2], edge):
                start = before[0]
                chains.setdefault(start, []).append(PartId(file, number))
            latest[edge.ends] = (start, file, edge)
    return chains


def take_part(capture: Capture, number: int, file: int) -> ConnectionPart:
    """The part of a connection that a capture has, without other packets."""
    flow, packets = capture.flows[number], capture.packets
    columns = {name: getattr(packets, name)[flow.rows] for name in PACKET_COLUMNS}
    own = Flow(flow.first, flow.second, np.arange(len(flow.rows)), flow.opener)
    return ConnectionPart(capture.data, Packets(**columns, addresses6=packets.addresses6), own, Origin(file))


def join(parts: Iterable[ConnectionPart]) -> ConnectionPart:
    """The parts of a connection as one, in the order of time, under the endpoints of the first."""
    ordered = sorted(parts, key=lambda part: int(part.packets.time[0]))
    kept = np.concatenate([part.packets.kept for part in ordered]).astype(np.int64)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part.packets, name) for part in ordered])
        for name in PACKET_COLUMNS
        if name not in ("at", "source", "target")
    }
    first = ordered[0].flow
    name = ordered[0].packets.endpoint(first.first)
    from_first = np.concatenate([part.packets.source == _end_named(part, name) for part in ordered])
    packets = Packets(
        **columns,
        at=np.cumsum(kept) - kept,
        source=np.where(from_first, first.first, first.second),
        target=np.where(from_first, first.second, first.first),
        addresses6=ordered[0].packets.addresses6,
    )
    places = np.concatenate([part.origin.addresses(part.packets.at) for part in ordered])
    origin = Origin(ordered[0].origin.file, packets.at, places)
    return ConnectionPart(_copied(ordered), packets, flow_of(packets, np.arange(len(kept))), origin)


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


def _continues(before: Edge, after: Edge) -> bool:
    if after.opens or after.begun <= before.begun or after.begun < before.ended - _OVERLAP:
        return False
    steps = [
        (begin - end + (1 << 31)) % (1 << 32) - (1 << 31)
        for end, begin in zip(before.following, after.first, strict=True)
        if end is not None and begin is not None
    ]
    return bool(steps) and all(_BACK <= step <= _AHEAD for step in steps)


def _copied(ordered: Sequence[ConnectionPart]) -> Bytes:
    slices = [
        part.data[at : at + size]
        for part in ordered
        for at, size in zip(part.packets.at.tolist(), part.packets.kept.tolist(), strict=True)
        if size
    ]
    total = sum(map(len, slices))
    if total <= _IN_MEMORY:
        return np.concatenate(slices) if slices else np.empty(0, np.uint8)
    with tempfile.TemporaryFile() as file:
        file.writelines(part.data for part in slices)
        file.flush()
        return map_open_file(file)


def _end_named(part: ConnectionPart, name: str) -> int:
    """The endpoint of a name, in the numbers of a part, because each file numbers IPv6 addresses itself."""
    flow = part.flow
    return flow.first if part.packets.endpoint(flow.first) == name else flow.second
