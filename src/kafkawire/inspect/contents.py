"""The messages of an exchange, decoded from its frames.

Rules:
- A frame with a gap in it, a raw token, or an API or version that we do not know has no message; `fault` says why.
- A response is read as the version of its request; one to ApiVersions that refuses the version is of version 0.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import (
    CodecError,
    Message,
    RequestHeader,
    ResponseHeader,
    UnknownMessageError,
    api,
)

if TYPE_CHECKING:
    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.messages import Api

_API_VERSIONS: Final = 18
_UNSUPPORTED: Final = 35


class Contents(NamedTuple):
    """What was asked and what was answered."""

    request: Message | None
    response: Message | None
    fault: str | None


_NOTHING: Final = Contents(None, None, None)


def read_contents(talk: Conversation, index: int) -> Contents:
    """The messages of one exchange of a connection."""
    requests, responses = talk.connection.requests, talk.connection.responses
    asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
    if asked < 0 or requests.api_key[asked] < 0:
        return _NOTHING
    version = int(requests.version[asked])
    try:
        which = api(int(requests.api_key[asked]))
    except UnknownMessageError as error:
        return Contents(None, None, str(error))
    request = response = fault = None
    if requests.whole[asked]:
        request, fault = _read(requests.read(asked), which, version, is_request=True)
    if answered >= 0 and responses.whole[answered]:
        response, other = _read(responses.read(answered), which, version, is_request=False)
        fault = fault or other
    return Contents(request, response, fault)


def read_request(talk: Conversation, index: int) -> Message | None:
    """The request of an exchange whose API we know, if it is there and can be read."""
    requests, asked = talk.connection.requests, int(talk.matches.request[index])
    if asked < 0 or not requests.whole[asked]:
        return None
    which = api(int(requests.api_key[asked]))
    return _read(requests.read(asked), which, int(requests.version[asked]), is_request=True)[0]


def read_response(talk: Conversation, index: int) -> Message | None:
    """The response of an exchange whose API we know, if it is there and can be read."""
    requests, responses = talk.connection.requests, talk.connection.responses
    asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
    if asked < 0 or answered < 0 or not responses.whole[answered]:
        return None
    which = api(int(requests.api_key[asked]))
    return _read(responses.read(answered), which, int(requests.version[asked]), is_request=False)[0]


def response_version(which: Api, version: int, frame: memoryview) -> int:
    """The version that a response to a request of this version has."""
    if which.key == _API_VERSIONS and len(frame) >= 6 and struct.unpack_from(">h", frame, 4)[0] == _UNSUPPORTED:
        return 0
    return version


def _read(frame: memoryview, which: Api, version: int, *, is_request: bool) -> tuple[Message | None, str | None]:
    try:
        if is_request:
            _, body = RequestHeader.decode_prefix(frame, which.request_header_version(version))
            return which.request.decode(frame[body:], version), None
        version = response_version(which, version, frame)
        _, body = ResponseHeader.decode_prefix(frame, which.response_header_version(version))
        return which.response.decode(frame[body:], version), None
    except CodecError as error:
        return None, str(error)
