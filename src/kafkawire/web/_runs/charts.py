"""The charts of the report of a run, drawn for the page from the numbers that the report has as JSON.

Rules:
- The report may come from another user. A block whose numbers are not those of a chart is left out.
- A file that is too large, or is not a report, has no charts.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from kafkawire._look.charts import Frame, drawn
from kafkawire._look.series import Bars, OverTime, Ranges, Steps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LARGEST: Final = 32 << 20
_MOST: Final = 1000
_DATA: Final = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_NARROW: Final = 600
_HEIGHT: Final = 180
_PERCENTILES: Final = 4


def charts_of(report: Path, width: int) -> list[dict[str, Any]]:
    """The charts, each with its title and its elements, for a width in pixels."""
    if not report.is_file() or report.stat().st_size > _LARGEST:
        return []
    found = _DATA.search(report.read_text("utf-8", "replace"))
    if found is None:
        return []
    names = 112 if width < _NARROW else 190
    frame = Frame("line", width, 84, names, 84, _HEIGHT)
    try:
        blocks = json.loads(found[1])["blocks"].values()
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    shown = []
    for block in blocks:
        try:
            charts = list(_chart(block))
            shown += [{"title": each.title, "drawing": drawn(frame, each)} for each in charts]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            continue
    return shown


def _chart(block: Any) -> Iterator[OverTime | Bars | Ranges]:
    """The chart of a block; a table has none."""
    about = {"name": str(block["name"]), "title": str(block["title"]), "unit": block["unit"]} if "unit" in block else {}
    if "steps" in block:
        steps = Steps(*(_amount(block["steps"][name]) for name in ("start", "step", "count")))
        series = {str(name): [_amount(each) for each in values] for name, values in block["series"].items()}
        if steps.step > 0 and 0 < steps.count <= _MOST and all(len(each) == steps.count for each in series.values()):
            yield OverTime(
                **about, steps=steps, series=series, stacked=bool(block["stacked"]), is_rate=bool(block["is_rate"])
            )
    elif block.get("items"):
        items = block["items"][:_MOST]
        if all(isinstance(value, list) for _, value in items):
            spread = [(str(name), [_amount(each) for each in values]) for name, values in items]
            if all(len(values) == _PERCENTILES for _, values in spread):
                yield Ranges(**about, items=spread)
        else:
            yield Bars(**about, items=[(str(name), _amount(value)) for name, value in items])


def _amount(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return value
