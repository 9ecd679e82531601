"""Pictures of every view of the page: `python -m tests.browser.gallery OUT [--demo DIR] [--only WORD] [--axe FILE]`.

Rules:
- The page shows a real broker, a capture, log directories and, with `--demo`, the capture and a run of the demo.
- Every view is taken at three widths, light and dark. A sheet per size and theme has all of them.
- Beside the pictures it prints what a picture does not show: layout shift, content wider than the window, complaints of
  the console and, with `--axe`, serious findings.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.sync_api import sync_playwright
from tests.browser.conftest import NAMES
from tests.browser.stage import LONG, NASTY, metadata, produced, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

SIZES = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (360, 740)}
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
    inside = "body.topic_data[0].partition_data[0].records.batches[0].records[1]"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--demo", type=Path, help="the output of `kafkawire demo`")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--themes", default="light,dark")
    parser.add_argument("--axe", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    axe = args.axe.read_text("utf-8") if args.axe else ""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        page, _ = stack.enter_context(stage(folder, args.demo))
        started = stack.enter_context(sync_playwright())
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for size, theme in product(args.sizes.split(","), args.themes.split(",")):
            width, height = SIZES[size]
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            context.add_init_script(SHIFT)
            taken = []
            for view in views(args.demo is not None):
                if args.only in view.name:
                    taken.append(args.out / f"{size}-{theme}-{view.name}.png")
                    take(context, page, view, taken[-1], axe)
            context.close()
            across, many = (3, 12) if width > 400 else (8, 16)
            for number, start in enumerate(range(0, len(taken), many)):
                sheet(browser, taken[start : start + many], args.out / f"sheet-{size}-{theme}-{number}.png", across)
        browser.close()


def take(context: Any, page: Any, view: View, target: Path, axe: str) -> None:
    from tests.browser.test_bytes_view import serious

    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda each: said.append(each.text) if each.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(f"http://{page.host}/#token={page.server.token}{view.address}")
    tab.wait_for_timeout(900)
    if view.act:
        try:
            view.act(tab)
        except Exception as error:  # the picture shows what is there instead
            said.append(str(error)[:200])
        tab.wait_for_timeout(400)
    tab.screenshot(path=target)
    shift, shifted, wide = tab.evaluate(f"[window.shift, window.shifted, ({WIDE})()]")
    notes = {"shift": f"{shift:.3f} {shifted[:4]}" if shift > 0.001 else "", "wide": wide, "said": said[:2]}
    notes["axe"] = serious(tab, axe) if axe else []
    kept = {name: value for name, value in notes.items() if value}
    if kept:
        print(target.stem, json.dumps(kept, ensure_ascii=False), flush=True)
    tab.close()


def sheet(browser: Any, pictures: list[Path], target: Path, across: int) -> None:
    """Pictures, made small, with their names."""
    cells = "".join(
        f'<figure><img src="{each.resolve().as_uri()}"><figcaption>{each.stem}</figcaption></figure>'
        for each in pictures
    )
    style = (
        f"body{{margin:8px;display:grid;grid-template-columns:repeat({across},1fr);gap:8px;font:12px sans-serif}}"
        "figure{margin:0}img{width:100%;border:1px solid #888}"
    )
    html = target.with_suffix(".html")
    html.write_text(f"<!doctype html><style>{style}</style>{cells}", "utf-8")
    tab = browser.new_page(viewport={"width": 1560, "height": 800})
    tab.goto(html.resolve().as_uri())
    tab.screenshot(path=target, full_page=True)
    tab.close()
    html.unlink()


if __name__ == "__main__":
    main()
