"""The frames of a stream as columns, and how a stream is cut into them.

Rules:
- From the first byte after a SYN the lengths are trusted, if the first frame is a request.
- A gap within a frame loses only that frame, because its length gives the start of the next, if that is after the gap.
- A frame boundary is lost in a gap, at a start mid-stream, or by an impossible length. The cutter then searches for the
  next plausible frame. The bytes before it become a Skip with the reason.
- Raw SASL tokens, which follow a SaslHandshake v0, are frames without a header, until a request is plausible again.
- The rest of a frame at the end of a stream is the tail: its declared size, and how much of it was captured.
- `frame_detection` decides whether a frame is plausible.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkawire import _native as implementation
from kafkawire.inspect._capture import walk as reference
from kafkawire.inspect._capture.frame_detection import Recogniser, RequestFacts
from kafkawire.inspect._capture.walk import (
    COLUMNS,
    CUT,
    IMPLAUSIBLE,
    SASL,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.tcp import Stream

_walk = implementation.load("kafkawire.inspect._capture._walk", reference.__name__)
_NO_LIMIT: Final = 1 << 62
_LARGEST_TOKEN: Final = 1 << 20
_MOST_TOKENS: Final = 64


class Skip(NamedTuple):
    """Bytes of a stream that are in no frame: missing from the capture, or not recognised."""

    position: int
    size: int
    reason: str


class Tail(NamedTuple):
    """The frame in which a stream ends: its position, its declared size (-1: not captured), and the bytes captured."""

    position: int
    declared: int
    present: int


class Tokens(NamedTuple):
    """Raw SASL tokens: the number of frames before them, and their own number."""

    after: int
    number: int


@dataclass(slots=True)
class Frames:
    """The frames of one direction of a connection, as columns."""

    stream: Stream
    position: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    api_key: NDArray[np.int64]
    version: NDArray[np.int64]
    correlation: NDArray[np.int64]
    client: NDArray[np.int64]
    whole: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    clients: list[str]
    skips: list[Skip]
    tail: Tail | None
    tokens: Tokens | None

    def __len__(self) -> int:
        return len(self.position)

    def read(self, index: int) -> memoryview:
        """A whole frame without its length prefix."""
        return self.stream.read(int(self.position[index]) + 4, int(self.size[index]) - 4)

    def packets(self, index: int) -> list[int]:
        """The numbers of the packets that carry a frame."""
        return [int(number) for number in self.stream.packets[int(self.first[index]) : int(self.last[index]) + 1]]


def cut_requests(stream: Stream) -> Frames:
    """The frames that a client sent."""
    return _Cutter(stream, None, None).run()


def cut_responses(stream: Stream, requests: Frames) -> Frames:
    """The frames that a broker sent, given the requests."""

    def asked() -> dict[int, RequestFacts]:
        columns = (requests.correlation, requests.api_key, requests.version, requests.begin)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {correlation: (key, version, begin) for correlation, key, version, begin in rows if key >= 0}

    return _Cutter(stream, asked, requests.tokens).run()


@dataclass(slots=True)
class _Cutter:
    stream: Stream
    asked: Callable[[], dict[int, RequestFacts]] | None
    tokens: Tokens | None
    recogniser: Recogniser = field(init=False)
    blocks: list[NDArray[np.int64]] = field(default_factory=list)
    broken: list[tuple[int, ...]] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    clients: dict[bytes, int] = field(default_factory=dict)
    count: int = 0
    tail: Tail | None = None

    def __post_init__(self) -> None:
        self.recogniser = Recogniser(self.stream, self.asked)

    def run(self) -> Frames:
        chunks = self.stream.chunks()
        due: int | None = 0 if self.stream.synced else None
        reached = 0
        for number, (first, stop, start, end) in enumerate(chunks):
            if start > reached:
                self.skips.append(Skip(reached, start - reached, "missing from the capture"))
            reached = end
            if due is not None and due >= end:
                continue
            following = number + 1 < len(chunks) or self.stream.end > end
            due = self._chunk(first, stop, start, end, due, following)
        if self.stream.end > reached:
            self.skips.append(Skip(reached, self.stream.end - reached, "missing from the capture"))
        return self._frames()

    def _chunk(self, first: int, stop: int, start: int, end: int, due: int | None, following: bool) -> int | None:
        """Cut one run of bytes; returns where the next frame begins after it, or None if that is not known."""
        position = self._entry(start, end, due)
        while position is not None and position < end:
            limit = _NO_LIMIT if self.tokens is None else max(self.tokens.after - self.count, 0) or _NO_LIMIT
            position, reason = self._walk(position, end, limit)
            if reason == SASL and self.asked is None:
                position = self._take_tokens(position, end)
            elif self.asked is not None and self.tokens is not None and self.count == self.tokens.after:
                position = self._pass_tokens(position, end, self.tokens.number)
            elif reason == CUT:
                return self._cut(position, end, following)
            elif reason == IMPLAUSIBLE:
                position = self._lost(position, end, following)
        return position

    def _entry(self, start: int, end: int, due: int | None) -> int | None:
        if due is not None and due >= start:
            fresh = due == 0 and self.asked is not None
            if fresh or self.recogniser.continues(due, end):
                return due
            if due == 0:
                self.tail = Tail(0, struct.unpack(">i", self.stream.read(0, 4))[0], end)
                self.skips.append(Skip(0, end, "not Kafka: the first bytes are not a request"))
                return None
        elif self.recogniser.begins_chain(start, end):
            return start
        begin = start if due is None else max(start, due)
        found = self.recogniser.search(begin, end)
        upto = end if found is None else found
        if upto > begin:
            self.skips.append(Skip(begin, upto - begin, "no frame recognised"))
        return found

    def _walk(self, position: int, end: int, limit: int) -> tuple[int, int]:
        stream, piece = self.stream, self.stream.piece_at(position)
        arrays = (stream.data, stream.starts, stream.offsets, stream.sizes)
        rows, position, reason = _walk.walk(*arrays, piece, position, end, limit, self.asked is None, self.clients)
        block = np.frombuffer(rows, np.int64).reshape(-1, COLUMNS)
        self.blocks.append(block)
        self.count += len(block)
        return position, reason

    def _cut(self, position: int, end: int, following: bool) -> int | None:
        """A frame that the run of bytes ends in."""
        present = end - position
        declared = struct.unpack(">i", self.stream.read(position, 4))[0] if present >= 4 else -1
        if not following:
            self.tail = Tail(position, declared, present)
        elif declared >= 0:
            self._break(position, 4 + declared, end)
        else:
            self.skips.append(Skip(position, present, "a frame whose length is missing"))
        return position + 4 + declared if declared >= 0 else None

    def _break(self, position: int, size: int, end: int) -> None:
        head = bytes(self.stream.read(position + 4, min(8, end - position - 4)))
        key = version = correlation = -1
        if self.asked is None and len(head) == 8:
            key, version, correlation = struct.unpack(">hhi", head)
        elif self.asked is not None and len(head) >= 4:
            correlation = struct.unpack_from(">i", head)[0]
        first = self.stream.piece_at(position)
        last = self.stream.piece_at(position + size - 1)
        self.broken.append((position, size, first, last, key, version, correlation, -1))

    def _lost(self, position: int, end: int, following: bool) -> int | None:
        """Handle an impossible length where a frame should begin."""
        declared = struct.unpack(">i", self.stream.read(position, 4))[0]
        found = self.recogniser.search(position + 1, end)
        if found is None and not following:
            self.tail = Tail(position, declared, end - position)
        upto = end if found is None else found
        self.skips.append(Skip(position, upto - position, f"no frame can begin with a length of {declared}"))
        return found

    def _take_tokens(self, position: int, end: int) -> int | None:
        before = self.count
        while end - position >= 4 and self.count - before < _MOST_TOKENS:
            size = struct.unpack(">i", self.stream.read(position, 4))[0]
            if self.recogniser.starts_frame(position, end) or not 0 <= size <= _LARGEST_TOKEN:
                break
            if position + 4 + size > end:
                break
            self._token(position, 4 + size)
            position += 4 + size
        self.tokens = Tokens(before, self.count - before)
        return position

    def _pass_tokens(self, position: int, end: int, count: int) -> int | None:
        while count and end - position >= 4:
            size = struct.unpack(">i", self.stream.read(position, 4))[0]
            if not 0 <= size <= _LARGEST_TOKEN or position + 4 + size > end:
                break
            self._token(position, 4 + size)
            position, count = position + 4 + size, count - 1
        self.tokens = None
        return position

    def _token(self, position: int, size: int) -> None:
        first, last = self.stream.piece_at(position), self.stream.piece_at(position + size - 1)
        self.blocks.append(np.array([[position, size, first, last, -1, -1, -1, -1]], np.int64))
        self.count += 1

    def _frames(self) -> Frames:
        whole = np.concatenate(self.blocks) if self.blocks else np.empty((0, COLUMNS), np.int64)
        rows = np.concatenate([whole, np.array(self.broken, np.int64).reshape(-1, COLUMNS)])
        complete = np.arange(len(rows)) < len(whole)
        if self.broken:
            order = np.argsort(rows[:, 0], kind="stable")
            rows, complete = rows[order], complete[order]
        position, size, first, last, key, version, correlation, client = np.ascontiguousarray(rows.T)
        times = self.stream.times
        delivered = np.maximum.accumulate(times) if len(times) else times
        names = [name.decode("utf-8", "backslashreplace") for name in self.clients]
        begin, end = times[first], delivered[last]
        return Frames(
            *(self.stream, position, size, first, last, key, version, correlation, client, complete, begin, end),
            clients=names,
            skips=self.skips,
            tail=self.tail,
            tokens=self.tokens,
        )
