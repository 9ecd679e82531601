"""Routes: for each version of each API, everything that is the same for all its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker._metrics.counters import error_paths
from kafkawire.wire.headers import ResponseWriter

if TYPE_CHECKING:
    from kafkawire.broker._dispatch.registry import Handler
    from kafkawire.broker._metrics.counters import ApiMetrics

PRODUCE: Final = 0
_FIRST_BATCHES: Final = 3
"""The first version of Produce whose records are batches of magic 2."""


class Route:
    """One version of one API."""

    __slots__ = (
        "api",
        "error_paths",
        "handle",
        "handler",
        "header_version",
        "joins_runs",
        "metrics",
        "request",
        "version",
        "writer",
    )

    def __init__(self, handler: Handler, version: int, metrics: ApiMetrics) -> None:
        self.handler = handler
        self.handle = handler.handle
        self.api = handler.api
        self.version = version
        self.metrics = metrics
        self.request = handler.api.request
        self.header_version = handler.api.request_header_version(version)
        self.writer = ResponseWriter(handler.api, version)
        self.error_paths = error_paths(handler.api.response.__shape__)
        self.joins_runs = handler.api.key == PRODUCE and version >= _FIRST_BATCHES
        """Whether its requests may join a run (`produce_run`)."""

    def decode_body(self, frame: bytes | memoryview, offset: int, limit: int) -> Any:
        """The message of a request with at most `limit` elements; bytes after it are ignored."""
        return self.request.decode_prefix(frame, self.version, offset, limit=limit)[0]
