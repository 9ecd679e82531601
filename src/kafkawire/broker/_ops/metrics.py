"""The metrics of the running broker, and their page for Prometheus.

Rules:
- Counting costs a few additions per request. The page is built when it is requested.
- Names follow Prometheus: a unit at the end, `_total` for counters, seconds and bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from kafkawire.broker._ops.client_metrics import ClientMetrics
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker._coordinator import Gauge

BOUNDS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


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


class Metrics:
    """All metrics of a broker."""

    def __init__(self) -> None:
        self.connections = self.connections_total = 0
        self.refused: dict[str, int] = {}
        self.clients = ClientMetrics()
        self._apis: dict[str, ApiMetrics] = {}

    def of(self, api: str) -> ApiMetrics:
        """The numbers of one API."""
        found = self._apis.get(api)
        if found is None:
            found = self._apis[api] = ApiMetrics()
        return found

    def refuse(self, reason: str) -> None:
        """Count a connection that was closed, by the kind of reason."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def page(self, gauges: Iterable[Gauge]) -> str:
        """The whole page in Prometheus' text format."""
        lines = GaugeLines()
        for gauge in gauges:
            lines.add(gauge)
        return self.text(lines)

    def text(self, gauges: GaugeLines) -> str:
        """The page with gauges that are formatted already."""
        return "".join(f"{line}\n" for line in (*self._lines(), *gauges))

    def _lines(self) -> Iterator[str]:
        apis = sorted(self._apis.items())
        yield from _family("kafkawire_requests_total", "counter", "Requests served.")
        yield from (f'kafkawire_requests_total{{api="{name}"}} {each.requests}' for name, each in apis)
        yield from _family("kafkawire_request_bytes_total", "counter", "Bytes of requests.")
        yield from (f'kafkawire_request_bytes_total{{api="{name}"}} {each.bytes_in}' for name, each in apis)
        yield from _family("kafkawire_response_bytes_total", "counter", "Bytes of responses.")
        yield from (f'kafkawire_response_bytes_total{{api="{name}"}} {each.bytes_out}' for name, each in apis)
        yield from _family("kafkawire_errors_total", "counter", "Errors answered, by code.")
        for name, each in apis:
            for code, count in sorted(each.errors.items()):
                yield f'kafkawire_errors_total{{api="{name}",error="{error(code).name}"}} {count}'
        yield from _family("kafkawire_request_seconds", "histogram", "Time from request to answer.")
        for name, each in apis:
            yield from _histogram(name, each)
        yield from self._client_lines()
        yield from _family("kafkawire_connections", "gauge", "Connections that are open.")
        yield f"kafkawire_connections {self.connections}"
        yield from _family("kafkawire_connections_total", "counter", "Connections that were accepted.")
        yield f"kafkawire_connections_total {self.connections_total}"
        yield from _family("kafkawire_connections_closed_total", "counter", "Connections that the broker closed.")
        for reason, count in sorted(self.refused.items()):
            yield f'kafkawire_connections_closed_total{{reason="{reason}"}} {count}'

    def _client_lines(self) -> Iterator[str]:
        clients = [(_escaped(name), counts) for name, counts in self.clients.shown()]
        yield from _family("kafkawire_client_requests_total", "counter", "Requests, by the client ids with the most.")
        yield from (f'kafkawire_client_requests_total{{client_id="{name}"}} {each.requests}' for name, each in clients)
        yield from _family("kafkawire_client_request_bytes_total", "counter", "Bytes of requests, by client id.")
        yield from (
            f'kafkawire_client_request_bytes_total{{client_id="{name}"}} {each.bytes_in}' for name, each in clients
        )
        yield from _family("kafkawire_client_response_bytes_total", "counter", "Bytes of responses, by client id.")
        yield from (
            f'kafkawire_client_response_bytes_total{{client_id="{name}"}} {each.bytes_out}' for name, each in clients
        )


def _histogram(name: str, each: ApiMetrics) -> Iterator[str]:
    total = 0
    for bound, count in zip((*BOUNDS, "+Inf"), each.buckets, strict=True):
        total += count
        yield f'kafkawire_request_seconds_bucket{{api="{name}",le="{bound}"}} {total}'
    yield f'kafkawire_request_seconds_sum{{api="{name}"}} {each.seconds:.6f}'
    yield f'kafkawire_request_seconds_count{{api="{name}"}} {each.requests}'


def _family(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


class GaugeLines:
    """The lines of gauges, by name; one is added at a time, because there may be many."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def __iter__(self) -> Iterator[str]:
        for name, lines in sorted(self._families.items()):
            yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
            yield from lines

    def add(self, gauge: Gauge) -> None:
        name, labels, value = gauge
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        self._families.setdefault(name, []).append(f"{name}{{{inside}}} {value}" if inside else f"{name} {value}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
