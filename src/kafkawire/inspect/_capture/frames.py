"""The frames of a connection as columns, and which response answers which request.

Rules:
- A broker answers the requests of a connection in order, so they are matched first in, first out. Correlation ids,
  which clients may reuse, are the check.
- A Produce request with acks=0 has no response.
- A request that a later response skips is unanswered. If bytes are missing where its response would be, it is a gap.
- A response without a captured request is request_missing. Raw SASL tokens answer each other in order.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkawire._codec.varint import read_uvarint
from kafkawire.inspect._tables.schemas import STATES
from kafkawire.messages import CodecError, RequestHeader, api

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkawire.inspect._capture.tcp import Stream

MATCHED, NO_RESPONSE, UNANSWERED, REQUEST_MISSING, GAP, UNDECODED, TOKEN = range(len(STATES))
_PRODUCE: Final = 0
_START: Final = 1024


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


@dataclass(slots=True)
class Matches:
    """The exchanges of a connection: numbers of its request and response frames (-1 for none), and their states."""

    request: NDArray[np.int64]
    response: NDArray[np.int64]
    state: NDArray[np.int8]
    in_turn: bool = False  # every request has a response with the same number

    def __len__(self) -> int:
        return len(self.state)


def match(requests: Frames, responses: Frames) -> Matches:
    """The exchanges of a connection, in the order of their requests."""
    asked, answered = len(requests), len(responses)
    if answered <= asked and _answered_in_turn(requests, responses):
        response = np.concatenate([np.arange(answered), np.full(asked - answered, -1)])
        state = np.full(asked, MATCHED, np.int8)
        pending = [_silence(requests, responses, index, len(responses)) for index in range(answered, asked)]
        state[answered:] = pending
        found = Matches(np.arange(asked), response, state, in_turn=asked == answered)
    else:
        found = _by_queue(requests, responses)
    return _with_gaps(found, requests, responses)


def expects_response(requests: Frames, index: int) -> bool:
    """Whether brokers answer a request: all but a Produce with acks=0."""
    if requests.api_key[index] != _PRODUCE or not requests.whole[index]:
        return True
    version = int(requests.version[index])
    size = min(int(requests.size[index]) - 4, _START)
    start = requests.stream.read(int(requests.position[index]) + 4, size, int(requests.first[index]))
    try:
        _, at = RequestHeader.decode_prefix(start, api(_PRODUCE).request_header_version(version))
        if version >= 9:
            length, at = read_uvarint(start, at, size)
            at += max(length - 1, 0)
        elif version >= 3:
            at += 2 + max(struct.unpack_from(">h", start, at)[0], 0)
        return bool(struct.unpack_from(">h", start, at)[0] != 0)
    except (CodecError, struct.error):
        return True


def _answered_in_turn(requests: Frames, responses: Frames) -> bool:
    count = len(responses)
    return bool((requests.correlation[:count] == responses.correlation).all())


def _by_queue(requests: Frames, responses: Frames) -> Matches:
    rows: list[tuple[int, int, int, int]] = []  # time, request, response, state
    waiting: deque[int] = deque(range(len(requests)))
    correlation, begin = requests.correlation.tolist(), requests.begin.tolist()
    places: dict[int, deque[int]] = {}
    for index, number in enumerate(correlation):
        places.setdefault(number, deque()).append(index)
    for index, (number, time) in enumerate(zip(responses.correlation.tolist(), responses.begin.tolist(), strict=True)):
        candidates = places.get(number, deque())
        while candidates and waiting and candidates[0] < waiting[0]:
            candidates.popleft()
        if not candidates or not waiting or (begin[candidates[0]] > time >= 0):
            rows.append((time, -1, index, REQUEST_MISSING))
            continue
        answered = candidates.popleft()
        while waiting[0] != answered:
            skipped = waiting.popleft()
            rows.append((begin[skipped], skipped, -1, _silence(requests, responses, skipped, index)))
        waiting.popleft()
        rows.append((begin[answered], answered, index, MATCHED))
    rows += [(begin[left], left, -1, _silence(requests, responses, left, len(responses))) for left in waiting]
    rows.sort(key=lambda row: (row[0], row[1] if row[1] >= 0 else row[2]))
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return Matches(columns[:, 1], columns[:, 2], columns[:, 3].astype(np.int8))


def _silence(requests: Frames, responses: Frames, index: int, following: int) -> int:
    """Why a request has no response, which would be just before the response `following`."""
    if not expects_response(requests, index):
        return NO_RESPONSE
    if requests.api_key[index] < 0:
        return TOKEN
    low = int(responses.position[following - 1]) if following else 0
    high = int(responses.position[following]) if following < len(responses) else responses.stream.end
    lost = any(low <= skip.position <= high for skip in responses.skips)
    return GAP if lost else UNANSWERED


def _with_gaps(found: Matches, requests: Frames, responses: Frames) -> Matches:
    state = found.state
    if len(requests):
        asked = found.request >= 0
        state[asked & ~requests.whole[found.request]] = GAP
        state[asked & (requests.api_key[found.request] < 0) & requests.whole[found.request]] = TOKEN
    if len(responses):
        state[(found.response >= 0) & ~responses.whole[found.response]] = GAP
    return found
