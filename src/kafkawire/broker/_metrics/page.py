"""The page of the metrics, in Prometheus' text format.

Rules:
- The page is built when it is requested.
- Names follow Prometheus: a unit at the end, `_total` for counters, seconds and bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._metrics.counters import BOUNDS
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker._coordinator import Gauge
    from kafkawire.broker._metrics.counters import ApiMetrics, Metrics


def page(metrics: Metrics, gauges: GaugeLines) -> str:
    """The whole page."""
    return "".join(f"{line}\n" for line in (*_lines(metrics), *gauges))


def _lines(metrics: Metrics) -> Iterator[str]:
    apis = sorted(metrics.apis.items())
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
    yield from _client_lines(metrics)
    yield from _family("kafkawire_connections", "gauge", "Connections that are open.")
    yield f"kafkawire_connections {metrics.connections}"
    yield from _family("kafkawire_connections_total", "counter", "Connections that were accepted.")
    yield f"kafkawire_connections_total {metrics.connections_total}"
    yield from _family("kafkawire_connections_closed_total", "counter", "Connections that the broker closed.")
    for reason, count in sorted(metrics.refused.items()):
        yield f'kafkawire_connections_closed_total{{reason="{reason}"}} {count}'


def _client_lines(metrics: Metrics) -> Iterator[str]:
    clients = [(_escaped(name), counts) for name, counts in metrics.clients.shown()]
    yield from _family("kafkawire_client_requests_total", "counter", "Requests, by the client ids with the most.")
    yield from (f'kafkawire_client_requests_total{{client_id="{name}"}} {each.requests}' for name, each in clients)
    yield from _family("kafkawire_client_request_bytes_total", "counter", "Bytes of requests, by client id.")
    yield from (f'kafkawire_client_request_bytes_total{{client_id="{name}"}} {each.bytes_in}' for name, each in clients)
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

    def __init__(self, gauges: Iterable[Gauge] = ()) -> None:
        self._families: dict[str, list[str]] = {}
        for gauge in gauges:
            self.add(gauge)

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
