"""Many tabs, slow ones and closed ones: their work ends, and the others are still answered."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.web.page_client import RunningPage

from kafkawire.testing import RunningBroker
from kafkawire.web import BrokerSource, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TABS = 200
SLOW = 60
WORK = "work of the page"


@pytest.fixture(scope="module")
def page() -> Iterator[RunningPage]:
    with RunningBroker() as broker:
        broker.create_topic("orders")
        broker.create_topic("large", configs={"max.message.bytes": 1 << 23})
        for number in range(400):
            broker.produce("orders", b"%d" % number + b"x" * 4_000)
        broker.produce("large", json.dumps({"text": ["y" * 50, 2**53 + 1] * 40_000}).encode())
        workspace = Workspace()
        workspace.add_source(BrokerSource({"bootstrap_servers": broker.bootstrap_servers}))
        with RunningPage(workspace) as running:
            running.get("/api/brokers/b1/topics")
            yield running


def asking(page: RunningPage, method: str, path: str, body: object = None) -> socket.socket:
    """A connection that asked and reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    made.settimeout(30)
    made.connect(("127.0.0.1", page.server.port))
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: {page.host}\r\nauthorization: {page.token['authorization']}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    made.sendall(head.encode() + data)
    return made


def workers() -> int:
    return sum(each.name == WORK for each in threading.enumerate())


def eventually(check: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_closed_tabs_end_the_threads_of_their_tails(page: RunningPage) -> None:
    tabs = [asking(page, "POST", "/api/brokers/b1/topics/orders/tail", {"filter": ""}) for _ in range(20)]
    assert eventually(lambda: workers() == 20)
    for each in tabs:
        each.close()
    assert eventually(lambda: workers() == 0), [each.name for each in threading.enumerate()]


def test_tabs_that_do_not_read_hold_up_nobody(page: RunningPage) -> None:
    search = {"filter": "", "from": "start", "limit": 500}
    tabs = [asking(page, "POST", "/api/brokers/b1/topics/orders/search", search) for _ in range(SLOW)]
    time.sleep(1)
    began = time.monotonic()
    assert page.get("/api/about")["sources"]
    assert page.get("/api/brokers/b1/topics/orders")["partitions"]
    assert time.monotonic() - began < 10
    for each in tabs:
        each.close()
    assert eventually(lambda: workers() == 0)


def test_searches_at_the_same_time_do_not_mix(page: RunningPage) -> None:
    found: dict[int, list[str]] = {}

    def search(number: int) -> None:
        body = {"filter": f"offset = {number}", "from": "start"}
        headers = {**page.token, "content-type": "application/json"}
        _, _, answer = page.ask("POST", "/api/brokers/b1/topics/orders/search", headers, json.dumps(body).encode())
        events = [json.loads(line) for line in answer.splitlines()]
        found[number] = [row["o"] for event in events for row in event.get("rows", ())]

    threads = [threading.Thread(target=search, args=(number,)) for number in range(24)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert found == {number: [str(number)] for number in range(24)}


def test_two_hundred_tabs_are_counted_and_leave(page: RunningPage) -> None:
    tabs = [asking(page, "GET", "/api/tab") for _ in range(TABS)]
    assert eventually(lambda: page.server._tabs == TABS)
    assert page.get("/api/about")["sources"]
    for each in tabs:
        each.close()
    assert eventually(lambda: page.server._tabs == 0)


def test_a_value_of_megabytes_comes_in_windows(page: RunningPage) -> None:
    answer = page.get("/api/brokers/b1/topics/large/0/record?offset=0")
    assert len(answer["value"]["text"]) == 16 << 10
    assert answer["value"]["length"] > 2_000_000
    assert len(answer["row"]["v"]) <= 401
    rest = page.get(f"/api/brokers/b1/topics/large/0/record?offset=0&start={answer['value']['length'] - 10}")
    assert len(rest["value"]["text"]) == 10
