"""What is the same for every request of one API in one version, found once.

Rules:
- A frame's first bytes, key and version, name its route; what names none is refused by `dispatch`.
- A route reads requests, writes answers and counts them; who asked, and what is answered, is none of its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.refusals import error_paths, errors_at
from kafkawire.messages import RequestHeader
from kafkawire.wire.frames import SIZE
from kafkawire.wire.headers import ResponseWriter

if TYPE_CHECKING:
    from typing import Any

    from kafkawire.broker.metrics import ApiMetrics
    from kafkawire.broker.serving import Served
    from kafkawire.messages import Message


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

    def read(self, frame: bytes | memoryview) -> tuple[RequestHeader, Any]:
        """Header and message of a request; bytes after a well-formed body are ignored, as Kafka does."""
        header, offset = RequestHeader.decode_prefix(frame, self._header_version, SIZE.size)
        return header, self._request.decode_prefix(frame, self.version, offset)[0]

    def write(self, message: Message, correlation_id: int) -> tuple[list[bytes | memoryview], int]:
        """The parts of an answer's frame and the size of all; the errors in it are counted."""
        for code in errors_at(self._error_paths, message):
            self.metrics.count_error(code)
        return self._writer.write(message, correlation_id)
