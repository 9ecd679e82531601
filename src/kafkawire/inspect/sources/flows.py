"""Which packets belong to which connection.

Rules:
- A connection is a pair of endpoints, and begins anew with each SYN that is not a repetition of the last: ports are
  reused, and what follows is another connection.
- Who opened it is told by its SYN, or by the answer to it; without either, None: the bytes must tell.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kafkawire.inspect.sources.packets import ACK, SYN, Packets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


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
    low, high = np.minimum(packets.source, packets.target), np.maximum(packets.source, packets.target)
    low_codes, high_codes = _codes(low), _codes(high)
    pairs = _codes(low_codes.astype(np.int64) << 32 | high_codes)
    order = np.argsort(pairs, kind="stable")
    edges = np.flatnonzero(np.diff(pairs[order])) + 1
    flows: list[Flow] = []
    for rows in np.split(order, edges):
        flows.extend(_epochs(packets, rows))
    flows.sort(key=lambda flow: int(flow.rows[0]))
    yield from flows


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
    """The connection that packets of two endpoints are."""
    flags = packets.flags[rows]
    source, target = int(packets.source[rows[0]]), int(packets.target[rows[0]])
    opener = None
    handshake = np.flatnonzero(flags & SYN)
    if len(handshake):
        row, answered = rows[handshake[0]], bool(flags[handshake[0]] & ACK)
        opener = int(packets.target[row] if answered else packets.source[row])
    return Flow(source, target, rows, opener)
