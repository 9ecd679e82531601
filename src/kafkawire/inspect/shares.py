"""A share of a connection: some of its exchanges, with their frames and where those lie, for others to read.

Rules:
- A share is a conversation like any other, of exchanges that follow each other. It has the frames that those need, and
  of each frame the pieces of the capture files; of the response before one that it has, it keeps the time only.
- Until a share is filled its streams have no bytes: their offsets are addresses, a file and a place in it.
- What is filled lies in memory one after the other, so that whole frames are read uncopied.
- The pieces of many shares are loaded together, in the order of the files and over what lies between them if that is
  little: shares of one time lie among each other.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.inspect.exchanges import Conversation
from kafkawire.inspect.matching import Matches
from kafkawire.inspect.sources.rotation import FILE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from kafkawire.inspect.sources.frames import Frames
    from kafkawire.inspect.sources.rotation import Origin
    from kafkawire.inspect.sources.tcp import Stream

    Read = Callable[[int, int, int], memoryview]
    """Bytes of a file by its number, a position and a size."""

_NOTHING: Final = np.empty(0, np.uint8)
_WITHIN: Final = (1 << FILE_BITS) - 1
_FRAME_COLUMNS: Final = ("position", "size", "api_key", "version", "correlation", "client", "begin", "end")


def share_of(talk: Conversation, first: int, last: int, origin: Origin | None = None) -> Conversation:
    """The exchanges from one to before another; `origin` tells the addresses, where offsets are none yet."""
    matches = talk.matches
    asked, answered = matches.request[first:last], matches.response[first:last]
    requests, request = _frames_of(talk.connection.requests, asked, origin)
    responses, response = _frames_of(talk.connection.responses, answered, origin, before=True)
    return Conversation(
        conn_id=talk.conn_id,
        file=talk.file,
        connection=replace(talk.connection, requests=requests, responses=responses),
        matches=Matches(request, response, matches.state[first:last].copy()),
        first=talk.first + first,
    )


def payload_sizes(talk: Conversation) -> NDArray[np.int64]:
    """How many bytes the frames of each exchange have."""
    total = np.zeros(len(talk), np.int64)
    one = talk.connection
    for frames, numbers in ((one.requests, talk.matches.request), (one.responses, talk.matches.response)):
        if len(frames):
            total += np.where(numbers >= 0, frames.size[numbers], 0)
    return total


def load(talks: Iterable[Conversation], read: Read, hole: int) -> Read:
    """Read what shares need, at most `hole` bytes in vain at a time; the result gives it from memory."""
    streams = [frames.stream for each in talks for frames in (each.connection.requests, each.connection.responses)]
    offsets = np.concatenate([np.empty(0, np.int64), *(stream.offsets for stream in streams)])
    sizes = np.concatenate([np.empty(0, np.int64), *(stream.sizes for stream in streams)])
    order = np.argsort(offsets, kind="stable")
    offsets, ends = offsets[order], np.maximum.accumulate((offsets + sizes)[order])
    apart = np.flatnonzero(offsets[1:] - ends[:-1] > hole) + 1
    starts = offsets[[0, *apart.tolist()]].tolist() if len(offsets) else []
    stops = ends[[*(apart - 1).tolist(), -1]].tolist() if len(offsets) else []
    blocks = [
        read(start >> FILE_BITS, start & _WITHIN, stop - start) for start, stop in zip(starts, stops, strict=True)
    ]

    def loaded(file: int, position: int, size: int) -> memoryview:
        address = file << FILE_BITS | position
        block = bisect_right(starts, address) - 1
        at = address - starts[block]
        return blocks[block][at : at + size]

    return loaded


def fill(talk: Conversation, read: Read) -> Conversation:
    """A share with its bytes in memory."""
    one = talk.connection
    requests, responses = _filled(one.requests, read), _filled(one.responses, read)
    return replace(talk, connection=replace(one, requests=requests, responses=responses))


def _frames_of(
    frames: Frames, numbers: NDArray[np.int64], origin: Origin | None, *, before: bool = False
) -> tuple[Frames, NDArray[np.int64]]:
    """The frames of these numbers, and the numbers that they have among themselves."""
    used = np.unique(numbers[numbers >= 0])
    kept = np.union1d(used, used[used > 0] - 1) if before else used
    mine = np.isin(kept, used, assume_unique=True)
    whole = frames.whole[kept] & mine
    first = frames.first[kept]
    last = np.where(whole, frames.last[kept], first)
    stream, first, last = _stream_of(frames.stream, first, last, mine, origin)
    columns = {name: getattr(frames, name)[kept] for name in _FRAME_COLUMNS}
    part = replace(
        frames, **columns, stream=stream, first=first, last=last, whole=whole, skips=[], tail=None, tokens=None
    )
    return part, np.where(numbers >= 0, np.searchsorted(kept, numbers), -1)


def _stream_of(
    stream: Stream, first: NDArray[np.int64], last: NDArray[np.int64], mine: NDArray[np.bool_], origin: Origin | None
) -> tuple[Stream, NDArray[np.int64], NDArray[np.int64]]:
    """The pieces that frames need, and their numbers among those."""
    if not mine.any():
        return _pieces(stream, np.empty(0, np.int64), origin), np.zeros_like(first), np.zeros_like(last)
    low, high = int(first[mine].min()), int(last[mine].max()) + 1
    depth = np.zeros(high - low + 1, np.int64)
    np.add.at(depth, first[mine] - low, 1)
    np.add.at(depth, last[mine] + 1 - low, -1)
    needed = np.cumsum(depth[:-1]) > 0
    rank = np.cumsum(needed) - 1
    renumbered = [np.where(mine, rank[np.clip(column - low, 0, high - low - 1)], 0) for column in (first, last)]
    return _pieces(stream, np.flatnonzero(needed) + low, origin), renumbered[0], renumbered[1]


def _pieces(stream: Stream, which: NDArray[np.int64], origin: Origin | None) -> Stream:
    offsets = stream.offsets[which]
    return replace(
        stream,
        data=_NOTHING,
        starts=stream.starts[which],
        offsets=offsets if origin is None else origin.addresses(offsets),
        sizes=stream.sizes[which],
        times=np.empty(0, np.int64),
        packets=stream.packets[which],
    )


def _filled(frames: Frames, read: Read) -> Frames:
    stream = frames.stream
    if not len(stream.starts):
        return frames
    pieces = zip(stream.offsets.tolist(), stream.sizes.tolist(), strict=True)
    data = np.frombuffer(b"".join(read(at >> FILE_BITS, at & _WITHIN, size) for at, size in pieces), np.uint8)
    heads = np.array([first for first, _, _, _ in stream.chunks()], np.int64)
    places = (np.cumsum(stream.sizes) - stream.sizes)[heads]
    chunk = np.searchsorted(heads, frames.first, "right") - 1
    joined = replace(
        stream,
        data=data,
        starts=stream.starts[heads],
        offsets=places,
        sizes=np.diff(places, append=len(data)),
        packets=stream.packets[heads],
    )
    return replace(frames, stream=joined, first=chunk, last=chunk)
