"""Dividing captures among workers: which exchanges each reads, planned from headers.

Rules:
- Whoever plans reads packet headers and frame headers, once: connections are put together, cut into frames and matched.
  A part is what a worker needs of that, and no more: it never sees a packet header.
- Parts are windows over the bytes of all files: an exchange belongs to the window in which its first byte lies. So a
  large connection is in many parts, and each part reads its bytes about in order, whatever the number of connections.
- Connections and exchanges keep the numbers that a single reader would give them, so the parts join to the same tables.
- What exchanges need of others comes with the part: names of topics, and fetch sessions that began before it.
- A part has the rows of connections and gaps that begin in it, as far as headers tell them.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire.inspect.capture import follow_fetches, learn_topics
from kafkawire.inspect.conversations import gather_conversations
from kafkawire.inspect.exchanges import connection_row, gap_rows
from kafkawire.inspect.sessions import FetchSessions
from kafkawire.inspect.shares import flatten, restore, share_of
from kafkawire.inspect.sources.captures import open_capture
from kafkawire.inspect.sources.rotation import FILE_BITS
from kafkawire.inspect.tables import CONNECTIONS, GAPS
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from numpy.typing import NDArray

    from kafkawire.inspect.conversations import FileFacts, Found
    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.inspect.sessions import Sessions
    from kafkawire.inspect.sources.captures import Capture

_CODEC: Final = "zstd"


class Share(NamedTuple):
    """Exchanges of a connection, and the sessions that go on at the first; None where one reader follows them all."""

    talk: Conversation
    sessions: Sessions | None


@dataclass(slots=True)
class Part:
    """What one worker reads: shares of connections, out of these files."""

    files: Sequence[str]
    topics: Mapping[UUID, str]
    shares: list[Share] = field(default_factory=list)
    connections: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[dict[str, Any]] = field(default_factory=list)

    def tables(self) -> dict[str, pa.Table]:
        """The connections and gaps that headers tell of."""
        return {
            "connections": pa.Table.from_pylist(self.connections, CONNECTIONS),
            "gaps": pa.Table.from_pylist(self.gaps, GAPS),
        }


class PackedPart(NamedTuple):
    """A part as bytes: what a plan takes on its way to a worker."""

    size: int
    data: bytes

    def unpack(self) -> Part:
        part: Part
        part, flat = pickle.loads(pa.Codec(_CODEC).decompress(self.data, self.size, asbytes=True))
        part.shares = [Share(restore(talk), sessions) for talk, sessions in flat]
        return part


@dataclass(slots=True)
class Plan:
    """The parts of captures, in the order of their bytes, and what is known of the files."""

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
    """Divide captures into parts of about so many bytes.

    With `whole` no connection is divided. Without `topics` or `sessions` nothing is told of those, which saves reading
    what tells it. `opened` opens a capture.
    """
    names = [str(path) for path in paths]
    gathered = gather_conversations(names, opened)
    known = TopicNames()
    if topics:
        learn_topics(known, (found.talk for found in gathered.found))
    starts = np.array(list(accumulate((file.size for file in gathered.files), initial=0)), np.int64)
    parts: dict[int, Part] = {}
    following = FetchSessions() if sessions and starts[-1] > part_bytes else None
    for found in gathered.found:
        windows = _windows(found, starts, part_bytes)
        if whole:
            windows[:] = windows[0]
        for number, first, last in _stretches(windows):
            part = parts.setdefault(number, Part(names, known.names))
            carried = None if following is None else following.begin_share()
            if following is not None:
                follow_fetches(following, found.talk, first, last)
            part.shares.append(Share(share_of(found.talk, first, last, found.origin), carried))
            if first == 0:
                part.connections.append(connection_row(found.talk))
                part.gaps.extend(gap_rows(found.talk))
    return Plan([_pack(parts.pop(number)) for number in sorted(parts)], gathered.files)


def _pack(part: Part) -> PackedPart:
    flat = [(flatten(talk), sessions) for talk, sessions in part.shares]
    plain = pickle.dumps((replace(part, shares=[]), flat), pickle.HIGHEST_PROTOCOL)
    return PackedPart(len(plain), pa.Codec(_CODEC).compress(plain, asbytes=True))


def _windows(found: Found, starts: NDArray[np.int64], part_bytes: int) -> NDArray[np.int64]:
    """The window of each exchange, which never goes back; a connection without exchanges has that of its first byte."""
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
    """Runs of exchanges in one window: its number, the first of them, and the one behind the last."""
    cuts = (np.flatnonzero(np.diff(windows)) + 1).tolist()
    for first, last in zip([0, *cuts], [*cuts, len(windows)], strict=True):
        yield int(windows[first]), first, last
