"""Every route with numbers, texts and bodies that no page sends: the answer is an error of the client, never a defect.

Rules:
- The routes come from the application itself, so a new one is attacked without being listed here.
- A name of the query that a route does not read cannot change its answer. So the names that it reads are recorded, and
  each of them has every odd text. A route that reads all names at once fails the test.
"""

from __future__ import annotations

import json
import re
import time
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.datastructures import QueryParams
from starlette.routing import Route
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.web.page_client import RunningPage

from kafkawire.client.blocking import Consumer
from kafkawire.testing import FaultCalls, RunningBroker
from kafkawire.web import (
    BrokerSource,
    BrokerWatch,
    CaptureSource,
    LiveSource,
    LogSource,
    PageOptions,
    RunSource,
    Workspace,
)
from kafkawire.web._server.app import Room, application

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = (
    "0",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "9999999999999999999",
    "9" * 5000,
    "abc",
    "٣",
    "",
    " 1",
    "1/2",
    "9" * 30 + "/" + "9" * 30,
    "9" * 5000 + "/1",
    "0@99999999999999999999999",
    "<img src=x onerror=alert(1)>\x00\x7f",
    "((((" * 2000,
    "value.a" + "[0]" * 2000,
    "offset = " + "9" * 5000,
    "wait > 9e999s",
    "value.a ~ (a+)+$",
)
VALUES: tuple[Any, ...] = (None, True, 0, -1, 2**63, 10**30, 1.5, "x", "9" * 5000, [], [[]], {}, {"0": "x"}, "\ud800")
FIELDS = (
    "api",
    "b_api",
    "before",
    "after",
    "client_id",
    "copies",
    "doc",
    "execute",
    "filter",
    "form",
    "frame",
    "from",
    "given",
    "group",
    "headers",
    "item",
    "key",
    "kind",
    "limit",
    "message",
    "name",
    "node",
    "nth",
    "null",
    "number",
    "offset",
    "partition",
    "partitions",
    "path",
    "seconds",
    "servers",
    "source",
    "start",
    "starts",
    "text",
    "times",
    "to",
    "topic",
    "topics",
    "upload",
    "value",
    "version",
    "what_if",
    "configs",
    "error",
)
PLAIN = {
    "topic": "orders",
    "partition": "0",
    "group": "billing",
    "table": "records",
    "name": "FetchRequest",
}


def routes() -> list[tuple[str, str]]:
    """The method and the path of every route below /api."""
    found = []
    for route in application(Workspace()).routes:
        for each in route._routes if isinstance(route, Room) else [route]:
            if isinstance(each, Route) and each.path.startswith("/api"):
                found += [(method, each.path) for method in sorted(each.methods or ()) if method != "HEAD"]
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPage]:
    folder = tmp_path_factory.mktemp("extremes")
    capture = folder / "incident.pcap"
    capture.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows())))
    run = folder / "run"
    (run / "records").mkdir(parents=True)
    pq.write_table(pa.table({"offset": [1, 2], "value": [b"a", b"b"]}), run / "records/part-0.parquet")
    listed = {"records": {"path": "records", "format": "parquet", "rows": 2}}
    (run / "manifest.json").write_text(json.dumps({"state": "complete", "tables": listed, "source": {}}))
    faults = FaultCalls()
    live = LiveSource("requests", faults=faults)
    workspace = Workspace(PageOptions(write=True))
    with RunningBroker(folder / "data") as broker:

        def watch() -> None:
            faults.attach(broker.broker)
            BrokerWatch(live, broker.broker)

        broker.call(watch)
        broker.create_topic("orders")
        broker.produce("orders", b'{"a": 1}', key=b"k")
        servers = broker.bootstrap_servers
        with Consumer("orders", group_id="billing", bootstrap_servers=servers, auto_offset_reset="earliest") as reader:
            reader.getone()
            reader.commit()
        for source in (CaptureSource([capture]), LogSource([folder / "data"]), RunSource(run), live):
            workspace.add_source(source)
        workspace.add_source(BrokerSource({"bootstrap_servers": servers, "default_api_timeout_ms": 2_000}))
        with RunningPage(workspace) as running:
            until = time.monotonic() + 60
            while running.get("/api/exchanges/c1")["phase"] != "whole" or not running.get("/api/logs/d1")["ready"]:
                assert time.monotonic() < until
                time.sleep(0.05)
            yield running


def ids_for(path: str) -> tuple[str, ...]:
    kind = path.split("/")[2]
    return {
        "exchanges": ("c1", "p1", "r1"),
        "logs": ("d1",),
        "runs": ("r1",),
        "brokers": ("b1",),
        "faults": ("p1",),
    }.get(kind, ("x",))


