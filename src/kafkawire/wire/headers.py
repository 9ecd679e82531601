"""Requests and responses as whole frames: size, header, body.

Rules:
- The header's version follows from the API and the body's version (`Api.request_header_version`); a request header of
  an unknown version is still readable, because the client id never takes the compact form.
- Offsets in errors count from the start of the frame, its size included.
- A response is decoded in the version of its request. An ApiVersions response may have version 0 in any case (KIP-511).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, overload

from kafkawire.messages import (
    Api,
    ApiVersionsResponse,
    DecodeError,
    RequestHeader,
    ResponseHeader,
    UnknownMessageError,
    api,
)
from kafkawire.wire.errors import CorrelationError, UnknownApiError, UnsupportedRequestError, WireError
from kafkawire.wire.frames import LARGEST, SIZE, check_total, unframe

if TYPE_CHECKING:
    from kafkawire._codec.parts import Part
    from kafkawire.messages import Message

API_VERSIONS: Final = 18
_Response = TypeVar("_Response", bound="Message")
_ResponseOf = TypeVar("_ResponseOf", bound="Message", covariant=True)
KEY_AND_VERSION: Final = struct.Struct(">hh")
_ID: Final = struct.Struct(">i")
_SIZE_AND_ID: Final = struct.Struct(">ii")


def encode_request(message: Message, *, version: int, correlation_id: int, client_id: str | None = None) -> bytes:
    """A request as one frame.

    >>> from kafkawire.messages import HeartbeatRequest
    >>> message = HeartbeatRequest(group_id="g", member_id="m")
    >>> header, read = decode_request(encode_request(message, version=4, correlation_id=7, client_id="me"))
    >>> header.correlation_id, header.client_id, read == message
    (7, 'me', True)
    """
    parts = encode_request_parts(message, version=version, correlation_id=correlation_id, client_id=client_id)
    return b"".join(parts)


def encode_request_parts(
    message: Message, *, version: int, correlation_id: int, client_id: str | None = None
) -> list[bytes | memoryview]:
    """A request as the parts of one frame, record payloads neither copied nor joined."""
    return RequestWriter(_api_of(message, "request"), version, client_id).write(message, correlation_id)


class RequestWriter:
    """Writes the requests of one API in one version; the constant part of their headers is encoded once."""

    __slots__ = ("_after_id", "_key_and_version", "_version")

    def __init__(self, which: Api, version: int, client_id: str | None) -> None:
        header = RequestHeader(request_api_key=which.key, request_api_version=version, client_id=client_id)
        encoded = header.encode(which.request_header_version(version))
        self._version = version
        self._key_and_version = encoded[: KEY_AND_VERSION.size]
        self._after_id = encoded[KEY_AND_VERSION.size + _ID.size :]

    def write(self, message: Message, correlation_id: int) -> list[bytes | memoryview]:
        """A request as the parts of one frame, record payloads neither copied nor joined."""
        parts = message.encode_parts(self._version)
        header = self._key_and_version + _ID.pack(correlation_id) + self._after_id
        size = len(header) + sum(map(len, parts))
        if size > LARGEST:
            check_total(size)
        return [SIZE.pack(size) + header, *parts]


def encode_response(message: Message, *, api_key: int, version: int, correlation_id: int) -> bytes:
    """A response as one frame."""
    parts = encode_response_parts(message, api_key=api_key, version=version, correlation_id=correlation_id)
    return b"".join(parts)


def encode_response_parts(
    message: Message, *, api_key: int, version: int, correlation_id: int
) -> list[bytes | memoryview]:
    """A response as the parts of one frame, record payloads neither copied nor joined."""
    which = _api_of(message, "response")
    if which.key != api_key:
        raise WireError(f"{type(message).__name__} answers API key {which.key}, not {api_key}")
    return cast("list[bytes | memoryview]", ResponseWriter(which, version).write(message, correlation_id)[0])


class ResponseWriter:
    """Writes the responses of one API in one version; their common header is built once.

    >>> from kafkawire.messages import HeartbeatResponse
    >>> parts, size = ResponseWriter(api("Heartbeat"), 4).write(HeartbeatResponse(error_code=25), 7)
    >>> b"".join(parts).hex(" ", 4), size
    ('0000000c 00000007 00000000 00001900', 16)
    """

    __slots__ = ("_after_id", "_header_size", "_version")

    def __init__(self, which: Api, version: int) -> None:
        self._version = version
        header = ResponseHeader().encode(which.response_header_version(version))
        self._header_size = len(header)
        self._after_id = header[SIZE.size :]

    def write(self, message: Message, correlation_id: int) -> tuple[list[Part], int]:
        """A response as the parts of one frame, and the size of all.

        Records are neither copied nor joined. External ones (`_codec.parts`) are parts as they are.
        """
        parts = cast("list[Part]", message.encode_parts(self._version))
        size = self._header_size + (len(parts[0]) if len(parts) == 1 else sum(map(len, parts)))
        if size > LARGEST:
            check_total(size)
        head = _SIZE_AND_ID.pack(size, correlation_id) + self._after_id
        if parts and isinstance(parts[0], bytes):
            parts[0] = head + parts[0]
        else:
            parts.insert(0, head)
        return parts, SIZE.size + size


def decode_request_header(data: bytes | bytearray | memoryview) -> tuple[RequestHeader, int]:
    """The header of a request frame, and the offset of its body; the version may be unknown."""
    view = unframe(data)
    if len(view) < SIZE.size + KEY_AND_VERSION.size:
        raise WireError(f"expected a request header, found a frame of {len(view) - SIZE.size} bytes")
    key, version = KEY_AND_VERSION.unpack_from(view, SIZE.size)
    try:
        which = api(key)
    except UnknownMessageError:
        raise UnknownApiError(RequestHeader(request_api_key=key, request_api_version=version)) from None
    return RequestHeader.decode_prefix(view, which.request_header_version(version), SIZE.size)


def decode_request(
    data: bytes | bytearray | memoryview, *, allow_trailing: bool = False
) -> tuple[RequestHeader, Message]:
    """The header and the message of a request frame.

    UnknownApiError and UnsupportedRequestError carry the header, so that a broker can respond.
    """
    header, offset = decode_request_header(data)
    which = api(header.request_api_key)
    version = header.request_api_version
    if version not in which.versions:
        raise UnsupportedRequestError(header, which.name, str(which.versions))
    return header, _body(which.request, data, version, offset, allow_trailing)


class Answered(Protocol[_ResponseOf]):
    """A request, for type checkers: it has the class of its response."""

    @classmethod
    def response_class(cls) -> type[_ResponseOf]: ...


@overload
def decode_response(
    data: bytes | bytearray | memoryview,
    *,
    request: Answered[_Response] | type[Answered[_Response]],
    version: int,
    correlation_id: int | None = None,
    allow_trailing: bool = False,
) -> tuple[ResponseHeader, _Response]: ...


@overload
def decode_response(
    data: bytes | bytearray | memoryview,
    *,
    response: type[_Response],
    version: int,
    correlation_id: int | None = None,
    allow_trailing: bool = False,
) -> tuple[ResponseHeader, _Response]: ...


@overload
def decode_response(
    data: bytes | bytearray | memoryview,
    *,
    api_key: int,
    version: int,
    correlation_id: int | None = None,
    allow_trailing: bool = False,
) -> tuple[ResponseHeader, Message]: ...


def decode_response(
    data: bytes | bytearray | memoryview,
    *,
    request: Answered[_Response] | type[Answered[_Response]] | None = None,
    response: type[Message] | None = None,
    api_key: int | None = None,
    version: int,
    correlation_id: int | None = None,
    allow_trailing: bool = False,
) -> tuple[ResponseHeader, Message]:
    """The header and the message of a response frame to a request of this version.

    The request, the class of the response or the key names the API. Type checkers know the class of the response unless
    only the key is given. If a correlation id is given, the response must have the same one.

    >>> from kafkawire.messages import HeartbeatRequest, HeartbeatResponse
    >>> frame = encode_response(HeartbeatResponse(error_code=25), api_key=12, version=4, correlation_id=7)
    >>> decode_response(frame, request=HeartbeatRequest(group_id="g"), version=4)[1].error_code
    25
    """
    given = [each for each in (request, response, api_key) if each is not None]
    if len(given) != 1:
        raise TypeError(f"decode_response needs one of request, response and api_key, found {len(given)} of them")
    expected = response if request is None else request.response_class()
    key = api_key if expected is None else getattr(expected, "api_key", None)
    if key is None or (response is not None and response.__schema__.kind != "response"):
        raise WireError(f"expected the class of a response, found {getattr(expected, '__name__', expected)}")
    return ResponseReader(api(key), version).read(data, correlation_id, allow_trailing=allow_trailing)


class ResponseReader:
    """Reads the responses of one API in one version."""

    __slots__ = ("_header_version", "_response", "name", "version")

    def __init__(self, which: Api, version: int) -> None:
        self.name, self.version = which.name, version
        self._response = which.response
        self._header_version = which.response_header_version(version)

    def read(
        self,
        data: bytes | bytearray | memoryview,
        correlation_id: int | None = None,
        *,
        allow_trailing: bool = False,
    ) -> tuple[ResponseHeader, Message]:
        """The header and the message of a response frame."""
        view = memoryview(data)
        if len(view) < SIZE.size or SIZE.unpack_from(view)[0] != len(view) - SIZE.size:
            unframe(data)  # raises the error
        header, offset = ResponseHeader.decode_prefix(view, self._header_version, SIZE.size)
        if correlation_id is not None and header.correlation_id != correlation_id:
            raise CorrelationError(
                f"{self.name} v{self.version}: expected a response to request {correlation_id}, "
                f"found one to {header.correlation_id}"
            )
        try:
            return header, _body(self._response, view, self.version, offset, allow_trailing)
        except DecodeError:
            if self._response is not ApiVersionsResponse or self.version == 0:
                raise
            return header, _body(ApiVersionsResponse, view, 0, offset, allow_trailing)


def _body(
    cls: type[Message], data: bytes | bytearray | memoryview, version: int, offset: int, allow_trailing: bool
) -> Message:
    message, end = cls.decode_prefix(data, version, offset)
    if end < len(data) and not allow_trailing:
        error = DecodeError(end, "the end of the frame", f"{len(data) - end} bytes more")
        error.title = f"{cls.__name__} v{version}"
        raise error
    return message


def _api_of(message: Message, kind: str) -> Api:
    schema = type(message).__schema__
    if schema.kind != kind or schema.key is None:
        raise WireError(f"{schema.name} is not a {kind}")
    return api(schema.key)
