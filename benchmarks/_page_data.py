"""Goals of the page over much data: a capture of 1 GB, 1 M exchanges, 1 M messages, 10 000 topics, 15 000 groups, a
topic that grows by 50 000 messages per second.

`KAFKAWIRE_PAGE_MB` makes the capture smaller; the goals are then scaled.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from tests.inspect.captures import write_pcap
from tests.inspect.cluster_traffic import cluster_traffic

from benchmarks._page_browser import Served, memory_of, metrics_of, tab_of, until
from benchmarks.client import _serve
from benchmarks.report import Row
from kafkawire.client import Admin, BulkWriter, NewTopic, TopicPartition
from kafkawire.inspect import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

MEGABYTES = int(os.environ.get("KAFKAWIRE_PAGE_MB", "1000"))
MILLION = 1_000_000
TOPICS, GROUPS = 10_000, 15_000
RATE, TAIL_SECONDS = 50_000, 12
_HEAD, _RECORD, _ETHERNET = 24, struct.Struct("<IIII"), 14


def write_capture(path: Path, megabytes: int) -> int:
    """A capture of a cluster's traffic, written again with other clients and later times until it is large."""
    part = write_pcap(cluster_traffic(40, 60, payload=60_000).packets, nanoseconds=True)
    copies = max(1, round(megabytes * 1e6 / len(part)))
    with path.open("wb") as file:
        file.write(part[:_HEAD])
        for number in range(copies):
            file.write(_shifted(part, number))
    return path.stat().st_size


def _shifted(part: bytes, number: int) -> bytes:
    """The packets of a capture, one minute later for each copy, with clients of another network."""
    data, at = bytearray(part[_HEAD:]), 0
    while at < len(data):
        seconds, rest, kept, size = _RECORD.unpack_from(data, at)
        _RECORD.pack_into(data, at, seconds + 60 * number, rest, kept, size)
        ip = at + _RECORD.size + _ETHERNET
        for place in (ip + 12, ip + 16):
            if data[place : place + 2] == b"\x0a\x01":  # a client, 10.1.x.x
                data[place + 1] = 1 + number % 250
        at += _RECORD.size + kept
    return bytes(data)


def large_capture_rows() -> Iterator[Row]:
    scale = MEGABYTES / 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pcap"
        size = write_capture(path, MEGABYTES)
        begun = perf_counter()
        with Served(str(path)) as served:
            first = served.ask("/api/exchanges/c1/rows?count=100")
            seen = perf_counter() - begun
            until(lambda: served.ask("/api/exchanges/c1")["phase"] == "whole")
            whole = perf_counter() - begun
            place = first["rows"][50]
            opened = []
            for _ in range(5):
                start = perf_counter()
                served.ask("/api/bytes", json.dumps({"source": "c1", "item": f"{place[0]}/{place[1]}"}).encode())
                opened.append((perf_counter() - start) * 1000)
            about = served.ask("/api/exchanges/c1")
            note = f"{size / 1e6:.0f} MB, {about['exchanges']} exchanges"
            name = f"capture of {MEGABYTES} MB"
            yield Row(f"{name}: first rows", "s", seen, 2 * scale, at_most=True, note=note)
            yield Row(f"{name}: all exchanges with bodies", "s", whole, 10 * scale, at_most=True)
            yield Row(f"{name}: one opened", "ms", min(opened), 100, at_most=True)
            yield Row(f"{name}: memory of the server", "MB", served.memory, 1000 * scale, at_most=True)


def million_tables() -> dict[str, pa.Table]:
    """Tables of a capture with a million exchanges."""
    chance = np.random.default_rng(7)
    number = np.arange(MILLION)
    names = np.array(["Produce", "Fetch", "Metadata", "Heartbeat", "ApiVersions"])
    which = chance.integers(0, len(names), MILLION)
    began = 1_700_000_000_000_000 + number * 1_000
    wait = chance.exponential(4_000, MILLION).astype(np.int64)
    known = {
        "conn_id": number % 500,
        "seq": number // 500,
        "api": names[which],
        "api_key": which,
        "version": chance.integers(3, 12, MILLION),
        "corr_id": number % (1 << 31),
        "client_id": np.char.add("client-", (number % 97).astype(str)),
        "ts_req": began,
        "ts_resp": began + wait,
        "wait_us": wait,
        "service_us": wait,
        "req_bytes": chance.integers(30, 60_000, MILLION),
        "resp_bytes": chance.integers(30, 60_000, MILLION),
        "error_code": np.where(chance.random(MILLION) < 0.01, 6, 0),
        "state": np.full(MILLION, "matched"),
        "group_id": np.char.add("group-", (number % 31).astype(str)),
    }
    schema = SCHEMAS["exchanges"]
    columns = [
        _column(known[field.name], field.type) if field.name in known else pa.nulls(MILLION, field.type)
        for field in schema
    ]
    tables = {name: SCHEMAS[name].empty_table() for name in SCHEMAS}
    tables["exchanges"] = pa.Table.from_arrays(columns, schema=schema)
    return tables


