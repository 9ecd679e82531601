"""Pictures of every view of the page: `python -m tests.browser.gallery OUT`; `--help` has more.

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
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from tests.browser.all_views import SHIFT, WIDE, settled, views
from tests.browser.conftest import NAMES
from tests.browser.stage import stage
from tests.web.page_client import RunningPage

from kafkawire.web import CaptureSource, Workspace

if TYPE_CHECKING:
    from tests.browser.all_views import View

PICTURED = ("bytes", "exchanges", "findings")
SIZES = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (360, 740)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--demo", type=Path, help="the output of `kafkawire demo`")
    parser.add_argument("--only", default="", help="only views with this in their name")
    parser.add_argument("--docs", action="store_true", help="only the pictures of docs/images; needs --demo")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--themes", default="light,dark")
    parser.add_argument("--axe", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    axe = args.axe.read_text("utf-8") if args.axe else ""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = stack.enter_context(sync_playwright())
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        if args.docs:
            workspace = Workspace()
            workspace.add_source(CaptureSource([args.demo / "traffic.pcapng"]))
            page = stack.enter_context(RunningPage(workspace))
            context = browser.new_context(viewport={"width": 1440, "height": 760}, color_scheme="light")
            context.add_init_script(SHIFT)
            for view in views(run=True):
                if view.name in PICTURED:
                    take(context, page, view, args.out / f"page-{view.name}.png", axe)
            browser.close()
            return
        page, _ = stack.enter_context(stage(folder, args.demo))
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
    settled(tab)
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
