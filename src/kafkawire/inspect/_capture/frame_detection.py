"""Recognising Kafka frames in a stream whose boundaries are not known.

Rules:
- A request is possible if its length, API key, version, correlation id and client id are. These never change, so a
  client may be newer than the schemas: any key and version up to a limit is possible.
- A possible request at an expected place is trusted if its body decodes to its last byte. If not (an unknown version
  or a malformed body), it must have a null or readable client id, and the next frame must be possible.
- A request that is found by search must decode, and the next frame must be possible. One of an unknown version must be
  followed by the next request of the same client, or by the end of the run.
- A response is plausible if its correlation id is that of an earlier request and its body decodes as the response.
- At the start of a run, a chain of lengths that leads to a plausible response makes the whole chain plausible.
- A frame that does not end within the run is not plausible, because its bytes cannot be checked.
- A stream is given up if very many places look like frames and are not, because the stream is not Kafka's.
"""

from __future__ import annotations

import struct
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.inspect._capture.walk import LARGEST_REQUEST, LARGEST_RESPONSE, MOST_APIS, MOST_VERSIONS
from kafkawire.messages import CodecError, RequestHeader, ResponseHeader, api, apis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.tcp import Stream

_HEADER: Final = struct.Struct(">ihhih")
_SHORT: Final = struct.Struct(">ii")
_WINDOW: Final = 1 << 20
_CHAIN: Final = 16
_MOST_TRIES: Final = 100_000

RequestFacts = tuple[int, int, int]
"""The API key and version of a request, and the time of its first byte."""


class Recogniser:
    """Finds frames in one direction of a connection; for responses, `ask` returns the requests by correlation id."""

    def __init__(self, stream: Stream, ask: Callable[[], Mapping[int, RequestFacts]] | None) -> None:
        self.stream = stream
        self._ask = ask
        self._tries = _MOST_TRIES

    @cached_property
    def asked(self) -> Mapping[int, RequestFacts] | None:
        return None if self._ask is None else self._ask()

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return np.array(sorted(self.asked or ()), np.int64)

    def starts_frame(self, position: int, end: int) -> bool:
        """Whether a frame begins here, checked by its bytes."""
        size = self._possible(position, end)
        if size is None or position + 4 + size > end:
            return False
        if self.asked is None and not self._is_known(position):
            return self._is_chained(position, size, end)
        return self._reads(position, size) and self._is_followed(position, size, end)

    def continues(self, position: int, end: int) -> bool:
        """Whether a frame may begin where one is expected; a weaker check than for a place found by search."""
        if end - position < 4:
            return True
        size = self._possible(position, end)
        if size is None or position + 4 + size > end or self._reads(position, size):
            return size is not None
        return self.asked is None and self._is_named(position) and self._is_followed(position, size, end)

    def begins_chain(self, position: int, end: int) -> bool:
        """Whether lengths lead from here to a frame that passes the check."""
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
        """The first place from a position on where a frame begins."""
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
        """The size of the frame here by its prefix, if the prefix and the header are possible."""
        if self.asked is not None:
            return self._possible_response(position, end)
        if end - position < 14:
            return end - position if end - position >= 0 else None
        size, key, version, correlation, name = _HEADER.unpack(self.stream.read(position, 14))
        if not 8 <= size <= LARGEST_REQUEST or not 0 <= key < MOST_APIS or not 0 <= version < MOST_VERSIONS:
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

    def _is_known(self, position: int) -> bool:
        """Whether the schemas have the version of the request here."""
        key, version = _HEADER.unpack(self.stream.read(position, 14))[1:3]
        return is_known(key, version)

    def _is_named(self, position: int) -> bool:
        """Whether the client id here is null or has characters; zeros of another protocol have an empty one."""
        return bool(_HEADER.unpack(self.stream.read(position, 14))[4] != 0)

    def _is_followed(self, position: int, size: int, end: int) -> bool:
        """Whether a frame may begin after this one, or the run ends there."""
        after = position + 4 + size
        return end - after < 4 or self._possible(after, end) is not None

    def _is_chained(self, position: int, size: int, end: int) -> bool:
        """Whether the next request of the same client follows, or the run ends exactly with this one."""
        after = position + 4 + size
        *_, correlation, name = _HEADER.unpack(self.stream.read(position, 14))
        if name < 1 or after == end:
            return bool(name >= 1)
        if end - after < 14 + name or self._possible(after, end) is None:
            return False
        *_, next_correlation, next_name = _HEADER.unpack(self.stream.read(after, 14))
        if (next_correlation, next_name) != (correlation + 1, name):
            return False
        return bytes(self.stream.read(position + 14, name)) == bytes(self.stream.read(after + 14, name))

    def _reads(self, position: int, size: int) -> bool:
        frame = self.stream.read(position + 4, size)
        if self.asked is None:
            key, version = struct.unpack_from(">hh", frame)
            return reads_as_request(frame, key, version)
        key, version, _ = self.asked[struct.unpack_from(">i", frame)[0]]
        return reads_as_response(frame, key, version)


def is_known(key: int, version: int) -> bool:
    """Whether the schemas have a version of an API."""
    highest = _highest()
    return 0 <= key < len(highest) and 0 <= version <= highest[key]


def reads_as_request(frame: memoryview, key: int, version: int) -> bool:
    """Whether a frame, without its prefix, decodes as a request of this API and version to its last byte."""
    if not is_known(key, version):
        return False
    which = api(key)
    try:
        _, body = RequestHeader.decode_prefix(frame, which.request_header_version(version))
        which.request.decode(frame[body:], version)
    except CodecError:
        return False
    return True


def reads_as_response(frame: memoryview, key: int, version: int) -> bool:
    """Whether a frame, without its prefix, decodes as a response; one to ApiVersions may be of version 0."""
    if not is_known(key, version):
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
    """The highest known version of each API, by key; -1 if a key is not in use."""
    known = {each.key: each.versions.last for each in apis()}
    return [known.get(key, -1) for key in range(max(known) + 1)]