def _column(values: Any, kind: pa.DataType) -> Any:
    made: Any = pa.array(values)
    return made.cast(pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else made.cast(kind)


def many_exchanges_rows(browser: Browser | None) -> Iterator[Row]:
    from tests.web.page_client import RunningPage

    from kafkawire.inspect import Reading
    from kafkawire.web import CaptureSource, Workspace

    workspace = Workspace()
    workspace.add_source(CaptureSource([], title="million", reading=Reading(million_tables(), [], [])))
    with RunningPage(workspace) as page:
        path = "/api/exchanges/c1/rows?count=100"
        page.get(path)
        filters = ("api = Fetch and wait > 10ms", "client ~ 'client-1.*'", "nothing-has-this-word", "error != 0")
        views = {f"filter {text}": f"&filter={quote(text)}" for text in filters}
        views |= {f"sort by {name}": f"&sort={name}&down=1" for name in ("wait_us", "client", "api", "req_bytes")}
        for name, query in views.items():
            start = perf_counter()
            page.get(path + query)
            yield Row(f"1 M exchanges: {name}", "ms", (perf_counter() - start) * 1000, 300, at_most=True)
        start = perf_counter()
        page.get("/api/exchanges/c1/timeline")
        yield Row("1 M exchanges: timeline", "ms", (perf_counter() - start) * 1000, 300, at_most=True)
        if browser is None:
            return
        with tab_of(browser, f"http://{page.host}/#token={page.server.token}/c1/exchanges") as tab:
            tab.wait_for_selector(".grid .row[aria-rowindex='3']")
            sleep(1)
            tab.mouse.move(700, 600)
            longest = 0.0
            for _ in range(60):
                before = metrics_of(tab)["TaskDuration"]
                tab.mouse.wheel(0, 1_300)
                tab.evaluate("new Promise(requestAnimationFrame)")
                longest = max(longest, (metrics_of(tab)["TaskDuration"] - before) * 1000)
            note = "processor time of the tab for a turn of the wheel by 50 rows, rows of the server included"
            yield Row("1 M exchanges: longest frame while scrolling", "ms", longest, 33, at_most=True, note=note)


@contextmanager
def running_broker() -> Iterator[str]:
    """A broker in another process."""
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Queue(), spawn.Queue()
    process = spawn.Process(target=_serve, args=(ready, done), daemon=True)
    process.start()
    try:
        yield ready.get(timeout=30)
    finally:
        done.put(None)
        process.join(30)


def messages_batch(first: int, count: int) -> pa.RecordBatch:
    """Messages of 100 bytes, JSON with an id and a name."""
    texts = [
        b'{"id":%d,"user":{"id":%d,"name":"user-%06d"},"note":"' % (n, n % 1000, n) for n in range(first, first + count)
    ]
    values = [text + b"x" * (98 - len(text)) + b'"}' for text in texts]
    return pa.record_batch({"value": pa.array(values, pa.binary())})


def search_rows() -> Iterator[Row]:
    with running_broker() as servers:
        with BulkWriter(servers) as writer:
            for first in range(0, MILLION, 50_000):
                writer.write("messages", messages_batch(first, 50_000))
        with Served(servers) as served:
            path = "/api/brokers/b1/topics/messages/search"
            searches = {
                "first match of a word": ("user-000000", 0.3, True),
                "text search through all": ("nobody-has-this", 2.0, False),
                "JSON field through all": ("value.user.id = 4242424", 4.0, False),
                "first match of a JSON field": ("value.user.id = 7", 0.3, True),
            }
            for name, (text, goal, first_only) in searches.items():
                begun = perf_counter()
                scanned = 0
                for event in served.lines(path, {"filter": text, "from": "start", "limit": 500}):
                    scanned = event.get("scanned", scanned)
                    if first_only and event.get("rows"):
                        break
                took = perf_counter() - begun
                note = "" if first_only else f"{scanned} scanned, {scanned / took / 1000:.0f} k/s"
                yield Row(f"1 M messages of 100 B: {name}", "s", took, goal, at_most=True, note=note)


def many_names_rows(browser: Browser | None) -> Iterator[Row]:
    with running_broker() as servers:
        with ThreadPoolExecutor(1) as outside:  # playwright runs a loop in this thread
            outside.submit(lambda: asyncio.run(_names(servers))).result()
        with Served(servers) as served:
            for count, name in ((TOPICS, "topics"), (GROUPS, "groups")):
                start = perf_counter()
                found = served.ask(f"/api/brokers/b1/{name}?count=100")
                took = perf_counter() - start
                note = f"{found['total']} of them"
                yield Row(f"{count} {name} listed by the server", "s", took, 0.5, at_most=True, note=note)
        if browser is None:
            return
        for name in ("topics", "groups"):
            with Served(servers) as served, tab_of(browser, served.view("/protocol")) as tab:
                tab.wait_for_selector("table")
                start = perf_counter()
                tab.evaluate(f"location.hash = '#/b1/{name}'")
                tab.wait_for_selector(".grid .row[aria-rowindex='3']:not(.waiting)")
                yield Row(f"{name} listed in the tab", "s", perf_counter() - start, 0.5, at_most=True)


async def _names(servers: str) -> None:
    async with Admin({"bootstrap_servers": servers}) as admin:
        for first in range(0, TOPICS, 1_000):
            await admin.create_topics([NewTopic(f"topic-{number:05}", 1) for number in range(first, first + 1_000)])
        for first in range(0, GROUPS, 200):
            each = (
                admin.alter_group_offsets(f"group-{number:05}", {TopicPartition("topic-00000", 0): 0})
                for number in range(first, first + 200)
            )
            await asyncio.gather(*each)


def _produce_for(servers: str, seconds: float) -> None:
    with BulkWriter(servers, linger_ms=20) as writer:
        begun, sent = monotonic(), 0
        while (now := monotonic()) - begun < seconds:
            due = int((now - begun) * RATE) - sent
            if due >= 1_000:
                writer.write("growing", messages_batch(sent, due))
                writer.flush()
                sent += due
            sleep(0.01)


def live_rows(browser: Browser) -> Iterator[Row]:
    with running_broker() as servers:
        with BulkWriter(servers) as writer:
            writer.write("growing", messages_batch(0, 10))
        with Served(servers) as served, tab_of(browser, served.view("/b1/topic/growing?tail=1")) as tab:
            tab.wait_for_selector(".empty h2")
            sender = multiprocessing.get_context("spawn").Process(target=_produce_for, args=(servers, TAIL_SECONDS))
            sender.start()
            tab.wait_for_selector(".grid .row[aria-rowindex='3']")
            sleep(2)
            early, early_server = metrics_of(tab)["JSHeapUsedSize"] / 1e6, memory_of(served.process.pid)
            waits = []
            until_then = monotonic() + TAIL_SECONDS - 5
            while monotonic() < until_then:
                waits.append(tab.evaluate(_ANSWER))
                sleep(0.05)
            late, late_server = metrics_of(tab)["JSHeapUsedSize"] / 1e6, memory_of(served.process.pid)
            sender.join()
            status = tab.inner_text("[role=status]")
        name = f"tail at {RATE} messages/s"
        yield Row(f"{name}: the tab answers within", "ms", max(waits), 100, at_most=True, note=status)
        note = f"{early:.0f} to {late:.0f} MB of heap"
        yield Row(f"{name}: growth of the heap of the tab", "MB", late - early, 30, at_most=True, note=note)
        note = f"{early_server:.0f} to {late_server:.0f} MB"
        yield Row(f"{name}: growth of the server", "MB", late_server - early_server, 60, at_most=True, note=note)


_ANSWER = """async () => {
    const begun = performance.now();
    await new Promise((done) => setTimeout(done, 0));
    return performance.now() - begun;
}"""
