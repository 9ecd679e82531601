"""TCP: which packets belong to a connection, and the bytes of each direction as pieces of the capture file.

Rules:
- A connection is a pair of endpoints. A SYN that does not repeat the last one starts another connection, because ports
  are reused.
- The SYN, or the answer to it, gives the opener. Without either it is None, and the bytes must show it.
- Reassembly copies nothing. A stream is a list of pieces (place in the stream, place in the file, size), in stream
  order, without overlap. Bytes that no piece covers are a gap of known size.
- Places count from the byte after the SYN, or without a SYN from the lowest byte in the capture.
- Sequence numbers are unwrapped by the distance from one packet to the next, so a stream may have any length.
- If bytes occur twice, the first copy counts. A packet cut by a snap length gives only the bytes that it has.
- A packet is a duplicate if one with the same IP identity, sequence and size came within 10 ms. A capture on several
  interfaces has packets twice. Any other packet without new bytes is a retransmission.
- A keep-alive (at most one byte, just before the bytes already sent) is neither.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire.inspect._capture.packets import ACK, SYN, Packets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.files import Bytes

_DUPLICATE_WITHIN: Final = 10_000_000
FILE_BITS: Final = 48  # an address is the number of a file above these bits, and the place of a byte below them


@dataclass(slots=True)
class Flow:
    """One connection: its endpoints, and its packets in the order of the capture."""

    first: int
    second: int
    rows: NDArray[np.int64]
    opener: int | None


def find_flows(packets: Packets) -> Iterator[Flow]:
    """The connections of a capture, in the order in which they appear."""
    if not len(packets):
        return
    pairs = _pairs(packets)
    order = np.argsort(pairs, kind="stable")
    edges = np.flatnonzero(np.diff(pairs[order])) + 1
    del pairs
    flows: list[Flow] = []
    for rows in np.split(order, edges):
        flows.extend(_epochs(packets, rows))
    flows.sort(key=lambda flow: int(flow.rows[0]))
    yield from flows


def _pairs(packets: Packets) -> NDArray[np.int32]:
    """The pair of endpoints of each packet, as a small number."""
    both = _codes(np.minimum(packets.source, packets.target)).astype(np.int64)
    both <<= 32
    both |= _codes(np.maximum(packets.source, packets.target))
    return _codes(both)


def _codes(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """Small numbers for distinct values, by first appearance."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy()


def _epochs(packets: Packets, rows: NDArray[np.int64]) -> Iterator[Flow]:
    flags = packets.flags[rows]
    opening = np.flatnonzero(flags & (SYN | ACK) == SYN)
    starts: list[int] = []
    last: tuple[int, int] | None = None
    for place in opening.tolist():
        row = rows[place]
        this = (int(packets.source[row]), int(packets.sequence[row]))
        if this != last:
            starts.append(place)
            last = this
    bounds = [0, *(start for start in starts if start), len(rows)]
    for begin, end in itertools.pairwise(bounds):
        yield flow_of(packets, rows[begin:end])


def flow_of(packets: Packets, rows: NDArray[np.int64]) -> Flow:
    """The connection that consists of packets between two endpoints."""
    flags = packets.flags[rows]
    source, target = int(packets.source[rows[0]]), int(packets.target[rows[0]])
    opener = None
    handshake = np.flatnonzero(flags & SYN)
    if len(handshake):
        row, answered = rows[handshake[0]], bool(flags[handshake[0]] & ACK)
        opener = int(packets.target[row] if answered else packets.source[row])
    return Flow(source, target, rows, opener)


class PartId(NamedTuple):
    """The number of a file, and the number of a connection in it."""

    file: int
    number: int


