"""What bytes are that nobody told about: frames back to back, one frame without its size, or record batches.

Rules:
- Requests and record batches tell what they are; a response does not, and is not guessed.
- Of two readings the one that leaves no fault is taken; with its size before without.
- A response to one of the first requests of a connection begins like a Produce request. So a request that names no
  client is believed only if it has no fault and, for Produce, has topics.
- Bytes behind the last frame are a cut frame, and are explained as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.inspect.batches import begins_with_batch
from kafkawire.inspect.cursor import INT16, INT32
from kafkawire.inspect.explain import Explanation, explain_records, explain_request, explain_response
from kafkawire.messages import UnknownMessageError, api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.codec.engine import Buffer

    Explain = Callable[[int, int, bool], Explanation]

_SMALLEST_REQUEST: Final = 8
_API_VERSIONS: Final = 18


class UnknownBytesError(KafkaWireError):
    """Bytes that do not tell what they are."""


def explain_anything(data: Buffer) -> list[Explanation]:
    """The trees of what the bytes seem to be: requests, or record batches.

    >>> [each.title for each in explain_anything(bytes.fromhex("0000000a 0012 0000 00000007 ffff" * 2))]
    ['ApiVersionsRequest v0', 'ApiVersionsRequest v0']
    """
    view = memoryview(data).cast("B")
    if begins_with_batch(view):
        return [explain_records(view)]
    if looks_like_request(view, 4) or looks_like_request(view, 0):
        explained = explain_requests(view)
        if _is_believable(explained[0]):
            return explained
    whole = len(view) >= 4 and INT32.unpack_from(view)[0] == len(view) - 4
    what = "one frame, but no request that is known: perhaps a response" if whole else "no request that is known"
    raise UnknownBytesError(f"these {len(view)} bytes are {what}")


def explain_requests(data: Buffer, version: int | None = None) -> list[Explanation]:
    """The trees of requests that follow each other, or of one request without its size."""
    view = memoryview(data).cast("B")

    def explain(start: int, end: int, sized: bool) -> Explanation:
        return explain_request(view, start=start, end=end, sized=sized, version=version)

    prefer_sized = looks_like_request(view, 4) or not looks_like_request(view, 0)
    return _best(view, explain, prefer_sized)


def explain_responses(data: Buffer, which: int | str, version: int) -> list[Explanation]:
    """The trees of responses of one API and version that follow each other, or of one without its size."""
    view = memoryview(data).cast("B")

    def explain(start: int, end: int, sized: bool) -> Explanation:
        return explain_response(view, which, version, start=start, end=end, sized=sized)

    spans = list(_spans(view))
    return _best(view, explain, bool(spans) and spans[-1][1] == len(view))


def versions_that_fit(data: Buffer, which: int | str) -> list[int]:
    """The versions in which responses of an API leave no fault.

    >>> versions_that_fit(bytes.fromhex("00000007 001b"), "Heartbeat")
    [0]
    """
    return [
        version
        for version in api(which).versions
        if all(each.whole and each.version == version for each in explain_responses(data, which, version))
    ]


def looks_like_request(view: memoryview, at: int) -> bool:
    """Whether the key and version of a request that is known stand at a position."""
    if len(view) - at < _SMALLEST_REQUEST:
        return False
    key, version = INT16.unpack_from(view, at)[0], INT16.unpack_from(view, at + 2)[0]
    try:
        return version in api(key).versions or (key == _API_VERSIONS and 0 <= version < 100)
    except UnknownMessageError:
        return False


def _best(view: memoryview, explain: Explain, prefer_sized: bool) -> list[Explanation]:
    framed = [explain(start, end, True) for start, end in _spans(view)]
    if framed and all(each.whole for each in framed):
        return framed
    bare = [explain(0, len(view), False)]
    if bare[0].whole or not framed:
        return bare
    return framed if prefer_sized else bare


def _spans(view: memoryview) -> Iterator[tuple[int, int]]:
    """Frames by their sizes; the last one takes what is left."""
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
