"""The protocol of a recording proxy, without I/O: bytes of client and broker in; bytes to forward and exchanges out.

Rules:
- Bytes of clients are forwarded unchanged. Those of brokers are forwarded frame by frame, because addresses of brokers
  are replaced by addresses of the proxy, so that clients stay on it.
- Responses come in the order of their requests; the correlation id is the check. A Produce with acks=0 has none.
- Frames that cannot be decoded are forwarded unchanged. Their API key, version and client id are known nevertheless.
  If the bytes are not frames (TLS), all bytes are forwarded unchanged.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._tables.exchange_bodies import response_version
from kafkawire.messages import CodecError, Message, RequestHeader, ResponseHeader, UnknownMessageError, api
from kafkawire.wire import FrameError, FrameReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Api

    Advertise = Callable[[str, int], tuple[str, int]]

_HEADER: Final = struct.Struct(">hhi")
_PRODUCE, _SASL_HANDSHAKE = 0, 17
_LARGEST: Final = 1 << 28  # the first bytes of TLS and HTTP, read as a size, are larger
_WITH_ADDRESSES: Final = (0, 1, 3, 10, 60, 78, 79)


@dataclass(slots=True)
class PendingRequest:
    """A request that waits for its response.

    `which` and `request` are None if the request cannot be decoded, and `key` is -1 for a raw token.
    """

    which: Api | None
    key: int
    version: int
    correlation: int
    client_id: str | None
    request: Message | None
    size: int
    at: int
    frame: bytes = b""


@dataclass(slots=True)
class Exchange:
    """A complete exchange; `response` is None if there is none, or if it cannot be decoded.

    With `is_unanswered` the broker closed the connection instead of answering.
    """

    asked: PendingRequest
    response: Message | None
    size: int
    at: int
    frame: bytes = b""
    is_unanswered: bool = False


@dataclass(slots=True)
class Relay:
    """One connection through the proxy; `advertise` returns the proxy's address for a broker's."""

    advertise: Advertise
    waiting: deque[PendingRequest] = field(default_factory=deque)
    opaque: bool = False
    _requests: FrameReader = field(default_factory=lambda: FrameReader(_LARGEST))
    _responses: FrameReader = field(default_factory=lambda: FrameReader(_LARGEST))
    _tokens: bool = False
    _held: bytearray = field(default_factory=bytearray)

    def from_client(self, chunk: bytes, now: int) -> list[Exchange]:
        """Read the bytes of a client, which are forwarded unchanged; returns the exchanges that they complete."""
        if self.opaque:
            return []
        try:
            frames = self._requests.feed(chunk)
        except FrameError:
            self.opaque = True
            return []
        seen = []
        for frame in frames:
            asked = self._asked(frame, now)
            if asked.which is not None and asked.which.key == _PRODUCE and getattr(asked.request, "acks", None) == 0:
                seen.append(Exchange(asked, None, 0, now))
            else:
                self.waiting.append(asked)
        return seen

    def from_broker(self, chunk: bytes, now: int) -> tuple[bytes, list[Exchange]]:
        """The bytes to forward to the client, and the exchanges that are complete."""
        self._held += chunk
        frames: list[bytes] = []
        try:
            frames = [] if self.opaque else self._responses.feed(chunk)
        except FrameError:
            self.opaque = True
        if self.opaque:
            passed, self._held = bytes(self._held), bytearray()
            return passed, []
        del self._held[: sum(map(len, frames))]
        out, seen = [], []
        for frame in frames:
            asked = self._answered(frame)
            if asked is None:
                out.append(frame)
                continue
            passed, response = self._passed(asked, frame)
            out.append(passed)
            seen.append(Exchange(asked, response, len(frame), now, frame))
        return b"".join(out), seen

    def closed_by_broker(self, now: int) -> list[Exchange]:
        """The requests that the broker left without a response when it closed the connection."""
        left = [Exchange(asked, None, 0, now, is_unanswered=True) for asked in self.waiting]
        self.waiting.clear()
        return left

    def _asked(self, frame: bytes, now: int) -> PendingRequest:
        body = memoryview(frame)[4:]
        if len(body) >= 8:
            key, version, correlation = _HEADER.unpack_from(body)
            try:
                which = api(key)
                header, start = RequestHeader.decode_prefix(body, which.request_header_version(version))
                request = which.request.decode(body[start:], version)
            except (CodecError, UnknownMessageError):
                if not self._tokens:
                    name = _client_id(body)
                    return PendingRequest(None, key, version, correlation, name, None, len(frame), now, frame)
            else:
                self._tokens = key == _SASL_HANDSHAKE and version == 0
                return PendingRequest(
                    which, key, version, correlation, header.client_id, request, len(frame), now, frame
                )
        return PendingRequest(None, -1, -1, -1, None, None, len(frame), now, frame)

    def _answered(self, frame: bytes) -> PendingRequest | None:
        """The request that a frame answers."""
        correlation = struct.unpack_from(">i", frame, 4)[0] if len(frame) >= 8 else -1
        for place, asked in enumerate(self.waiting):
            if asked.correlation in (correlation, -1):
                for _ in range(place):
                    self.waiting.popleft()
                return self.waiting.popleft()
        return None

    def _passed(self, asked: PendingRequest, frame: bytes) -> tuple[bytes, Message | None]:
        if asked.which is None:
            return frame, None
        body = memoryview(frame)[4:]
        version = response_version(asked.which, asked.version, body)
        try:
            header, start = ResponseHeader.decode_prefix(body, asked.which.response_header_version(version))
            response = asked.which.response.decode(body[start:], version)
            if asked.which.key not in _WITH_ADDRESSES or not rewrite_addresses(response, self.advertise):
                return frame, response
            encoded = header.encode(asked.which.response_header_version(version)) + response.encode(version)
        except CodecError:
            return frame, None
        return struct.pack(">i", len(encoded)) + encoded, response


def _client_id(body: memoryview) -> str | None:
    """The client id of a request that cannot be decoded: its place never changes."""
    try:
        return RequestHeader.decode_prefix(body, 1)[0].client_id
    except CodecError:
        return None


def rewrite_addresses(response: Message, advertise: Advertise) -> bool:
    """Replace the addresses of brokers by those of the proxy; returns whether there were any."""
    found: list[Any] = [
        *(getattr(response, "brokers", None) or ()),
        *(getattr(response, "coordinators", None) or ()),
        *(getattr(response, "node_endpoints", None) or ()),
    ]
    if hasattr(response, "host") and hasattr(response, "port"):
        found.append(response)
    changed = False
    for place in found:
        if place.host and place.port > 0:
            place.host, place.port = advertise(place.host, place.port)
            changed = True
    return changed