class Origin(NamedTuple):
    """The origin of bytes: a file as it is, or joined payloads, each with its address."""

    file: int
    starts: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None

    def addresses(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The addresses of bytes by their offsets in the data."""
        if self.starts is None or self.places is None:
            return offsets + (self.file << FILE_BITS)
        payload = np.searchsorted(self.starts, offsets, "right") - 1
        return self.places[payload] + (offsets - self.starts[payload])


class ConnectionPart(NamedTuple):
    """The packets of a connection in one file, or in all, and the bytes that they point into."""

    data: Bytes
    packets: Packets
    flow: Flow
    origin: Origin


@dataclass(slots=True)
class Stream:
    """One direction of a connection."""

    data: Bytes
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    packets: NDArray[np.integer[Any]]
    synced: bool
    end: int
    retransmitted: int = 0
    duplicates: int = 0

    @property
    def ends(self) -> NDArray[np.int64]:
        return self.starts + self.sizes

    def chunks(self) -> list[tuple[int, int, int, int]]:
        """Runs of pieces without a gap: the first piece, one past the last, the start and the end of each."""
        if not len(self.starts):
            return []
        ends = self.ends
        breaks = np.flatnonzero(self.starts[1:] != ends[:-1]) + 1
        firsts = [0, *breaks.tolist()]
        lasts = [*breaks.tolist(), len(self.starts)]
        return [(a, b, int(self.starts[a]), int(ends[b - 1])) for a, b in zip(firsts, lasts, strict=True)]

    def piece_at(self, position: int) -> int:
        """The piece with a place of the stream, or the piece before it."""
        return int(self.starts.searchsorted(position, "right")) - 1

    def read(self, position: int, size: int, piece: int | None = None) -> memoryview:
        """Bytes that pieces cover without a gap. They are not copied if one piece has all of them."""
        index = self.piece_at(position) if piece is None else piece
        within = position - int(self.starts[index])
        at, left = int(self.offsets[index]) + within, int(self.sizes[index]) - within
        view = self.data.data
        if size <= left:
            return view[at : at + size]
        parts = [view[at : at + left]]
        missing = size - left
        while missing > 0:
            index += 1
            at, left = int(self.offsets[index]), min(int(self.sizes[index]), missing)
            parts.append(view[at : at + left])
            missing -= left
        return memoryview(b"".join(parts))


def reassemble(data: Bytes, packets: Packets, rows: NDArray[np.int64]) -> Stream:
    """The stream that the packets of one sender to one receiver carry."""
    place = np.zeros(len(rows), np.int64)
    np.cumsum(np.diff(packets.sequence[rows]).view(np.int32), out=place[1:])
    openings = (packets.flags[rows] & SYN).nonzero()[0]
    place[openings] += 1
    sizes, kept = packets.size[rows].astype(np.int64), packets.kept[rows].astype(np.int64)
    loaded = sizes.nonzero()[0]
    if len(openings):
        place -= place[openings[0]]
        loaded = loaded[place[loaded] + sizes[loaded] > 0]
    elif len(loaded):
        place -= place[loaded].min()
    rows, place, sizes, kept = rows[loaded], place[loaded], sizes[loaded], kept[loaded]
    brought, (owners, begin, end) = _pieces(place, kept)
    stream = Stream(
        data=data,
        starts=begin,
        offsets=packets.at[rows[owners]] + (begin - place[owners]),
        sizes=end - begin,
        times=packets.time[rows[owners]],
        packets=packets.number[rows[owners]],
        synced=len(openings) > 0,
        end=int((place + sizes).max()) if len(place) else 0,
    )
    if not brought.all():
        _count_repetitions(stream, packets, rows, place, sizes, brought)
    return stream


def _pieces(
    place: NDArray[np.int64], kept: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The packets that have bytes of their own, and the pieces: packet, start and end of each."""
    after = place + kept
    if bool((place[1:] >= after[:-1]).all() and (kept > 0).all()):
        return np.ones(len(place), np.bool_), (np.arange(len(place)), place, after)
    order = np.argsort(place, kind="stable")
    begin, end = place[order], after[order]
    covered = np.concatenate([np.full(1, np.iinfo(np.int64).min), np.maximum.accumulate(end)[:-1]])[: len(end)]
    latest = np.maximum.accumulate(order) if len(order) else order
    trimmed = (begin < covered) & (end > begin)
    if bool((trimmed & (order < latest)).any()):
        return _first_wins(place, kept)
    start = np.maximum(begin, covered)
    fresh = start < end
    brought = np.zeros(len(place), np.bool_)
    brought[order[fresh]] = True
    return brought, (order[fresh], start[fresh], end[fresh])


def _first_wins(
    place: NDArray[np.int64], kept: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The same if an earlier packet overlaps the start of a later one: a sweep in which the oldest copy wins."""
    ends = place + kept
    bounds = np.unique(np.concatenate([place, ends])).tolist()
    waiting = [packet for packet in np.argsort(-place, kind="stable").tolist() if kept[packet] > 0]
    begins, stops = place.tolist(), ends.tolist()
    active: list[int] = []
    pieces: list[list[int]] = []
    for begin, end in itertools.pairwise(bounds):
        while waiting and begins[waiting[-1]] <= begin:
            heappush(active, waiting.pop())
        while active and stops[active[0]] <= begin:
            heappop(active)
        if not active:
            continue
        if pieces and pieces[-1][0] == active[0] and pieces[-1][2] == begin:
            pieces[-1][2] = end
        else:
            pieces.append([active[0], begin, end])
    owners, starts, stops = np.ascontiguousarray(np.array(pieces, np.int64).reshape(-1, 3).T)
    brought = np.zeros(len(place), np.bool_)
    brought[owners] = True
    return brought, (owners, starts, stops)


def _count_repetitions(
    stream: Stream,
    packets: Packets,
    rows: NDArray[np.int64],
    place: NDArray[np.int64],
    sizes: NDArray[np.int64],
    brought: NDArray[np.bool_],
) -> None:
    repeated = np.flatnonzero(~brought & (packets.kept[rows] > 0))
    seen: dict[tuple[int, int, int], int] = {}
    for index in np.flatnonzero(np.isin(place, place[repeated])).tolist():
        row = rows[index]
        key = (int(place[index]), int(sizes[index]), int(packets.identity[row]))
        time = int(packets.time[row])
        if brought[index]:
            seen[key] = time
        elif abs(time - seen.get(key, -(1 << 62))) <= _DUPLICATE_WITHIN:
            stream.duplicates += 1
        elif sizes[index] > 1:
            stream.retransmitted += 1
