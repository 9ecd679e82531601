"""Every view of the page of `stage`, and what is measured of each: for the tests and for the gallery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.sync_api import expect
from tests.browser.stage import LONG, NASTY, metadata, produced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

SHIFT = """
window.shift = 0; window.shifted = [];
new PerformanceObserver(list => { for (const each of list.getEntries()) if (!each.hadRecentInput) {
  window.shift += each.value;
  for (const s of each.sources) window.shifted.push(s.node?.className || s.node?.nodeName);
} }).observe({ type: "layout-shift", buffered: true });
"""
WIDE = """() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`page ${document.documentElement.scrollWidth}`);
  for (const each of document.querySelectorAll("main *, header *")) {
    if (each.closest("svg") || each.closest(".rows, pre, .tabs, nav, .hexpane, .probe")) continue;
    const box = each.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1) found.push(`${each.className} ${Math.round(box.right)}`);
  }
  return found.slice(0, 4);
}"""


def settled(tab: Page) -> None:
    """Wait until a view is loaded; nothing in it says any more that it is loading."""
    tab.locator("main > *").first.wait_for(state="attached")
    tab.wait_for_timeout(100)
    expect(tab.locator(".empty[role=status]")).to_have_count(0, timeout=30_000)
    tab.wait_for_timeout(250)


class View(NamedTuple):
    """A view: its name, its address, and what to do there."""

    name: str
    address: str
    act: Callable[[Page], Any] | None = None


def pressed(name: str) -> Callable[[Page], Any]:
    return lambda tab: tab.get_by_role("button", name=name).first.click()


def typed(label: str, text: str) -> Callable[[Page], Any]:
    return lambda tab: tab.get_by_label(label).fill(text)


def views(run: bool) -> Iterator[View]:
    damaged = metadata("orders").replace("0006" + b"orders".hex(), "0070" + b"orders".hex())
    hostile = metadata(NASTY, "\u202egnol", "a\x00b", "x" * 2_000)
    yield View("start", "/")
    yield View("start-wrong", "/", pressed("Explain"))
    inside = "body.topic_data[0].partition_data[0].records[0].records[1]"
    yield View("bytes", f"/bytes?hex={produced()}&node={inside}")
    yield View("bytes-hostile", f"/bytes?hex={hostile}")
    yield View("bytes-fault", f"/bytes?hex={damaged}", pressed("1 fault"))
    yield View("bytes-unknown", "/bytes?hex=6869207468657265")
    yield View("bytes-versions", f"/bytes?hex={metadata('orders')}&panel=versions")
    yield View("bytes-copy", f"/bytes?hex={metadata('orders')}", pressed("Copy"))
    yield View("bytes-compare", f"/bytes?hex={metadata('orders')}", pressed("Compare…"))
    yield View("diff", f"/diff?a_hex={metadata('orders', 'same')}&b_hex={metadata('payments', 'same', 'new')}")
    yield View("diff-none", f"/diff?a_hex={metadata('orders')}&b_hex={metadata('orders')}")
    yield View("exchanges", "/c1/exchanges")
    yield View("exchanges-wait", "/c1/exchanges?chart=wait&sort=wait_us&down=1")
    yield View("exchanges-none", "/c1/exchanges?filter=api+%3D+Nothing")
    yield View("exchanges-wrong", "/c1/exchanges?filter=nonsense+%3D+1")
    yield View("exchanges-empty", "/c2/exchanges")
    yield View("connections", "/c1/conversations")
    yield View("connections-empty", "/c2/conversations")
    yield View("findings", "/c1/findings")
    yield View("findings-none", "/c2/findings")
    yield View("frames-of-finding", "/bytes/c1/0/1")
    yield View("logs", "/d1")
    yield View("logs-findings", "/d1/findings")
    yield View("logs-stats", "/d1/stats", pressed("With other codecs"))
    yield View("partition", "/d1/partition/orders/2")
    yield View("partition-none", "/d1/partition/orders/99")
    yield View("topics", "/b1/topics")
    yield View("topics-none", "/b1/topics?filter=nothing")
    yield View("topic-create", "/b1/topics", pressed("Create"))
    yield View("messages", "/b1/topic/orders")
    yield View("messages-search", "/b1/topic/orders?q=value.user.name+%3D+%22user+3%22&from=start")
    yield View("messages-nothing", "/b1/topic/orders?q=nothing-has-this&from=start")
    yield View("messages-wrong", "/b1/topic/orders?q=value.user.id+%3D&from=start")
    yield View("messages-long", f"/b1/topic/{LONG}")
    yield View("messages-empty", "/b1/topic/empty")
    yield View("messages-tail", "/b1/topic/orders?tail=1")
    yield View("partitions", "/b1/topic/orders?part=partitions")
    yield View("configs", "/b1/topic/orders?part=configs")
    yield View("produce", "/b1/topic/orders", pressed("Produce…"))
    yield View("send-again", "/b1/topic/orders", pressed("Send again…"))
    yield View("delete", "/b1/topic/orders", pressed("Delete…"))
    yield View("groups", "/b1/groups")
    for group in ("billing", "shipping", "workers", "enrichment", "left-behind"):
        yield View(f"group-{group}", f"/b1/group/{group}")
    yield View("group-offsets", "/b1/group/left-behind", pressed("To the start…"))
    yield View("group-none", "/b1/group/nobody")
    yield View("cluster", "/b1/cluster")
    yield View("sent", "/b1/sent")
    yield View("broker-gone", "/b2/topics")
    yield View("live", "/p1/exchanges")
    yield View("live-empty", "/p2/exchanges")
    yield View("faults", "/p1/faults")
    yield View("protocol", "/protocol")
    yield View("protocol-search", "/protocol?q=produce")
    yield View("protocol-none", "/protocol?q=zzzz")
    yield View("message", "/protocol/FetchResponse?version=12&since=11")
    yield View("message-none", "/protocol/Nothing")
    yield View("keys", "/c1/exchanges", lambda tab: tab.keyboard.press("?"))
    yield View("nowhere", "/zz/exchanges")
    if run:
        yield View("run", "/r1")
        yield View("run-table", "/r1/table/exchanges")
        yield View("run-exchanges", "/r1/exchanges")
        yield View("run-findings", "/r1/findings")
