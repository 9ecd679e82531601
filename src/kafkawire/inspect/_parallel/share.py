"""A share of a connection: consecutive exchanges with their frames and the positions of these in the capture files.

Rules:
- A share is a conversation. It has the frames of its exchanges, and for each frame the pieces of the capture files. Of
  the response before its first one it keeps only the time.
- Until a share is filled, its streams have no bytes: their offsets are addresses, a file and a position in it.
- The bytes of a filled share are contiguous in memory, so that whole frames are read without a copy.
- The pieces of many shares are loaded together in the order of the files, because shares of one time are interleaved.
  Small gaps between pieces are read with them, the smallest first and up to a limit. So memory does not depend on the
  other content of the files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkawire.inspect._capture.frames import Frames
from kafkawire.inspect._capture.tcp import FILE_BITS, Stream
from kafkawire.inspect._tables.exchanges import Conversation, Matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.tcp import Origin

    Read = Callable[[int, int, int], memoryview]
    """Bytes of a file by its number, a position and a size."""

_NOTHING: Final = np.empty(0, np.uint8)
_WITHIN: Final = (1 << FILE_BITS) - 1
_FRAME_COLUMNS: Final = ("position", "size", "api_key", "version", "correlation", "client", "begin", "end")
_PIECE_COLUMNS: Final = ("starts", "offsets", "sizes", "packets")
_NONE: Final = np.empty(0, np.int64)
_NO_STREAM: Final = Stream(_NOTHING, *(_NONE,) * 5, synced=False, end=0)
_NO_FRAMES: Final = Frames(_NO_STREAM, *(_NONE,) * 8, np.empty(0, np.bool_), _NONE, _NONE, [], [], None, None)


def share_of(talk: Conversation, first: int, last: int, origin: Origin | None = None) -> Conversation:
    """The exchanges from `first` to before `last`; `origin` converts offsets that are not yet addresses."""
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


class FlatFrames(NamedTuple):
    """The frames of a direction as two arrays with one row per column, which are fast to send."""

    frames: NDArray[np.int64]
    pieces: NDArray[np.int64]
    clients: list[str]


class FlatShare(NamedTuple):
    """A share without bytes, for the way to another process."""

    talk: Conversation
    matches: NDArray[np.int64]
    requests: FlatFrames
    responses: FlatFrames


def flatten(talk: Conversation) -> FlatShare:
    """Convert a share to a few arrays."""
    one, matches = talk.connection, talk.matches
    empty = Matches(_NONE, _NONE, _NONE.astype(np.int8))
    bare = replace(talk, connection=replace(one, requests=_NO_FRAMES, responses=_NO_FRAMES), matches=empty)
    rows = np.stack([matches.request, matches.response, matches.state])
    return FlatShare(bare, rows, _flat(one.requests), _flat(one.responses))


def restore(flat: FlatShare) -> Conversation:
    """Convert the arrays back to a share."""
    request, response, state = flat.matches
    requests, responses = _unflat(flat.requests), _unflat(flat.responses)
    return replace(
        flat.talk,
        connection=replace(flat.talk.connection, requests=requests, responses=responses),
        matches=Matches(request, response, state.astype(np.int8)),
    )


def _flat(frames: Frames) -> FlatFrames:
    stream = frames.stream
    columns = np.stack([*(getattr(frames, name) for name in (*_FRAME_COLUMNS, "first", "last", "whole"))])
    return FlatFrames(columns, np.stack([getattr(stream, name) for name in _PIECE_COLUMNS]), frames.clients)


def _unflat(flat: FlatFrames) -> Frames:
    *columns, first, last, whole = flat.frames
    pieces: dict[str, Any] = dict(zip(_PIECE_COLUMNS, flat.pieces, strict=True))
    named: dict[str, Any] = dict(zip(_FRAME_COLUMNS, columns, strict=True))
    stream = replace(_NO_STREAM, **pieces)
    return replace(
        _NO_FRAMES, **named, stream=stream, first=first, last=last, whole=whole.astype(np.bool_), clients=flat.clients
    )


class LoadedBytes:
    """Bytes of files for some shares; reads gaps of up to `hole` bytes, and `waste` bytes of gaps in total."""

    def __init__(self, talks: Iterable[Conversation], read: Read, hole: int, waste: int) -> None:
        streams = [frames.stream for each in talks for frames in (each.connection.requests, each.connection.responses)]
        offsets = np.concatenate([np.empty(0, np.int64), *(stream.offsets for stream in streams)])
        sizes = np.concatenate([np.empty(0, np.int64), *(stream.sizes for stream in streams)])
        order = np.argsort(offsets, kind="stable")
        offsets, ends = offsets[order], np.maximum.accumulate((offsets + sizes)[order])
        holes = np.maximum(offsets[1:] - ends[:-1], 0)
        small = np.sort(holes[holes <= hole])
        too_many = np.flatnonzero(np.cumsum(small) > waste)
        breaks = np.flatnonzero(holes >= small[too_many[0]] if len(too_many) else holes > hole)
        self._starts = offsets[np.concatenate([np.arange(len(offsets))[:1], breaks + 1])]
        stops = ends[np.concatenate([breaks, np.arange(len(ends))[-1:]])]
        self._blocks = [
            read(start >> FILE_BITS, start & _WITHIN, stop - start)
            for start, stop in zip(self._starts.tolist(), stops.tolist(), strict=True)
        ]

    def join(self, addresses: NDArray[np.int64], sizes: NDArray[np.int64]) -> bytes:
        """The bytes of pieces, joined."""
        numbers = np.searchsorted(self._starts, addresses, "right") - 1
        begins = addresses - self._starts[numbers]
        blocks = self._blocks
        places = zip(numbers.tolist(), begins.tolist(), (begins + sizes).tolist(), strict=True)
        return b"".join([blocks[number][begin:end] for number, begin, end in places])


def fill(talk: Conversation, loaded: LoadedBytes) -> Conversation:
    """Fill a share with its bytes."""
    one = talk.connection
    requests, responses = _filled(one.requests, loaded), _filled(one.responses, loaded)
    return replace(talk, connection=replace(one, requests=requests, responses=responses))


def _frames_of(
    frames: Frames, numbers: NDArray[np.int64], origin: Origin | None, *, before: bool = False
) -> tuple[Frames, NDArray[np.int64]]:
    """The frames of these numbers, and their new numbers."""
    kept: slice | NDArray[np.int64]
    if len(numbers) and numbers[0] >= 0 and bool((np.diff(numbers) == 1).all()):
        low = int(numbers[0]) - (before and numbers[0] > 0)
        kept, renumbered = slice(low, int(numbers[-1]) + 1), numbers - low
        mine = np.arange(low, int(numbers[-1]) + 1) >= numbers[0]
    else:
        used = np.unique(numbers[numbers >= 0])
        kept = np.union1d(used, used[used > 0] - 1) if before else used
        renumbered = np.where(numbers >= 0, np.searchsorted(kept, numbers), -1)
        mine = np.isin(kept, used, assume_unique=True)
    whole = frames.whole[kept] & mine
    first = frames.first[kept]
    last = np.where(whole, frames.last[kept], first)
    stream, first, last = _stream_of(frames.stream, first, last, mine, origin)
    columns = {name: getattr(frames, name)[kept] for name in _FRAME_COLUMNS}
    part = replace(
        frames, **columns, stream=stream, first=first, last=last, whole=whole, skips=[], tail=None, tokens=None
    )
    return part, renumbered


def _stream_of(
    stream: Stream, first: NDArray[np.int64], last: NDArray[np.int64], mine: NDArray[np.bool_], origin: Origin | None
) -> tuple[Stream, NDArray[np.int64], NDArray[np.int64]]:
    """The pieces of frames, and their new numbers."""
    if not mine.any():
        return _pieces(stream, slice(0, 0), origin), np.zeros_like(first), np.zeros_like(last)
    low, high = int(first[mine].min()), int(last[mine].max()) + 1
    covered = int((last[mine] - first[mine]).sum()) + int(mine.sum())
    if covered >= high - low:
        needed = slice(low, high)
        return _pieces(stream, needed, origin), np.where(mine, first - low, 0), np.where(mine, last - low, 0)
    depth = np.zeros(high - low + 1, np.int64)
    np.add.at(depth, first[mine] - low, 1)
    np.add.at(depth, last[mine] + 1 - low, -1)
    within = np.cumsum(depth[:-1]) > 0
    rank = np.cumsum(within) - 1
    first, last = (np.where(mine, rank[np.where(mine, column - low, 0)], 0) for column in (first, last))
    return _pieces(stream, np.flatnonzero(within) + low, origin), first, last


def _pieces(stream: Stream, which: NDArray[np.int64] | slice, origin: Origin | None) -> Stream:
    offsets = stream.offsets[which]
    return replace(
        stream,
        data=_NOTHING,
        starts=stream.starts[which],
        offsets=offsets if origin is None else origin.addresses(offsets),
        sizes=stream.sizes[which],
        times=_NONE,
        packets=stream.packets[which],
    )


def _filled(frames: Frames, loaded: LoadedBytes) -> Frames:
    stream = frames.stream
    if not len(stream.starts):
        return frames
    data = np.frombuffer(loaded.join(stream.offsets, stream.sizes), np.uint8)
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
