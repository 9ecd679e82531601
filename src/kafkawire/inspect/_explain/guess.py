"""Guessing what bytes are: consecutive frames, one frame without its size, or record batches.

Rules:
- Requests and record batches are recognisable. A response is not, and is never guessed.
- Of two readings, the one without a fault is used; a frame with its size is preferred.
- Bytes without a sound reading are taken for what they resemble: a frame with its size and the header of a request,
  damaged or truncated batches, or a request without its size.
- A response to one of the first requests of a connection begins like a Produce request. So a request without a client
  id is accepted only if it has no fault and, for Produce, has topics.
- Bytes that nothing recognises are refused by `explain_anything`. `explain_unrecognised` reads them nevertheless.
- Bytes after the last frame are explained as a truncated frame.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.inspect._explain.cursor import INT16, INT32
from kafkawire.inspect._explain.explain import (
    Explanation,
    explain_records,
    explain_request,
    explain_response,
    explain_unknown_response,
)
from kafkawire.inspect._explain.record_batches import begins_with_batch, resembles_batch
from kafkawire.inspect._explain.value_names import api_name
from kafkawire.messages import UnknownMessageError, api
from kafkawire.wire.frames import looks_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire._codec.engine import Buffer

    Explain = Callable[[int, int, bool], Explanation]

_SMALLEST_REQUEST: Final = 8
_SMALLEST_HEADER: Final = 10
_MOST_VERSIONS: Final = 256
_HEADER: Final = struct.Struct(">hhih")
_API_VERSIONS: Final = 18
_PRODUCE: Final = 0
MOST_APIS: Final = 1024


class UnknownBytesError(KafkaWireError):
    """The bytes are not recognised."""


def explain_anything(data: Buffer) -> list[Explanation]:
    """The trees of bytes that look like requests or record batches.

    >>> [each.title for each in explain_anything(bytes.fromhex("0000000a 0012 0000 00000007 ffff" * 2))]
    ['ApiVersionsRequest v0', 'ApiVersionsRequest v0']
    """
    view = memoryview(data).cast("B")
    if begins_with_batch(view):
        return [explain_records(view)]
    if looks_like_request(view, 4) or looks_like_request(view, 0) or has_header(view, 4):
        explained = explain_requests(view)
        if _is_believable(explained[0]):
            return explained
    if resembles_batch(view):
        return [explain_records(view)]
    if any(has_header(view, at) or _names_unknown_version(view, at) for at in (4, 0)):
        return explain_requests(view)
    whole = len(view) >= 4 and INT32.unpack_from(view)[0] == len(view) - 4
    what = "one frame, but not a known request: perhaps a response" if whole else "not a known request"
    raise UnknownBytesError(f"these {len(view)} bytes are {what}{looks_like(bytes(view[:4]))}")


def explain_unrecognised(data: Buffer) -> list[Explanation]:
    """The best trees of bytes that `explain_anything` refuses: requests with faults, or a frame of unknown content."""
    view = memoryview(data).cast("B")
    spans = list(_spans(view))
    is_framed = len(view) >= _SMALLEST_REQUEST and spans[0][1] == 4 + INT32.unpack_from(view)[0]
    if is_framed and not _may_be_header(view, 4):
        return [explain_unknown_response(view)]
    if len(view) < 4:
        return [explain_request(view, sized=False)]
    return [explain_request(view, start=start, end=end, sized=True) for start, end in spans]


def explain_requests(data: Buffer, version: int | None = None) -> list[Explanation]:
    """The trees of consecutive requests, or of one request without its size."""
    view = memoryview(data).cast("B")

    def explain(start: int, end: int, sized: bool) -> Explanation:
        return explain_request(view, start=start, end=end, sized=sized, version=version)

    is_framed = has_header(view, 4) and INT32.unpack_from(view)[0] == len(view) - 4
    prefer_sized = is_framed or looks_like_request(view, 4) or not looks_like_request(view, 0)
    return _best(view, explain, prefer_sized)


def explain_responses(data: Buffer, which: int | str, version: int) -> list[Explanation]:
    """The trees of consecutive responses of one API and version, or of one response without its size."""
    view = memoryview(data).cast("B")

    def explain(start: int, end: int, sized: bool) -> Explanation:
        return explain_response(view, which, version, start=start, end=end, sized=sized)

    spans = list(_spans(view))
    return _best(view, explain, bool(spans) and spans[-1][1] == len(view))


def versions_that_fit(data: Buffer, which: int | str) -> list[int]:
    """The versions in which responses of an API have no fault.

    >>> versions_that_fit(bytes.fromhex("00000007 001b"), "Heartbeat")
    [0]
    """
    return [
        version
        for version in api(which).versions
        if all(each.whole and each.version == version for each in explain_responses(data, which, version))
    ]


def looks_like_request(view: memoryview, at: int) -> bool:
    """Whether the key and version of a known request are at a position."""
    if len(view) - at < _SMALLEST_REQUEST:
        return False
    key, version = INT16.unpack_from(view, at)[0], INT16.unpack_from(view, at + 2)[0]
    try:
        return version in api(key).versions or (key == _API_VERSIONS and 0 <= version < 100)
    except UnknownMessageError:
        return False


def has_header(view: memoryview, at: int) -> bool:
    """Whether the header of a request with a readable client id is at a position, of any key and version.

    A null client id is accepted for unknown versions of known APIs. A response begins like a Produce.
    """
    if len(view) - at < _SMALLEST_HEADER:
        return False
    key, version, _, name = _HEADER.unpack_from(view, at)
    if not 0 <= key < MOST_APIS or not 0 <= version < _MOST_VERSIONS or name < -1 or name == 0:
        return False
    if name == -1:
        return bool(key != _PRODUCE and api_name(key) and version > api(key).versions.last)
    client = bytes(view[at + _SMALLEST_HEADER : at + _SMALLEST_HEADER + max(name, 0)])
    return len(client) == max(name, 0) and client.isascii() and client.decode("ascii").isprintable()


def _may_be_header(view: memoryview, at: int) -> bool:
    """Whether bytes could be the header of a request: the version of a known API, or small numbers and a client id.

    A small correlation id of a response is read as a version of Produce, whose key is 0.
    """
    if len(view) - at < _SMALLEST_HEADER:
        return False
    key, version, _, name = _HEADER.unpack_from(view, at)
    if key and looks_like_request(view, at):
        return True
    left = len(view) - at - _SMALLEST_HEADER
    return bool(0 < key < MOST_APIS and 0 <= version < _MOST_VERSIONS and -1 <= name <= left)


def _names_unknown_version(view: memoryview, at: int) -> bool:
    """Whether a known API with a version that the schemas do not have is at a position. A response never has one."""
    if len(view) - at < 4:
        return False
    key, version = INT16.unpack_from(view, at)[0], INT16.unpack_from(view, at + 2)[0]
    return bool(key != _PRODUCE and api_name(key) and api(key).versions.last < version < _MOST_VERSIONS)


def _best(view: memoryview, explain: Explain, prefer_sized: bool) -> list[Explanation]:
    framed = [explain(start, end, True) for start, end in _spans(view)]
    if framed and all(each.whole for each in framed):
        return framed
    bare = [explain(0, len(view), False)]
    if bare[0].whole or not framed:
        return bare
    return framed if prefer_sized else bare


def _spans(view: memoryview) -> Iterator[tuple[int, int]]:
    """Frames by their sizes; the last one gets the bytes left."""
    position, end = 0, len(view)
    while position < end:
        size = INT32.unpack_from(view, position)[0] if end - position >= 4 else -1
        behind = position + 4 + size
        if size < 0 or behind > end:
            behind = end
        yield position, behind
        position = behind


def _is_believable(explained: Explanation) -> bool:
    fields = {field.name: field.value for part in explained.space.root.children() for field in part.children()}
    client = fields.get("client_id")
    if isinstance(client, str) and client and client.isprintable():
        return True
    return explained.whole and (explained.message != "ProduceRequest" or fields.get("topic_data") != 0)
