"""A tab that is measured: a real chromium, driven by playwright, over a page server in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WAIT_SECONDS = 120


class Served:
    """`kafkawire ui` with some inputs, in a process of its own."""

    def __init__(self, *inputs: str) -> None:
        command = [str(Path(sys.executable).parent / "kafkawire"), "ui", "--no-browser", "--json", *inputs]
        begun = perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        self.listening = perf_counter() - begun
        self.address: str = json.loads(text)["address"]
        self.origin, _, rest = self.address.partition("/#token=")
        self.token = rest.partition("/")[0]

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)

    def view(self, path: str) -> str:
        """The address of a view."""
        return f"{self.origin}/#token={self.token}{path}"

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """The JSON of an answer."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": kind}
        with urlopen(Request(self.origin + path, body, headers), timeout=WAIT_SECONDS) as answer:
            return json.load(answer)

    def upload(self, data: bytes) -> str:
        """Upload bytes; returns the view that shows them."""
        return f"/bytes?upload={self.ask('/api/uploads', data, 'application/octet-stream')['upload']}"

    def lines(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a stream."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        with urlopen(Request(self.origin + path, json.dumps(body).encode(), headers), timeout=WAIT_SECONDS) as answer:
            for line in answer:
                yield json.loads(line)

    @property
    def memory(self) -> float:
        """The memory of the process itself in MB; pages of files that it maps are not counted."""
        return memory_of(self.process.pid, "RssAnon")


def memory_of(process: int, name: str = "VmRSS") -> float:
    """A figure of the memory of a process, in MB."""
    for line in Path(f"/proc/{process}/status").read_text("ascii", "replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1000
    return 0.0


@contextmanager
def started_browser() -> Iterator[Browser | None]:
    """A browser; None where there is none."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def tab_of(browser: Browser, address: str = "") -> Iterator[Page]:
    """A tab with a state of its own."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(WAIT_SECONDS * 1000)
    if address:
        tab.goto(address)
    yield tab
    context.close()


def metrics_of(tab: Page) -> dict[str, float]:
    """The counters of the tab: seconds of tasks, script and layout, and bytes of its heap."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return found


def tab_memory(browser: Browser) -> float:
    """The memory that the largest tab has for itself, in MB."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max(_private(int(each["id"])) for each in found if each["type"] == "renderer")


def _private(process: int) -> float:
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_")) / 1000


def until(check: Any, seconds: float = WAIT_SECONDS) -> float:
    """The seconds until something is true."""
    begun = perf_counter()
    while not check():
        if perf_counter() - begun > seconds:
            return float("inf")
        sleep(0.01)
    return perf_counter() - begun
