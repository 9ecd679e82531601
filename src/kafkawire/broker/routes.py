"""What is the same for every request of one API in one version, found once.

Rules:
- A frame's first bytes, key and version, name its route; what names none is refused by `dispatch`.
- A route reads requests, writes answers and counts them; who asked, and what is answered, is none of its business.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kafkawire.broker.refusals import error_paths, errors_at
from kafkawire.messages import RequestHeader
from kafkawire.wire.frames import SIZE
from kafkawire.wire.headers import ResponseWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kafkawire.broker.metrics import ApiMetrics
    from kafkawire.broker.outbox import Part
    from kafkawire.broker.serving import Served
    from kafkawire.messages import Message

    Written = tuple[Sequence[Part], int, Mapping[int, int]]
    """The parts of an answer's frame, the size of all, and how often each error code occurs in it."""

NO_ERRORS: Final[Mapping[int, int]] = MappingProxyType({})


class Route:
    """One version of a served API."""

    __slots__ = ("_error_paths", "_header_version", "_request", "_writer", "api", "metrics", "served", "version")

    def __init__(self, served: Served, version: int, metrics: ApiMetrics) -> None:
        self.served = served
        self.api = served.api
        self.version = version
        self.metrics = metrics
        self._request = served.api.request
        self._header_version = served.api.request_header_version(version)
        self._writer = ResponseWriter(served.api, version)
        self._error_paths = error_paths(served.api.response.__shape__)

    def read_header(self, frame: bytes | memoryview) -> tuple[RequestHeader, int]:
        """The header of a request, and where its body begins."""
        return RequestHeader.decode_prefix(frame, self._header_version, SIZE.size)

    def read_body(self, frame: bytes | memoryview, offset: int, limit: int) -> Any:
        """The message of a request with at most `limit` elements; bytes after it are ignored, as Kafka does."""
        return self._request.decode_prefix(frame, self.version, offset, limit=limit)[0]

    def write(self, message: Message, correlation_id: int) -> Written:
        """The parts of an answer's frame, the size of all, and the error codes in it; any thread may call it."""
        errors = errors_at(self._error_paths, message)
        parts, size = self._writer.write(message, correlation_id)
        return parts, size, Counter(errors) if errors else NO_ERRORS