def filled(path: str, doc: str, source: str, odd: dict[str, str] | None = None) -> str:
    """A path with its parameters, some of them odd."""
    known = {**PLAIN, "doc": doc, "id": source, **(odd or {})}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: quote(known[match[1]], safe=""), path)


def ask(page: RunningPage, method: str, path: str, body: bytes | None = None) -> None:
    headers = {**page.token, "content-type": "application/json"}
    status, _, said = page.ask_again(method, path, headers, body)
    assert status < 500 or status == 502, (method, path[:200], (body or b"")[:200], said[:400])


class Watched(QueryParams):
    """The parameters of a query, which record the names that are read."""

    read: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: Any) -> bool:
        self.read.add(key)
        return super().__contains__(key)

    def _refuse(self, *_: object) -> NoReturn:
        raise AssertionError("a route reads all names of its query, so every name must have odd texts")

    __iter__ = __len__ = keys = values = items = multi_items = getlist = _refuse  # type: ignore[assignment]


@pytest.fixture
def names_read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the query that were read since the set was cleared."""
    monkeypatch.setattr("starlette.requests.QueryParams", Watched)
    Watched.read.clear()
    return Watched.read


def attack_query(page: RunningPage, plain: str, names_read: set[str]) -> None:
    """Every name that the route reads, with odd texts; also the names that it reads only if another one is given."""
    names_read.clear()
    ask(page, "GET", f"{plain}?unread=9")
    attacked: set[str] = set()
    while left := names_read - attacked:
        for name in sorted(left):
            for text in TEXTS:
                ask(page, "GET", f"{plain}?{name}={quote(text)}")
        attacked |= left


@pytest.mark.parametrize(("method", "path"), routes())
def test_no_number_text_or_body_is_a_defect(page: RunningPage, method: str, path: str, names_read: set[str]) -> None:
    if path.endswith(("/tail", "/tab")):
        pytest.skip("a stream without an end; its body is that of the search")
    doc = page.post("/api/bytes", {"text": "0000000c001200000000000100026d65"})["doc"]
    values = cycle(VALUES)
    for source in ids_for(path):
        plain = filled(path, doc, source)
        for name in re.findall(r"\{(\w+)", path):
            for text in TEXTS[:9]:
                if text and len(text) < 5001:
                    ask(page, method, filled(path, doc, source, {name: text}), None if method == "GET" else b"{}")
        if method == "GET":
            attack_query(page, plain, names_read)
            continue
        for body in (b"", b"[]", b"null", b"{", b"[" * 100_000, b'{"a":' * 50_000, b'{"limit":' + b"9" * 5_000 + b"}"):
            ask(page, method, plain, body)
        for name in FIELDS:
            for value in islice(values, 5):
                ask(page, method, plain, json.dumps({name: value}).encode())
    assert page.get("/api/about")["sources"]


def test_whole_bodies_with_one_odd_field_are_no_defect(page: RunningPage) -> None:
    doc = page.post("/api/bytes", {"text": "0000000c001200000000000100026d65"})["doc"]
    bodies = {
        "/api/brokers/b1/topics/orders/search": {"filter": "", "from": "start", "limit": 5, "starts": {}},
        "/api/brokers/b1/topics/orders/produce": {"key": "k", "value": "v", "headers": {}, "copies": 1},
        "/api/brokers/b1/topics": {"name": "made", "partitions": 1, "configs": {}},
        "/api/brokers/b1/groups/billing/offsets": {"to": "earliest", "topic": "orders", "execute": True},
        "/api/brokers/b1/send": {"doc": doc, "frame": 0},
        "/api/bytes": {"text": "00", "kind": "response", "api": "Fetch", "version": 4, "message": "", "topic": "t"},
        "/api/faults/p1": {"kind": "fail", "api": "Produce", "error": "NOT_CONTROLLER", "times": 1, "nth": 1},
        "/api/logs/d1/stats": {"topic": "orders", "partition": "0", "what_if": False},
        f"/api/bytes/{doc}/edit": {"node": "0.1", "text": "1", "null": False},
    }
    for path, body in bodies.items():
        for name in body:
            for value in VALUES:
                ask(page, "POST", path, json.dumps({**body, name: value}).encode())
    odd = cycle(VALUES)
    for _ in range(200):
        for path, body in bodies.items():
            ask(page, "POST", path, json.dumps({name: next(odd) for name in body}).encode())
        next(odd)
    ask(page, "POST", "/api/faults/p1/clear", b"{}")
