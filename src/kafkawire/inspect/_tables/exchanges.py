"""The exchanges of connections: which response answers which request, and connections, gaps and exchanges as columns.

Rules:
- A broker answers the requests of a connection in order, so they are matched first in, first out. Correlation ids,
  which clients may reuse, are the check.
- A Produce request with acks=0 has no response.
- A request that a later response skips is unanswered. If bytes are missing where its response would be, it is a gap.
- A response without a captured request is request_missing. Raw SASL tokens answer each other in order.
- The columns come from headers and packets alone.
- wait is the time from the last byte of the request to the first byte of its response. service starts no earlier than
  the last byte of the response before it, because a broker serves a connection one request at a time. A transfer is
  the time from the first byte to the last.
- Durations are null if the capture has no times.
- idle_ms is the time between the last byte of payload and the packet that closes the connection.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyarrow as pa

from kafkawire._codec.varint import read_uvarint
from kafkawire.inspect._tables.schemas import CONNECTIONS, EXCHANGES, GAPS, STATES
from kafkawire.messages import CodecError, RequestHeader, api, apis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.connections import Connection
    from kafkawire.inspect._capture.frames import Frames
    from kafkawire.inspect._capture.tcp import Stream

_NULL: Final = np.iinfo(np.int64).min
MATCHED, NO_RESPONSE, UNANSWERED, REQUEST_MISSING, GAP, UNDECODED, TOKEN = range(len(STATES))
_PRODUCE: Final = 0
_START: Final = 1024
_MISSING: Final = "missing from the capture"


@dataclass(slots=True)
class Matches:
    """The exchanges of a connection: numbers of its request and response frames (-1 for none), and their states."""

    request: NDArray[np.int64]
    response: NDArray[np.int64]
    state: NDArray[np.int8]
    in_turn: bool = False  # every request has a response with the same number

    def __len__(self) -> int:
        return len(self.state)


@dataclass(slots=True)
class Conversation:
    """A connection with its number in this run and its exchanges; or some of them, from the number `first` on."""

    conn_id: int
    file: str
    connection: Connection
    matches: Matches
    first: int = 0

    def __len__(self) -> int:
        return len(self.matches)


def converse(connection: Connection, *, file: str = "", first_id: int = 0) -> Conversation:
    """Match the frames of a connection."""
    return Conversation(
        first_id + connection.number, file, connection, match(connection.requests, connection.responses)
    )


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


def payload_sizes(talk: Conversation) -> NDArray[np.int64]:
    """The bytes of the frames of each exchange."""
    total = np.zeros(len(talk), np.int64)
    one = talk.connection
    for frames, numbers in ((one.requests, talk.matches.request), (one.responses, talk.matches.response)):
        if len(frames):
            total += np.where(numbers >= 0, frames.size[numbers], 0)
    return total


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


def exchanges_table(conversations: Sequence[Conversation]) -> pa.Table:
    """The exchanges of connections, with the columns of headers and packets; the other columns are null."""
    clients: dict[str, int] = {}
    parts = [_exchange_columns(each, clients) for each in conversations if len(each)]
    if not parts:
        return EXCHANGES.empty_table()
    columns = {name: np.concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
    count = len(columns["seq"])
    names: dict[str, Sequence[str | None]] = {"api": _api_names(), "client_id": list(clients), "state": STATES}
    arrays: list[pa.Array[Any]] = []
    for column in EXCHANGES:
        if column.name not in columns:
            arrays.append(pa.nulls(count, column.type))
        elif column.name in names:
            arrays.append(_names(names[column.name], columns[column.name]))
        else:
            values = columns[column.name]
            kind = pa.int64() if pa.types.is_timestamp(column.type) else column.type
            arrays.append(pa.array(values, mask=values == _NULL).cast(kind).cast(column.type))
    return pa.Table.from_arrays(arrays, schema=EXCHANGES)


def _exchange_columns(talk: Conversation, clients: dict[str, int]) -> dict[str, NDArray[np.int64]]:
    requests, responses = talk.connection.requests, talk.connection.responses
    matches = talk.matches
    asked = None if matches.in_turn else matches.request
    answered = None if matches.in_turn else matches.response
    own = np.array([clients.setdefault(name, len(clients)) for name in requests.clients], np.int64)
    begun, ended = _pick(requests.begin, asked), _pick(requests.end, asked)
    came, done = _pick(responses.begin, answered), _pick(responses.end, answered)
    before = _pick(np.concatenate([np.zeros(1, np.int64), responses.end[:-1]]), answered)
    keys = _pick(requests.api_key, asked)
    sent = _pick(requests.correlation, asked)
    timed = talk.connection.first >= 0
    return {
        "conn_id": np.full(len(matches), talk.conn_id, np.int64),
        "seq": np.arange(talk.first, talk.first + len(matches)),
        "api_key": np.where(keys >= 0, keys, _NULL),
        "api": keys,
        "version": np.where(keys >= 0, _pick(requests.version, asked), _NULL),
        "corr_id": np.where(matches.request >= 0, sent, _pick(responses.correlation, answered)),
        "client_id": _pick(own, _pick(requests.client, asked)),
        "ts_req": _micro(begun, timed),
        "ts_resp": _micro(came, timed),
        "wait_us": _micro(came, timed, ended),
        "service_us": _micro(came, timed, np.minimum(np.maximum(ended, before), came), ended),
        "req_transfer_us": _micro(ended, timed, begun),
        "resp_transfer_us": _micro(done, timed, came),
        "req_bytes": _pick(requests.size, asked),
        "resp_bytes": _pick(responses.size, answered),
        "req_packet": _pick(requests.stream.packets, _pick(requests.first, asked)),
        "resp_packet": _pick(responses.stream.packets, _pick(responses.first, answered)),
        "state": matches.state.astype(np.int64),
    }


def connections_table(conversations: Sequence[Conversation]) -> pa.Table:
    """The connections; the columns software_*, inter_broker and undecoded need bodies and are null."""
    return pa.Table.from_pylist([connection_row(each) for each in conversations], CONNECTIONS)


def gaps_table(conversations: Sequence[Conversation]) -> pa.Table:
    """All runs of bytes that are missing from the capture, or are not part of a frame."""
    return pa.Table.from_pylist([row for talk in conversations for row in gap_rows(talk)], GAPS)


def gap_rows(talk: Conversation) -> Iterator[dict[str, object]]:
    """The rows of a connection in the table of gaps."""
    for sender, frames in (("client", talk.connection.requests), ("broker", talk.connection.responses)):
        for skip in frames.skips:
            piece = frames.stream.piece_at(max(skip.position - 1, 0))
            time = int(frames.stream.times[max(piece, 0)]) if len(frames.stream.times) else -1
            yield {
                "conn_id": talk.conn_id,
                "sender": sender,
                "position": skip.position,
                "bytes": skip.size,
                "t": _microseconds(time),
                "reason": skip.reason,
            }


def connection_row(talk: Conversation) -> dict[str, object]:
    """The row of a connection, without the columns of bodies."""
    one = talk.connection
    streams = (one.requests.stream, one.responses.stream)
    skips = [*one.requests.skips, *one.responses.skips]
    payload = [int(stream.times.max()) for stream in streams if len(stream.times)]
    idle = None if one.closed is None or not payload else (one.closed - max(payload)) // 1_000_000
    tail = one.requests.tail
    pending = int((talk.matches.state == UNANSWERED).sum())
    return {
        "conn_id": talk.conn_id,
        "file": talk.file,
        "client": one.client,
        "server": one.broker,
        "kind": one.kind,
        "t_syn": _microseconds(one.opened),
        "t_first": _microseconds(one.first),
        "t_last": _microseconds(one.last),
        "rtt_us": None if one.round_trip is None else one.round_trip // 1000,
        "closed_by": one.closed_by,
        "close_kind": one.close_kind,
        "t_close": _microseconds(one.closed),
        "idle_ms": None if idle is None else max(idle, 0),
        "bytes_c": int(streams[0].sizes.sum()),
        "bytes_s": int(streams[1].sizes.sum()),
        "gaps": sum(skip.reason == _MISSING for skip in skips),
        "missing_bytes": sum(skip.size for skip in skips if skip.reason == _MISSING),
        "skipped_bytes": sum(skip.size for skip in skips if skip.reason != _MISSING),
        "retrans": sum(stream.retransmitted for stream in streams),
        "duplicates": sum(stream.duplicates for stream in streams),
        "zero_windows": one.zero_windows,
        "tls": one.kind == "tls",
        "frames": len(one.requests) + len(one.responses),
        "pending": pending,
        "tail_declared": None if tail is None else tail.declared,
        "tail_present": None if tail is None else tail.present,
        "start_c": _start(streams[0]),
        "start_s": _start(streams[1]),
    }


def _start(stream: Stream) -> bytes | None:
    """The first bytes of a stream that was captured from its beginning."""
    if not stream.synced or not len(stream.starts) or stream.starts[0] != 0:
        return None
    return bytes(stream.read(0, min(8, int(stream.sizes[0]))))


def _microseconds(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None or nanoseconds < 0 else nanoseconds // 1000


def _pick(column: NDArray[np.integer[Any]], rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The items of a column at rows, or all of them; null if a row is negative."""
    if rows is None:
        return column.astype(np.int64, copy=False)
    if not len(column):
        return np.full(len(rows), _NULL, np.int64)
    picked = column[np.maximum(rows, 0)].astype(np.int64, copy=False)
    absent = rows < 0
    if absent.any():
        picked[absent] = _NULL
    return picked


def _micro(times: NDArray[np.int64], timed: bool, *since: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nanoseconds as microseconds, since the first of the others if given; null where any of them is."""
    if not timed:
        return np.full(len(times), _NULL, np.int64)
    absent = times == _NULL
    for other in since:
        absent |= other == _NULL
    spans = (times - since[0] if since else times) // 1000
    if absent.any():
        spans[absent] = _NULL
    return spans


def _names(names: Sequence[str | None], codes: NDArray[np.int64]) -> pa.Array[Any]:
    outside = (codes < 0) | (codes >= len(names))
    numbers = cast("pa.Int32Array", pa.array(np.where(outside, 0, codes).astype(np.int32), mask=outside))
    return pa.array([*names, None], pa.string()).take(numbers)


def _api_names() -> list[str | None]:
    names: list[str | None] = []
    for each in apis():
        names += [None] * (each.key - len(names)) + [each.name]
    return names
