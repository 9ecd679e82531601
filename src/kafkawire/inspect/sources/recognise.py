"""Telling the start of a Kafka frame from other bytes: how a cutter finds its feet after a gap or in mid-stream.

Rules:
- A request is believed when its length, API key, version, correlation id and client id are all possible, its body
  reads to its last byte, and the frame behind it looks possible too or the run of bytes ends there.
- A response is believed when its correlation id is one of a request that came before it, its body reads as the
  answer to that request, and what follows is as for requests.
- At the start of a run, a chain of lengths that leads to a believed response makes the whole chain believed.
- A frame that does not end within the run is not believed: its bytes cannot be checked.
- A stream in which a great many places look like frames and none is one is given up: it is not Kafka's.
"""

from __future__ import annotations

import struct
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.inspect.sources.walk import LARGEST_REQUEST, LARGEST_RESPONSE
from kafkawire.messages import CodecError, RequestHeader, ResponseHeader, api, apis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from kafkawire.inspect.sources.tcp import Stream

_HEADER: Final = struct.Struct(">ihhih")
_SHORT: Final = struct.Struct(">ii")
_WINDOW: Final = 1 << 20
_CHAIN: Final = 16
_MOST_TRIES: Final = 100_000

Asked = tuple[int, int, int]
"""What a request asked: API key, version, time of its first byte."""


class Recogniser:
    """Finds frames in one direction of a connection; `ask`, for responses, tells what was asked by correlation id."""

    def __init__(self, stream: Stream, ask: Callable[[], Mapping[int, Asked]] | None) -> None:
        self.stream = stream
        self._ask = ask
        self._tries = _MOST_TRIES

    @cached_property
    def asked(self) -> Mapping[int, Asked] | None:
        return None if self._ask is None else self._ask()

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return np.array(sorted(self.asked or ()), np.int64)

    def starts_frame(self, position: int, end: int) -> bool:
        """Whether a frame that the bytes bear out begins here."""
        size = self._possible(position, end)
        if size is None or position + 4 + size > end or not self._reads(position, size):
            return False
        after = position + 4 + size
        return end - after < 4 or self._possible(after, end) is not None

    def continues(self, position: int, end: int) -> bool:
        """Whether a place where a frame is due may be one: less is asked than of a place found by search."""
        if end - position < 4:
            return True
        size = self._possible(position, end)
        return size is not None and (position + 4 + size > end or self._reads(position, size))

    def begins_chain(self, position: int, end: int) -> bool:
        """Whether lengths lead from here to a frame that is believed."""
        for _ in range(_CHAIN):
            if end - position < 8:
                return False
            if self.starts_frame(position, end):
                return True
            if self.asked is None:
                return False
            size = _SHORT.unpack(self.stream.read(position, 8))[0]
            if not 4 <= size <= LARGEST_RESPONSE:
                return False
            position += 4 + size
        return False

    def search(self, position: int, end: int) -> int | None:
        """The first place from a position on where a frame is believed to begin."""
        while position < end and self._tries > 0:
            block = np.frombuffer(self.stream.read(position, min(_WINDOW + 16, end - position)), np.uint8)
            for place in self._candidates(block)[: self._tries]:
                candidate = int(place)
                self._tries -= 1
                if candidate < _WINDOW and self.starts_frame(position + candidate, end):
                    return position + candidate
            position += _WINDOW
        return None

    def _candidates(self, block: NDArray[np.uint8]) -> NDArray[np.int64]:
        count = len(block) - 13 if self.asked is None else len(block) - 7
        if count <= 0:
            return np.empty(0, np.int64)
        column = [block[index : index + count] for index in range(14 if self.asked is None else 8)]
        if self.asked is None:
            likely = (column[4] == 0) & (column[6] == 0) & (column[0] <= LARGEST_REQUEST >> 24) & (column[8] < 128)
            likely &= (column[5] < len(_highest())) & ((column[12] == 0) | (column[12] == 255))
            likely &= ((column[0] | column[1] | column[2]) > 0) | (column[3] >= 8)
            return np.flatnonzero(likely)
        if not len(self._sorted):
            return np.empty(0, np.int64)
        rough = np.flatnonzero(np.isin(column[4], np.unique(self._sorted >> 24 & 255)) & (column[0] < 128))
        ids = np.zeros(len(rough), np.int64)
        for index in range(4, 8):
            ids = ids << 8 | column[index][rough]
        return rough[np.isin(ids, self._sorted & 0xFFFFFFFF)]

    def _possible(self, position: int, end: int) -> int | None:
        """The size of the frame here by its prefix, if header and prefix are possible."""
        if self.asked is not None:
            return self._possible_response(position, end)
        if end - position < 14:
            return end - position if end - position >= 0 else None
        size, key, version, correlation, name = _HEADER.unpack(self.stream.read(position, 14))
        highest = _highest()
        if not 8 <= size <= LARGEST_REQUEST or not 0 <= key < len(highest) or not 0 <= version <= highest[key]:
            return None
        if key == 7 and version == 0:
            return int(size) if correlation >= 0 else None
        if correlation < 0 or name < -1 or 10 + name > size:
            return None
        shown = bytes(self.stream.read(position + 14, min(max(name, 0), end - position - 14)))
        return int(size) if shown.isascii() and shown.decode("ascii").isprintable() else None

    def _possible_response(self, position: int, end: int) -> int | None:
        if end - position < 8:
            return end - position
        assert self.asked is not None
        size, correlation = _SHORT.unpack(self.stream.read(position, 8))
        known = self.asked.get(correlation)
        if known is None or not 4 <= size <= LARGEST_RESPONSE:
            return None
        return int(size) if known[2] <= int(self.stream.times[self.stream.piece_at(position)]) else None

    def _reads(self, position: int, size: int) -> bool:
        frame = self.stream.read(position + 4, size)
        if self.asked is None:
            key, version = struct.unpack_from(">hh", frame)
            return reads_as_request(frame, key, version)
        key, version, _ = self.asked[struct.unpack_from(">i", frame)[0]]
        return reads_as_response(frame, key, version)


def reads_as_request(frame: memoryview, key: int, version: int) -> bool:
    """Whether a frame, without its prefix, is a request of this API and version to its last byte."""
    which = api(key)
    try:
        _, body = RequestHeader.decode_prefix(frame, which.request_header_version(version))
        which.request.decode(frame[body:], version)
    except CodecError:
        return False
    return True


def reads_as_response(frame: memoryview, key: int, version: int) -> bool:
    """Whether a frame, without its prefix, answers such a request; one to ApiVersions may always be of version 0."""
    highest = _highest()
    if key >= len(highest) or version > highest[key]:
        return True
    which = api(key)
    for attempt in (version, 0) if key == 18 else (version,):
        try:
            _, body = ResponseHeader.decode_prefix(frame, which.response_header_version(attempt))
            which.response.decode(frame[body:], attempt)
        except CodecError:
            continue
        return True
    return False


@cache
def _highest() -> list[int]:
    """The highest version we know of each API, by key; -1 where a key is not in use."""
    known = {each.key: each.versions.last for each in apis()}
    return [known.get(key, -1) for key in range(max(known) + 1)]
