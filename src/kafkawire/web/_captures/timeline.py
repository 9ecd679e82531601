"""The timeline of exchanges as a drawing, by the charts of the reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire._look.charts import Frame, drawn_over_time
from kafkawire._look.series import OverTime, Steps

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEIGHT: Final = 112
_BESIDE: Final = 32
"""The padding of the figure, left and right together."""
_LEFT: Final = 64
_MINUTE: Final = 60_000


def drawing(found: Mapping[str, Any], kind: str, width: int, zone: int) -> dict[str, Any]:
    """The drawing for a window of a width, and the pixels left and right of its plot; `zone` is in minutes."""
    frame = Frame("line", width - _BESIDE, _LEFT, 0, 0, _HEIGHT)
    steps = Steps(int(found["start"]) // 1000 + zone * _MINUTE, found["step"] // 1000, len(found["counts"]))
    if kind == "wait":
        series = {"p50": found["p50"], "p99": found["p99"]}
        chart = OverTime("wait", "Wait over time, median and 99th percentile", "us", steps, series, colours=(1, 2))
    else:
        answered = [each - bad for each, bad in zip(found["counts"], found["errors"], strict=True)]
        series = {"exchanges": answered, "with errors": found["errors"]}
        chart = OverTime(
            "count", "Exchanges and errors over time", "count", steps, series, stacked=True, colours=(0, 3)
        )
    return {"drawing": drawn_over_time(frame, chart), "plot": [frame.left, frame.width - frame.right]}
