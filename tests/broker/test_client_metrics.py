"""The requests of each client id in the metrics, bounded whatever clients send."""

from __future__ import annotations

from kafkawire.broker._metrics import page as metrics_page
from kafkawire.broker._metrics.counters import LONGEST, OTHER, SHOWN, TRACKED, ClientMetrics, Metrics
from kafkawire.broker._metrics.page import GaugeLines
from kafkawire.client.blocking import Admin
from kafkawire.testing import RunningBroker


def numbers(metrics: ClientMetrics) -> dict[str, tuple[int, int, int]]:
    return {name: (each.requests, each.bytes_in, each.bytes_out) for name, each in metrics.shown()}


def test_requests_and_bytes_are_counted_by_client() -> None:
    metrics = ClientMetrics()
    metrics.add("a", 10, 100)
    metrics.add("a", 1, 2)
    metrics.add(None, 5, 6)
    assert numbers(metrics) == {"": (1, 5, 6), "a": (2, 11, 102)}


def test_only_the_clients_with_the_most_requests_have_a_line_of_their_own() -> None:
    metrics = ClientMetrics()
    for number in range(SHOWN + 10):
        for _ in range(number + 1):
            metrics.add(f"client-{number}", 1, 2)
    found = numbers(metrics)
    assert len(found) == SHOWN + 1
    assert found[OTHER] == (55, 55, 110)
    assert "client-9" not in found
    assert found["client-10"] == (11, 11, 22)


def test_a_flood_of_ids_takes_bounded_memory_and_keeps_the_busy_clients() -> None:
    metrics = ClientMetrics()
    for _ in range(50):
        metrics.add("busy", 1, 1)
    for number in range(10 * TRACKED):
        metrics.add(f"{number}" + "x" * 10_000, 1, 1)
    assert len(metrics._clients) <= TRACKED
    assert max(map(len, metrics._clients)) == LONGEST
    found = numbers(metrics)
    assert found["busy"] == (50, 50, 50)
    assert sum(requests for requests, _, _ in found.values()) == 10 * TRACKED + 50


def test_a_client_that_is_named_other_is_one_of_the_others() -> None:
    metrics = ClientMetrics()
    metrics.add(OTHER, 1, 1)
    assert numbers(metrics) == {OTHER: (1, 1, 1)}


def test_the_page_escapes_ids() -> None:
    metrics = Metrics()
    metrics.clients.add('a"b\\c\n', 3, 4)
    lines = metrics_page.page(metrics, GaugeLines()).splitlines()
    assert 'kafkawire_client_requests_total{client_id="a\\"b\\\\c\\n"} 1' in lines
    assert 'kafkawire_client_request_bytes_total{client_id="a\\"b\\\\c\\n"} 3' in lines
    assert 'kafkawire_client_response_bytes_total{client_id="a\\"b\\\\c\\n"} 4' in lines


def test_the_broker_counts_its_clients() -> None:
    with RunningBroker() as running:
        with Admin(bootstrap_servers=running.bootstrap_servers, client_id="auditor") as admin:
            admin.list_topics()
        page = metrics_page.page(running.broker.metrics, GaugeLines())
    assert 'kafkawire_client_requests_total{client_id="auditor"} ' in page
