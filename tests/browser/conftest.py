"""A real browser: Debian's chromium, driven by playwright. Without one the tests are skipped with the reason.

Rules:
- A test must leave no error on the console, break no policy, and ask no other host; this is checked at its end.
- Assertions are on texts and roles. Screenshots are for people.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.page_client import RunningPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    missing = None if path else "no chromium found: apt install chromium-headless-shell"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed: pip install playwright"
    if missing:
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


class Visitor:
    """A tab that notes what must not happen."""

    def __init__(self, tab: Page, running: RunningPage) -> None:
        self.tab, self.running = tab, running
        self.complaints: list[str] = []
        origin = f"http://{running.host}/"
        tab.on("console", lambda said: self._complain(said.type in ("error", "warning"), said.text))
        tab.on("pageerror", lambda error: self._complain(True, str(error)))
        tab.on("request", lambda asked: self._complain(not asked.url.startswith((origin, "blob:", "data:")), asked.url))

    def _complain(self, wrong: bool, text: str) -> None:
        if wrong:
            self.complaints.append(text)

    def go(self, view: str) -> Page:
        """Open a view, as the address of the command does."""
        self.tab.goto("about:blank")
        self.tab.goto(f"http://{self.running.host}/#token={self.running.server.token}{view}")
        return self.tab


@pytest.fixture
def running() -> Iterator[RunningPage]:
    with RunningPage() as page:
        yield page


@pytest.fixture
def visitor(browser: Browser, running: RunningPage) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    made = Visitor(context.new_page(), running)
    yield made
    context.close()
    assert made.complaints == []


@pytest.fixture
def axe() -> str:
    """The source of axe-core, which `make browser` fetches; AXE names another file."""
    path: Any = os.environ.get("AXE", "build/axe.min.js")
    if not os.path.exists(path):  # noqa: PTH110
        if os.environ.get("CI"):
            pytest.fail("axe-core is not there: make build/axe.min.js")
        pytest.skip("axe-core is not there: make build/axe.min.js, or AXE=path/to/axe.min.js")
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
