"""Every view: nothing serious for axe, nothing wider than the window, nothing that jumps, no trap for keys.

Rules:
- A view is looked at on a desk, on a phone, and at twice the size, in both themes.
- The keyboard reaches everything that can be focused, in order, and shows where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.browser.all_views import SHIFT, WIDE, settled, views
from tests.browser.stage import stage
from tests.browser.test_bytes_view import serious

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from tests.browser.all_views import View
    from tests.web.page_client import RunningPage

SIZES: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1440, "height": 900}},
    "tablet": {"viewport": {"width": 1024, "height": 768}},
    "phone": {"viewport": {"width": 360, "height": 740}},
    "twice": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}
JUMP = 0.02
"""The most layout shift of a view; browsers call a page good below 0.1."""
VIEWS = list(views(run=False))
FOCUS = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const style = getComputedStyle(at), row = at.querySelector(".row.cursor");
  const shown = style.outlineStyle !== "none" || style.boxShadow !== "none" || at.matches(".hidden")
    || (row && getComputedStyle(row).boxShadow !== "none") || (at.matches(".rows") && !row);
  window.known = window.known || new Map();
  if (!window.known.has(at)) window.known.set(at, window.known.size);
  const text = `${at.tagName} ${at.className} ${at.ariaLabel ?? at.textContent.slice(0, 30)}`;
  return [window.known.get(at), text, shown, at.getBoundingClientRect().width > 0];
}"""
REACHABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
  .filter(each => !each.disabled && each.tabIndex >= 0 && each.checkVisibility()).length"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPage]:
    with stage(tmp_path_factory.mktemp("stage")) as (page, _):
        yield page


def opened(browser: Browser, page: RunningPage, view: View, **options: Any) -> Page:
    context = browser.new_context(**options)
    context.add_init_script(SHIFT)
    tab = context.new_page()
    tab.goto(f"http://{page.host}/#token={page.server.token}{view.address}")
    settled(tab)
    if view.act:
        view.act(tab)
        tab.wait_for_timeout(150)
    return tab


@pytest.mark.parametrize(
    ("size", "theme"), [("desk", "light"), ("phone", "dark"), ("twice", "dark"), ("tablet", "light")]
)
def test_every_view_fits_is_still_and_can_be_read(
    browser: Browser, shown: RunningPage, axe: str, size: str, theme: str
) -> None:
    wrong: list[Any] = []
    for view in VIEWS:
        tab = opened(browser, shown, view, color_scheme=theme, **SIZES[size])
        jumped, wide = tab.evaluate("window.shift"), tab.evaluate(WIDE)
        found = serious(tab, axe)
        if jumped > JUMP or wide or found:
            wrong.append((view.name, jumped, wide, found))
        tab.context.close()
    assert wrong == []


def test_the_keyboard_reaches_everything_and_is_never_caught(browser: Browser, shown: RunningPage) -> None:
    wrong: list[Any] = []
    for view in VIEWS:
        tab = opened(browser, shown, view, viewport={"width": 1440, "height": 900})
        if tab.locator("dialog[open]").count():
            tab.keyboard.press("Escape")
            tab.wait_for_timeout(100)
            if tab.locator("dialog[open]").count():
                wrong.append((view.name, "Escape does not close the dialog"))
        reachable, seen = tab.evaluate(REACHABLE), set()
        for _ in range(reachable + 3):
            tab.keyboard.press("Tab")
            at = tab.evaluate(FOCUS)
            if at is None:
                continue
            number, text, is_shown, has_size = at
            seen.add(number)
            if not is_shown or not has_size:
                wrong.append((view.name, "the focus is not seen", text))
        if len(seen) < reachable:
            wrong.append((view.name, f"{len(seen)} of {reachable} are reached"))
        tab.context.close()
    assert wrong == []


def test_nothing_moves_for_those_who_wish_so(browser: Browser, shown: RunningPage) -> None:
    moving = """() => [...document.querySelectorAll("*")].filter(each => {
      const style = getComputedStyle(each);
      return parseFloat(style.transitionDuration) > 0 || style.animationName !== "none";
    }).map(each => each.tagName + "." + each.className)"""
    for view in VIEWS[:20]:
        tab = opened(browser, shown, view, reduced_motion="reduce")
        assert tab.evaluate(moving) == [], view.name
        tab.context.close()
