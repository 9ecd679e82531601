"""Charts as inline SVG.

Rules:
- Colours come from the page by class, so a chart suits light and dark themes and print.
- Every mark has a `title` with its exact value; a legend names series wherever there are two or more.
- A chart draws only the numbers of its block: steps without data are zeros.
- A name that has no room is shortened, never cut at the edge. Its `title` has all of it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from kafkawire.spark._report.chapters import moment, short, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark._report.chapters import Bars, OverTime, Ranges, Steps, Unit

_WIDTH: Final = 1000
_HEIGHT: Final = 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 12, 10, 26
_ROW: Final = 26
_NAMES: Final = 190
_HALF_LABEL: Final = 36
_TEXT: Final = 12.5
"""The size of text, as in report.css."""
_THIN: Final = frozenset("ijl.,:;|'!frt-I ")
_DAY: Final = 86_400_000
COLOURS: Final = 8
_TOPS: Final = (1, 2, 4, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 800, 1000, 1024)


def over_time(chart: OverTime) -> str:
    """Lines, or stacked bars, over time."""
    suffix, long = _rate(chart.steps) if chart.is_rate else ("", chart.steps.step)
    factor = long / chart.steps.step
    values = {name: [value * factor for value in series] for name, series in chart.series.items()}
    totals = [sum(column) for column in zip(*values.values(), strict=True)] if chart.stacked else []
    largest = max(totals if chart.stacked else (max(series) for series in values.values()), default=0)
    top = nice_top(largest, 1024 if chart.unit == "bytes" else 1000)
    body = [*_grid(top, chart.unit, suffix), *_time_axis(chart.steps)]
    body += _stack(chart, values, top) if chart.stacked else _lines(chart, values, top)
    return _legend(list(values)) + _svg(_HEIGHT, body, chart.title)


def bars(chart: Bars) -> str:
    """Horizontal bars."""
    largest = max((value for _, value in chart.items), default=0) or 1
    room = _WIDTH - _NAMES - 110
    body = []
    for number, (name, value) in enumerate(chart.items):
        y, length = number * _ROW, max(room * value / largest, 1)
        body += [
            f"<g><title>{escape(name)}: {show(value, chart.unit)}</title>{_label(name, y)}",
            f'<rect class="c0" x="{_NAMES}" y="{y + 4}" width="{length:.1f}" height="{_ROW - 8}" rx="3"/>',
            f'<text class="value" x="{_NAMES + length + 8:.1f}" y="{y + 18}">{show(value, chart.unit)}</text></g>',
        ]
    return _svg(len(chart.items) * _ROW, body, chart.title)


def ranges(chart: Ranges) -> str:
    """A line from the median to the maximum, with marks at the 90th and 99th percentile, on a logarithmic scale."""
    everything = [max(value, 1) for _, values in chart.items for value in values]
    low = math.floor(math.log10(min(everything, default=1)))
    high = max(math.ceil(math.log10(max(everything, default=10))), low + 1)

    def place(value: float) -> float:
        return _NAMES + (_WIDTH - _NAMES - 40) * (math.log10(max(value, 1)) - low) / (high - low)

    height = len(chart.items) * _ROW
    body = []
    for power in range(low, high + 1):
        x = place(10**power)
        body.append(f'<line class="grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"/>')
        body.append(f'<text x="{x:.1f}" y="{height + 18}" text-anchor="middle">{short(10**power, chart.unit)}</text>')
    for number, (name, values) in enumerate(chart.items):
        y = number * _ROW + _ROW / 2
        shown = ", ".join(
            f"{mark} {show(value, chart.unit)}"
            for mark, value in zip(("p50", "p90", "p99", "max"), values, strict=True)
        )
        xs = [place(value) for value in values]
        body += [
            f"<g><title>{escape(name)}: {shown}</title>{_label(name, number * _ROW)}",
            f'<line class="range" x1="{xs[0]:.1f}" y1="{y}" x2="{xs[3]:.1f}" y2="{y}"/>',
            *(
                f'<circle class="c{rank}" cx="{x:.1f}" cy="{y}" r="{5 if rank < 3 else 3.5}"/>'
                for rank, x in reversed(list(enumerate(xs)))
            ),
            "</g>",
        ]
    return _legend(["p50", "p90", "p99", "max"]) + _svg(height + _BOTTOM, body, chart.title)


def nice_top(value: float, thousand: int = 1000) -> float:
    """The end of an axis: the next number with round quarters, in steps of a thousand or of 1024.

    >>> nice_top(37), nice_top(0), nice_top(2100), nice_top(3_000_000, 1024) / 2**20
    (40.0, 1.0, 4000.0, 4.0)
    """
    if value <= 0:
        return 1.0
    power = float(thousand) ** max(math.floor(math.log(value, thousand)), 0)
    return next(each * power for each in _TOPS if value <= each * power * (1 + 1e-9))


def fitting(text: str, room: float) -> str:
    """A text, or as much of it as has room on a chart; the page's fonts are at most this wide.

    >>> fitting("orders-0", 180), fitting("W" * 30, 60)
    ('orders-0', 'WWW\u2026')
    """
    if sum(map(_width, text)) <= room:
        return text
    shown, left = "", room - _width("\u2026")
    for character in text:
        left -= _width(character)
        if left < 0:
            break
        shown += character
    return shown + "\u2026"


def _width(character: str) -> float:
    if character in _THIN:
        return 0.42 * _TEXT
    if character.islower() and character not in "mw" and character.isascii():
        return 0.66 * _TEXT
    return (0.66 if character.isdigit() else 1.02) * _TEXT


def _svg(height: float, body: Sequence[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {max(height, 1):.0f}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(body)}</svg>"
    )


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    keys = "".join(
        f'<li><svg viewBox="0 0 10 10"><rect class="c{index % COLOURS}" width="10" height="10" rx="2"/></svg>'
        f"{escape(name)}</li>"
        for index, name in enumerate(names)
    )
    return f'<ul class="legend">{keys}</ul>'


def _label(name: str, y: float) -> str:
    shown = fitting(name, _NAMES - 10)
    return f'<text x="{_NAMES - 10}" y="{y + 18}" text-anchor="end">{escape(shown)}</text>'


def _grid(top: float, unit: Unit, suffix: str) -> Iterator[str]:
    for part in range(5):
        y = _y(top * part / 4, top)
        text = short(top * part / 4, unit) + (suffix if part else "")
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'


def _rate(steps: Steps) -> tuple[str, int]:
    """The unit of a rate: the longest unit that fits a step, with its sign and its milliseconds."""
    known = (("/day", _DAY), ("/h", 3_600_000), ("/min", 60_000))
    return next((each for each in known if steps.step >= each[1]), ("/s", 1000))


def _time_axis(steps: Steps) -> Iterator[str]:
    apart, marks = steps.marks()
    form = "%Y-%m-%d" if apart >= _DAY else "%H:%M" if apart >= 60_000 else "%H:%M:%S"
    if apart < _DAY < steps.step * steps.count:
        form = f"%m-%d {form}"
    for when in marks:
        x = _x((when - steps.start) / steps.step, steps)
        try:
            text = datetime.fromtimestamp(when / 1000, UTC).strftime(form)
        except (OverflowError, ValueError, OSError):
            text = str(when)
        if apart < 1000:
            text += f".{when % 1000:03}".rstrip("0").rstrip(".")
        anchor = "start" if x < _LEFT + _HALF_LABEL else "end" if x > _WIDTH - _HALF_LABEL else "middle"
        y = _HEIGHT - _BOTTOM
        yield f'<line class="grid" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}"/>'
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{text}</text>'


def _stack(chart: OverTime, values: dict[str, list[float]], top: float) -> Iterator[str]:
    width = max((_WIDTH - _LEFT - _RIGHT) / chart.steps.count - 2, 1)
    for step in range(chart.steps.count):
        below = 0.0
        for index, (name, series) in enumerate(values.items()):
            if series[step]:
                y = _y(below + series[step], top)
                height = max(_y(below, top) - y - (1 if below else 0), 0.5)
                yield (
                    f'<rect class="c{index % COLOURS}" x="{_x(step, chart.steps) + 1:.1f}" y="{y:.1f}"'
                    f' width="{width:.1f}" height="{height:.1f}"><title>{_title(chart, name, step)}</title></rect>'
                )
                below += series[step]


def _lines(chart: OverTime, values: dict[str, list[float]], top: float) -> Iterator[str]:
    half = (_WIDTH - _LEFT - _RIGHT) / chart.steps.count / 2
    for index, series in enumerate(values.values()):
        points = [f"{_x(step, chart.steps) + half:.1f},{_y(value, top):.1f}" for step, value in enumerate(series)]
        yield f'<polyline class="l{index % COLOURS}" points="{" ".join(points)}"/>'
    for step in range(chart.steps.count):
        text = "\n".join([moment(chart.steps.start + step * chart.steps.step), *_each(chart, step)])
        yield (
            f'<rect class="hit" x="{_x(step, chart.steps):.1f}" y="{_TOP}" width="{2 * half:.1f}"'
            f' height="{_HEIGHT - _TOP - _BOTTOM}"><title>{escape(text)}</title></rect>'
        )


def _each(chart: OverTime, step: int) -> Iterator[str]:
    for name, series in chart.series.items():
        yield f"{name}: {show(series[step], chart.unit)}"


def _title(chart: OverTime, name: str, step: int) -> str:
    when = moment(chart.steps.start + step * chart.steps.step)
    return escape(f"{name}: {show(chart.series[name][step], chart.unit)}, {when}")


def _x(step: float, steps: Steps) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / steps.count


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)
