"""The goals of `kafkawire ui`, measured as a user meets them: a server in its own process, and a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks._page_browser import Served, metrics_of, started_browser, tab_memory, tab_of
from benchmarks._page_data import large_capture_rows, live_rows, many_exchanges_rows, many_names_rows, search_rows
from benchmarks.report import Row
from kafkawire.messages import MetadataResponse
from kafkawire.wire import encode_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

ROUNDS = 7
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_SENT = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""
_SHOWN = """async ([view, selector]) => {
    const begun = performance.now();
    location.hash = view;
    while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""
_HOVER = """async () => {
    const rows = [...document.querySelectorAll('.leafy[data-node]')].slice(2, 32);
    const frames = [];
    const said = () => [...CSS.highlights.get('main-lit') ?? []].map((each) => each.startOffset).join();
    for (const row of rows) {
        const before = said();
        row.dispatchEvent(new MouseEvent('mouseenter'));
        let count = 0;
        while (said() === before && count < 30) { await new Promise(requestAnimationFrame); count += 1; }
        if (count < 30) frames.push(count);  // else its bytes are not in sight
    }
    return frames.length < 5 ? 99 : frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.9)];
}"""


def rows() -> Iterator[Row]:
    with started_browser() as browser:
        yield from _start()
        if browser is None:
            yield Row("the page in a browser", "chromium or playwright is not installed", float("nan"))
        else:
            yield from _paint(browser)
            yield from _frames(browser)
        yield from large_capture_rows()
        yield from many_exchanges_rows(browser)
        yield from search_rows()
        yield from many_names_rows(browser)
        if browser is not None:
            yield from live_rows(browser)


def _start() -> Iterator[Row]:
    best = 1e9
    for _ in range(ROUNDS):
        with Served() as served:
            best = min(best, served.listening * 1000)
    yield Row("kafkawire ui until it listens", "ms", best, 300, at_most=True)


def _paint(browser: Browser) -> Iterator[Row]:
    best, sent = 1e9, 0.0
    with Served() as served:
        for _ in range(ROUNDS):
            with tab_of(browser) as tab:
                tab.goto(served.address)
                tab.wait_for_selector("h1")
                best = min(best, tab.evaluate(f"new Promise((done) => setTimeout(() => done({_PAINT}), 100))"))
                sent = tab.evaluate(_SENT) / 1000
    yield Row("first contentful paint of the start page", "ms", best, 200, at_most=True)
    yield Row("bytes of the first view, packed", "kB", sent, 60, at_most=True)


def metadata_response(size: int) -> bytes:
    """A response of about this size, with a node per field."""
    topic = MetadataResponse.MetadataResponseTopic
    part = MetadataResponse.MetadataResponsePartition
    count = max(1, size // 1_900)
    topics = [
        topic(
            name=f"topic-{number}",
            partitions=[
                part(partition_index=each, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
                for each in range(40)
            ],
        )
        for number in range(count)
    ]
    response = MetadataResponse(topics=topics)
    return bytes(encode_response(response, api_key=3, version=8, correlation_id=1))


def _frames(browser: Browser) -> Iterator[Row]:
    reading = "&kind=response&api=Metadata&version=8"
    with Served() as served, tab_of(browser, served.address) as tab:
        tab.wait_for_selector("h1")
        for size, words, goal in ((64 << 10, "64 kB", 150), (16 << 20, "16 MB", 1000)):
            data = metadata_response(size)
            best = 1e9
            for _ in range(4):
                best = min(best, _shown(tab, served.upload(data) + reading, ".leafy"))
            note = f"{len(data) / 1e6:.2f} MB"
            yield Row(f"a frame of {words} shown", "ms", best, goal, at_most=True, note=note)
        yield Row("hover until the bytes are lit", "frames", tab.evaluate(_HOVER), 1, at_most=True)
        yield Row("memory of the tab with 16 MB", "MB", tab_memory(browser), 150, at_most=True)
        heap = metrics_of(tab)["JSHeapUsedSize"] / 1e6
        yield Row("heap of the tab with 16 MB", "MB", heap, 150, at_most=True)


def _shown(tab: Page, view: str, selector: str) -> float:
    tab.evaluate("location.hash = '#/protocol'")
    tab.wait_for_selector("table")
    return float(tab.evaluate(_SHOWN, [f"#{view}", selector]))
