"""Traffic that grows: through a proxy, and of the embedded broker with faults from the page."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.web.page_client import RunningPage

from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.testing import FaultCalls, RunningBroker
from kafkawire.web import BrokerWatch, LiveSource, Workspace
from kafkawire.web._live import source as live
from kafkawire.web._live.source import LiveExchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT_SECONDS = 30


@pytest.fixture
def watched() -> Iterator[tuple[RunningBroker, LiveSource, RunningPage]]:
    faults = FaultCalls()
    source = LiveSource("requests", faults=faults)
    with RunningBroker() as broker:

        def watch() -> None:
            faults.attach(broker.broker)
            BrokerWatch(source, broker.broker)

        broker.call(watch)
        workspace = Workspace()
        workspace.add_source(source)
        with RunningPage(workspace) as page:
            yield broker, source, page


def wait_for(page: RunningPage, text: str, count: int = 1) -> Any:
    until = time.monotonic() + WAIT_SECONDS
    while True:
        found = page.get(f"/api/exchanges/p1/rows?filter={text}")
        if found["matched"] >= count:
            return found["rows"]
        assert time.monotonic() < until, found
        time.sleep(0.05)


def test_an_exchange_that_the_page_cannot_show_is_served_all_the_same(
    watched: tuple[RunningBroker, LiveSource, RunningPage],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker, source, _ = watched

    def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(source, "add", fail)
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("orders", b"value")
    assert "the page cannot show this Produce" in caplog.text


def test_what_a_broker_is_asked_appears_with_its_bytes(watched: tuple[RunningBroker, LiveSource, RunningPage]) -> None:
    broker, _, page = watched
    broker.create_topic("orders")
    with Producer(bootstrap_servers=broker.bootstrap_servers, client_id="shop") as producer:
        producer.send_and_wait("orders", b"value")
    row = wait_for(page, "api=Produce")[0]
    assert (row[3], row[4], row[12]) == ("shop", "Produce", "matched")
    document = page.post("/api/bytes", {"source": "p1", "item": f"{row[0]}/{row[1]}"})
    assert [frame["message"] for frame in document["frames"]] == ["ProduceRequest", "ProduceResponse"]
    assert document["faults"] == []
    assert wait_for(page, "topic=orders")
    assert page.get("/api/exchanges/p1/connections")["total"] >= 1


def test_records_on_disk_are_fetched_and_shown(tmp_path: Path) -> None:
    faults = FaultCalls()
    source = LiveSource("requests", faults=faults)
    with RunningBroker(tmp_path) as broker:

        def watch() -> None:
            faults.attach(broker.broker)
            BrokerWatch(source, broker.broker)

        broker.call(watch)
        broker.create_topic("orders")
        broker.produce("orders", b"a value on disk")
        workspace = Workspace()
        workspace.add_source(source)
        with (
            RunningPage(workspace) as page,
            Consumer("orders", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer,
        ):
            assert bytes(consumer.getone().value or b"") == b"a value on disk"
            row = wait_for(page, "api=Fetch%20topic=orders")[0]
            document = page.post("/api/bytes", {"source": "p1", "item": f"{row[0]}/{row[1]}"})
            assert (document["faults"], row[12]) == ([], "matched")
            assert b"a value on disk" in page.octets(f"/api/bytes/{document['doc']}/raw?buffer=b1&start=0&count=4096")


@pytest.mark.parametrize(
    "order",
    [
        {"kind": "fail", "error": "NOT_LEADER_OR_FOLLOWER"},
        {"kind": "delay", "seconds": 0.2},
        {"kind": "close"},
        {"kind": "lose"},
    ],
)
def test_a_fault_of_the_page_meets_the_next_request(
    watched: tuple[RunningBroker, LiveSource, RunningPage], order: dict[str, Any]
) -> None:
    broker, _, page = watched
    broker.create_topic("orders")
    waiting = page.post("/api/faults/p1", {"api": "Produce", "topic": "orders", **order})["waiting"]
    assert len(waiting) == 1
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("orders", b"value")
    assert page.get("/api/faults/p1")["waiting"] == []
    rows = wait_for(page, "api=Produce", 1 if order["kind"] == "delay" else 2)
    if order["kind"] == "fail":
        assert rows[0][11] == "NOT_LEADER_OR_FOLLOWER"
    elif order["kind"] == "delay":
        assert rows[0][7] >= 190_000  # the clock of the broker is another one
    else:
        assert rows[0][12] == "unanswered"


@pytest.mark.parametrize(
    "order",
    [
        {"kind": "fail", "api": "Produce", "error": "NOT_AN_ERROR"},
        {"kind": "fail", "api": "Nothing", "error": "NOT_LEADER_OR_FOLLOWER"},
        {"kind": "delay", "api": "Fetch", "seconds": "long"},
        {"kind": "delay", "api": "Fetch", "seconds": 1e9},
        {"kind": "close", "api": "Fetch", "times": 0},
        {"kind": "burn", "api": "Fetch"},
    ],
)
def test_a_fault_that_cannot_be_says_why(
    watched: tuple[RunningBroker, LiveSource, RunningPage], order: dict[str, Any]
) -> None:
    _, _, page = watched
    headers = {**page.token, "content-type": "application/json"}
    status, _, body = page.ask("POST", "/api/faults/p1", headers, json.dumps(order).encode())
    assert status in (400, 422)
    assert json.loads(body)["error"]


def test_faults_can_be_forgotten(watched: tuple[RunningBroker, LiveSource, RunningPage]) -> None:
    _, _, page = watched
    page.post("/api/faults/p1", {"api": "Fetch", "kind": "close", "times": 3})
    assert page.post("/api/faults/p1/clear", {}) == {"waiting": []}
    assert page.get("/api/faults/p1") == {"waiting": []}


def exchange(number: int, size: int = 10) -> LiveExchange:
    return LiveExchange(
        *("10.0.0.1:5000", "10.0.0.9:9092", 18, "ApiVersions", 0, number, "c", None, None),
        *(bytes(size), bytes(size), number * 1000, number * 1000 + 500),
    )


def test_the_oldest_exchanges_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST", 100)
    monkeypatch.setattr(live, "MOST_BYTES", 1000)
    source = LiveSource("x")
    for number in range(300):
        source.add(exchange(number))
    assert len(source.exchanges) == 50
    assert source.done == 300


def test_nothing_yet_is_an_empty_list() -> None:
    workspace = Workspace()
    workspace.add_source(LiveSource("x"))
    with RunningPage(workspace) as page:
        assert page.get("/api/exchanges/p1/rows")["total"] == 0
        assert page.get("/api/exchanges/p1/timeline")["start"] is None
        assert page.get("/api/exchanges/p1/findings")["total"] == 0
        assert page.ask("GET", "/api/faults/p1", page.token)[0] == 404


def test_a_proxy_shows_what_passes() -> None:
    with RunningBroker() as broker:
        command = [sys.executable, "-m", "kafkawire", "proxy", "--listen", "0", "--upstream", broker.bootstrap_servers]
        with subprocess.Popen(
            [*command, "--ui", "--no-browser", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            assert running.stderr is not None
            lines = [running.stderr.readline() for _ in range(2)]
            port = next(int(line.split("port ")[1].split(";")[0]) for line in lines if "port " in line)
            address = urlsplit(next(line.split("at ")[1].strip() for line in lines if "page is at" in line))
            token = address.fragment[6:].partition("/")[0]
            with Admin(bootstrap_servers=f"127.0.0.1:{port}") as admin:
                admin.list_topics()
            headers = {"authorization": f"Bearer {token}"}

            def asked(path: str) -> Any:
                connection = HTTPConnection(address.netloc, timeout=WAIT_SECONDS)
                connection.request("GET", path, headers=headers)
                answer = json.loads(connection.getresponse().read())
                connection.close()
                return answer

            until = time.monotonic() + WAIT_SECONDS
            while not (found := asked("/api/exchanges/p1/rows?filter=api=Metadata"))["matched"]:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert found["rows"][0][12] == "matched"
            running.send_signal(signal.SIGINT)
            assert running.wait(WAIT_SECONDS) == 0


def test_serve_has_a_page_that_may_write() -> None:
    command = [sys.executable, "-m", "kafkawire", "serve", "--memory", "--port", "0", "--ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        line = running.stderr.readline()
        while "page is at" not in line:
            assert line
            line = running.stderr.readline()
        address = urlsplit(line.split("at ")[1].strip())
        token = address.fragment[6:].partition("/")[0]
        connection = HTTPConnection(address.netloc, timeout=WAIT_SECONDS)
        connection.request("GET", "/api/about", headers={"authorization": f"Bearer {token}"})
        about = json.loads(connection.getresponse().read())
        connection.close()
        assert [each["kind"] for each in about["sources"]] == ["broker", "capture"]
        assert about["write"]
        running.send_signal(signal.SIGINT)
        assert running.wait(WAIT_SECONDS) == 0
