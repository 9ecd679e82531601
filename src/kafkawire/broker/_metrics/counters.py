"""The numbers of the running broker: of each API, of each client id, of its connections.

Rules:
- Counting costs a few additions per request. `page` shows the numbers.
- Every error code of a response is counted, wherever its schema has one.
- The page shows the clients with the most requests, SHOWN at most. All others are one line, `other`.
- At most TRACKED client ids are kept, each cut to LONGEST characters. If there are more, those with the fewest requests
  are added to `other`; an id that comes back begins again at 0.
- A client without an id has the empty one. A client that is named `other` is counted with the others.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING, Any, Final

from kafkawire._codec.plan import LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire._codec.plan import Shape
    from kafkawire.messages import Message

BOUNDS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SHOWN: Final = 50
TRACKED: Final = 1000
LONGEST: Final = 128
OTHER: Final = "other"
_DROPPED: Final = TRACKED // 10
_ERROR_CODE: Final = "error_code"
Path = tuple[str, ...]


class ApiMetrics:
    """The numbers of one API."""

    __slots__ = ("buckets", "bytes_in", "bytes_out", "errors", "requests", "seconds")

    def __init__(self) -> None:
        self.requests = self.bytes_in = self.bytes_out = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.errors: dict[int, int] = {}

    def add(self, bytes_in: int, bytes_out: int, seconds: float) -> None:
        """Count one request."""
        self.requests += 1
        self.bytes_in += bytes_in
        self.bytes_out += bytes_out
        self.seconds += seconds
        self.buckets[bisect_left(BOUNDS, seconds)] += 1

    def count_error(self, code: int, times: int = 1) -> None:
        """Count a request, or partitions of one, that were refused."""
        self.errors[code] = self.errors.get(code, 0) + times


class ClientCounts:
    """The numbers of one client."""

    __slots__ = ("bytes_in", "bytes_out", "requests")

    def __init__(self) -> None:
        self.requests = self.bytes_in = self.bytes_out = 0

    def include(self, counts: ClientCounts) -> None:
        """Add the numbers of another client."""
        self.requests += counts.requests
        self.bytes_in += counts.bytes_in
        self.bytes_out += counts.bytes_out


class ClientMetrics:
    """The numbers of all clients."""

    def __init__(self) -> None:
        self._clients: dict[str, ClientCounts] = {}
        self._others = ClientCounts()

    def add(self, client_id: str | None, bytes_in: int, bytes_out: int, requests: int = 1) -> None:
        """Count one request, or several that were served together."""
        counts = self._clients.get(client_id or "")
        if counts is None:
            counts = self._begin((client_id or "")[:LONGEST])
        counts.requests += requests
        counts.bytes_in += bytes_in
        counts.bytes_out += bytes_out

    def shown(self) -> Iterator[tuple[str, ClientCounts]]:
        """The clients with the most requests by name, then the others together."""
        most = nlargest(SHOWN, self._clients.items(), key=lambda item: item[1].requests)
        named = {name for name, _ in most}
        others = ClientCounts()
        others.include(self._others)
        for name, counts in self._clients.items():
            if name not in named:
                others.include(counts)
        yield from sorted(most, key=lambda item: item[0])
        if others.requests:
            yield OTHER, others

    def _begin(self, name: str) -> ClientCounts:
        if name == OTHER:
            return self._others
        known = self._clients.get(name)
        if known is not None:
            return known
        if len(self._clients) >= TRACKED:
            for least, counts in nsmallest(_DROPPED, self._clients.items(), key=lambda item: item[1].requests):
                self._others.include(counts)
                del self._clients[least]
        counts = self._clients[name] = ClientCounts()
        return counts


class Metrics:
    """All metrics of a broker."""

    def __init__(self) -> None:
        self.connections = self.connections_total = 0
        self.refused: dict[str, int] = {}
        self.clients = ClientMetrics()
        self.apis: dict[str, ApiMetrics] = {}

    def of(self, api: str) -> ApiMetrics:
        """The numbers of one API."""
        found = self.apis.get(api)
        if found is None:
            found = self.apis[api] = ApiMetrics()
        return found

    def refuse(self, reason: str) -> None:
        """Count a connection that was closed, by the kind of reason."""
        self.refused[reason] = self.refused.get(reason, 0) + 1


def error_paths(shape: Shape) -> tuple[Path, ...]:
    """The attributes that lead through lists to the error codes of a response, wherever its schema has them."""
    return tuple(_find_error_codes(shape))


def errors_at(paths: tuple[Path, ...], message: Message) -> list[int]:
    """Every code in a response that is not 0.

    >>> from kafkawire.messages import HeartbeatResponse
    >>> errors_at(error_paths(HeartbeatResponse.__shape__), HeartbeatResponse(error_code=25))
    [25]
    """
    found: list[int] = []
    for path in paths:
        holders: list[Any] = [message]
        for name in path:
            if len(holders) == 1:
                holders = getattr(holders[0], name) or []
            else:
                holders = [element for holder in holders for element in getattr(holder, name) or ()]
        found += [holder.error_code for holder in holders if holder.error_code]
    return found


def _find_error_codes(shape: Shape) -> Iterator[Path]:
    for slot in shape.slots:
        if slot.attribute == _ERROR_CODE:
            yield ()
        elif slot.shape is not None and slot.default_kind == LIST:
            yield from ((slot.attribute, *rest) for rest in _find_error_codes(slot.shape))
