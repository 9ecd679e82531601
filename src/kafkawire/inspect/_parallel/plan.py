"""Divide captures among workers: plan from headers which exchanges each worker reads.

Rules:
- The planner reads packet headers and frame headers once: it assembles connections, cuts them into frames and matches
  them. A part contains only what its worker needs; workers read no packet headers.
- Parts are windows over the bytes of all files: an exchange belongs to the window of its first byte. So a large
  connection is in many parts, and each part reads its bytes almost in order, for any number of connections.
- Connections and exchanges have the numbers that a single reader gives them, so the parts join to the same tables.
- A part contains what its exchanges need of others: names of topics, and fetch sessions that began before it.
- A part has the rows of connections and gaps that begin in it, with the columns of headers.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire.inspect._capture.connections import open_capture, read_connections
from kafkawire.inspect._capture.tcp import FILE_BITS
from kafkawire.inspect._parallel.share import flatten, restore, share_of
from kafkawire.inspect._tables.exchanges import connection_row, gap_rows
from kafkawire.inspect._tables.read import follow_fetches, learn_topics
from kafkawire.inspect._tables.schemas import CONNECTIONS, GAPS
from kafkawire.inspect._tables.topics import TopicNames
from kafkawire.wire.fetch_sessions import ObservedSessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.connections import Capture, CapturedConnection, FileFacts
    from kafkawire.inspect._tables.exchanges import Conversation
    from kafkawire.wire.fetch_sessions import Sessions

_CODEC: Final = "zstd"


class ConnectionShare(NamedTuple):
    """Exchanges of a connection, and the open sessions at the first; None if one reader follows all exchanges."""

    talk: Conversation
    sessions: Sessions | None


@dataclass(slots=True)
class CapturePart:
    """The input of one worker: shares of connections, and their files."""

    files: Sequence[str]
    topics: Mapping[UUID, str]
    shares: list[ConnectionShare] = field(default_factory=list)
    connections: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[dict[str, Any]] = field(default_factory=list)

    def tables(self) -> dict[str, pa.Table]:
        """The connections and gaps, with the columns of headers."""
        return {
            "connections": pa.Table.from_pylist(self.connections, CONNECTIONS),
            "gaps": pa.Table.from_pylist(self.gaps, GAPS),
        }


class PackedPart(NamedTuple):
    """A part as compressed bytes, for the way to a worker."""

    size: int
    data: bytes

    def unpack(self) -> CapturePart:
        part: CapturePart
        part, flat = pickle.loads(pa.Codec(_CODEC).decompress(self.data, self.size, asbytes=True))
        part.shares = [ConnectionShare(restore(talk), sessions) for talk, sessions in flat]
        return part


@dataclass(slots=True)
class Plan:
    """The parts of captures, in the order of their bytes, and facts about the files."""

    parts: list[PackedPart]
    files: list[FileFacts]


def plan_captures(
    paths: Iterable[str | Path],
    part_bytes: int,
    *,
    whole: bool = False,
    topics: bool = True,
    sessions: bool = True,
    opened: Callable[[str], Capture] = open_capture,
) -> Plan:
    """Divide captures into parts of about `part_bytes`.

    With `whole` no connection is split. Without `topics` or `sessions` the parts do not contain them, and the planner
    reads fewer bodies. `opened` opens a capture.
    """
    names = [str(path) for path in paths]
    gathered = read_connections(names, opened)
    known = TopicNames()
    if topics:
        learn_topics(known, (found.talk for found in gathered.found))
    starts = np.array(list(accumulate((file.size for file in gathered.files), initial=0)), np.int64)
    parts: dict[int, CapturePart] = {}
    following = ObservedSessions() if sessions and starts[-1] > part_bytes else None
    for found in gathered.found:
        windows = _windows(found, starts, part_bytes)
        if whole:
            windows[:] = windows[0]
        for number, first, last in _stretches(windows):
            part = parts.setdefault(number, CapturePart(names, known.names))
            carried = None if following is None else following.begin_share()
            if following is not None:
                follow_fetches(following, found.talk, first, last)
            part.shares.append(ConnectionShare(share_of(found.talk, first, last, found.origin), carried))
            if first == 0:
                part.connections.append(connection_row(found.talk))
                part.gaps.extend(gap_rows(found.talk))
    return Plan([_pack(parts.pop(number)) for number in sorted(parts)], gathered.files)


def _pack(part: CapturePart) -> PackedPart:
    flat = [(flatten(talk), sessions) for talk, sessions in part.shares]
    plain = pickle.dumps((replace(part, shares=[]), flat), pickle.HIGHEST_PROTOCOL)
    return PackedPart(len(plain), pa.Codec(_CODEC).compress(plain, asbytes=True))


def _windows(found: CapturedConnection, starts: NDArray[np.int64], part_bytes: int) -> NDArray[np.int64]:
    """The window of each exchange, never decreasing; a connection without exchanges has that of its first byte."""
    talk = found.talk
    first = np.full(max(len(talk), 1), -1, np.int64)
    one = talk.connection
    for frames, numbers in ((one.responses, talk.matches.response), (one.requests, talk.matches.request)):
        if len(frames):
            addresses = found.origin.addresses(frames.stream.offsets[frames.first])
            first = np.where(numbers >= 0, addresses[numbers], first)
    if not len(talk):
        first[0] = found.origin.file << FILE_BITS
    bytes_before = starts[first >> FILE_BITS] + (first & ((1 << FILE_BITS) - 1))
    return np.maximum.accumulate(bytes_before // part_bytes)


def _stretches(windows: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Runs of exchanges in one window: its number, the first exchange, and the one after the last."""
    cuts = (np.flatnonzero(np.diff(windows)) + 1).tolist()
    for first, last in zip([0, *cuts], [*cuts, len(windows)], strict=True):
        yield int(windows[first]), first, last
