"""The report in a browser: its script sorts tables by the column that is clicked."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.spark._pipeline.summary import SegmentsSummary
from kafkawire.spark._report.chapters import Chapter, Grid, headings
from kafkawire.spark._report.page import page

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.interop, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]
ROWS: list[list[Any]] = [["b10", 300, 2], ["a", None, 30], ["b9", 1000, 4]]


@pytest.mark.parametrize(
    ("clicks", "order"),
    [
        ((), ["b10", "a", "b9"]),
        ((0,), ["a", "b9", "b10"]),
        ((0, 0), ["b10", "b9", "a"]),
        ((1,), ["b9", "b10", "a"]),
        ((1, 1), ["b10", "b9", "a"]),
        ((0, 2), ["a", "b9", "b10"]),
    ],
)
def test_a_click_on_a_heading_sorts_and_another_turns_it_round(
    tmp_path: Path, clicks: tuple[int, ...], order: list[str]
) -> None:
    grid = Grid("grid", headings("name | size:bytes | count:count"), ROWS)
    html = page({"kind": "segments", "paths": ["x"]}, SegmentsSummary(), [], [Chapter("Rows", "", [grid])], 0.0)
    driver = "".join(f"document.querySelectorAll('th button')[{column}].click();" for column in clicks)
    file = tmp_path / "report.html"
    file.write_text(html.replace("</body>", f"<script>{driver}</script></body>"))
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()]
    shown = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout
    body = shown.partition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r'<tr><td[^>]*data-value="([^"]*)"', body) == order
    head = shown.partition("<thead>")[2].partition("</thead>")[0]
    assert head.count("aria-sort=") == bool(clicks)
