"""Charts as inline SVG.

Rules:
- Colours come from the page by class, so a chart suits light and dark themes and print.
- Every mark has a `title` with its exact value; a legend names series wherever there are two or more.
- A chart draws only the numbers of its block: steps without data are zeros.
- A name that has no room is shortened, never cut at the edge. Its `title` has all of it.
- A chart is drawn twice, for a desk and for a phone, with text of the same size. The page shows the one that fits.
- Findings are marks on charts over time; a mark is a link to its finding. Those at one place share a mark.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.spark._report.chapters import moment, short, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark._report.chapters import Bars, OverTime, Ranges, Steps, Unit

_HEIGHT: Final = 220
_RIGHT, _TOP, _BOTTOM = 12, 10, 26
_ROW: Final = 26
_HALF_LABEL: Final = 36
_LABEL: Final = 86
"""The room of a label on an axis."""
_MARK: Final = 7
_TEXT: Final = 12.5
"""The size of text, as in report.css."""
_THIN: Final = frozenset("ijl.,:;/|'!frt-I ")
_DAY: Final = 86_400_000
COLOURS: Final = 8
_TOPS: Final = (1, 2, 4, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 800, 1000, 1024)


class Frame(NamedTuple):
    """The measures of a drawing, in pixels of the screen that it is for."""

    name: str
    width: int
    left: int
    """The room left of the plot for numbers."""
    names: int
    """The room left of the plot for names."""
    values: int
    """The room right of bars for numbers."""


class Mark(NamedTuple):
    """A finding on a chart over time: its time in milliseconds, level, text, and the address of its description."""

    when: int
    level: str
    text: str
    link: str


DESK: Final = Frame("desk", 1000, 84, 190, 110)
PHONE: Final = Frame("phone", 340, 84, 112, 76)
_MOST_NAMES: Final = 160
"""The most room for names on a phone."""
FRAMES: Final = (DESK, PHONE)


def over_time(chart: OverTime, marks: Sequence[Mark] = ()) -> str:
    """Lines, or stacked bars, over time."""
    suffix, long = _rate(chart.steps) if chart.is_rate else ("", chart.steps.step)
    factor = long / chart.steps.step
    values = {name: [value * factor for value in series] for name, series in chart.series.items()}
    totals = [sum(column) for column in zip(*values.values(), strict=True)] if chart.stacked else []
    largest = max(totals if chart.stacked else (max(series) for series in values.values()), default=0)
    top = nice_top(largest, 1024 if chart.unit == "bytes" else 1000)
    drawn = []
    for frame in FRAMES:
        body = [*_grid(frame, top, chart.unit, suffix), *_time_axis(frame, chart.steps)]
        body += _stack(frame, chart, values, top) if chart.stacked else _lines(frame, chart, values, top)
        body += _marks(frame, chart.steps, marks)
        drawn.append(_svg(frame, _HEIGHT, body, chart.title))
    return _legend(list(values)) + "".join(drawn)


def bars(chart: Bars) -> str:
    """Horizontal bars."""
    height, frames = len(chart.items) * _ROW, [_with_names(frame, chart) for frame in FRAMES]
    return "".join(_svg(frame, height, _bars(frame, chart), chart.title) for frame in frames)


def _bars(frame: Frame, chart: Bars) -> list[str]:
    largest = max((value for _, value in chart.items), default=0) or 1
    room = frame.width - frame.names - frame.values
    body = []
    for number, (name, value) in enumerate(chart.items):
        y, length = number * _ROW, max(room * value / largest, 1)
        body += [
            f"<g><title>{escape(name)}: {show(value, chart.unit)}</title>{_label(frame, name, y)}",
            f'<rect class="c0" x="{frame.names}" y="{y + 4}" width="{length:.1f}" height="{_ROW - 8}" rx="3"/>',
            f'<text class="value" x="{frame.names + length + 8:.1f}" y="{y + 18}">{show(value, chart.unit)}</text></g>',
        ]
    return body


def ranges(chart: Ranges) -> str:
    """A line from the median to the maximum, with marks at the 90th and 99th percentile, on a logarithmic scale."""
    everything = [max(value, 1) for _, values in chart.items for value in values]
    low = math.floor(math.log10(min(everything, default=1)))
    high = max(math.ceil(math.log10(max(everything, default=10))), low + 1)
    height = len(chart.items) * _ROW + _BOTTOM
    frames = [_with_names(frame, chart) for frame in FRAMES]
    drawn = (_svg(frame, height, _ranges(frame, chart, low, high), chart.title) for frame in frames)
    return _legend(["p50", "p90", "p99", "max"]) + "".join(drawn)


def _ranges(frame: Frame, chart: Ranges, low: int, high: int) -> list[str]:
    room = frame.width - frame.names - 40

    def place(value: float) -> float:
        return frame.names + room * (math.log10(max(value, 1)) - low) / (high - low)

    height = len(chart.items) * _ROW
    body = []
    apart = math.ceil((high - low) * _LABEL * 0.7 / room)
    for power in range(low, high + 1):
        x = place(10**power)
        body.append(f'<line class="grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"/>')
        if (power - low) % apart == 0:
            text = short(10**power, chart.unit)
            body.append(f'<text x="{x:.1f}" y="{height + 18}" text-anchor="middle">{text}</text>')
    for number, (name, values) in enumerate(chart.items):
        y = number * _ROW + _ROW / 2
        shown = ", ".join(
            f"{mark} {show(value, chart.unit)}"
            for mark, value in zip(("p50", "p90", "p99", "max"), values, strict=True)
        )
        xs = [place(value) for value in values]
        body += [
            f"<g><title>{escape(name)}: {shown}</title>{_label(frame, name, number * _ROW)}",
            f'<line class="range" x1="{xs[0]:.1f}" y1="{y}" x2="{xs[3]:.1f}" y2="{y}"/>',
            *(
                f'<circle class="c{rank}" cx="{x:.1f}" cy="{y}" r="{5 if rank < 3 else 3.5}"/>'
                for rank, x in reversed(list(enumerate(xs)))
            ),
            "</g>",
        ]
    return body


def _with_names(frame: Frame, chart: Bars | Ranges) -> Frame:
    """The frame with as much room for names as they need, within bounds."""
    needed = math.ceil(max((room_of(name) for name, _ in chart.items), default=0)) + 11
    return frame._replace(names=min(max(frame.names, needed), max(frame.names, _MOST_NAMES)))


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
    if room_of(text) <= room:
        return text
    shown, left = "", room - _width("\u2026")
    for character in text:
        left -= _width(character)
        if left < 0:
            break
        shown += character
    return shown + "\u2026"


def room_of(text: str) -> float:
    """The room that a text needs at most."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if character in _THIN:
        return 0.42 * _TEXT
    if character.islower() and character not in "mw" and character.isascii():
        return 0.66 * _TEXT
    return (0.66 if character.isdigit() else 1.02) * _TEXT


def _svg(frame: Frame, height: float, body: Sequence[str], title: str) -> str:
    label = escape(title, quote=True)
    return (
        f'<svg class="{frame.name}" viewBox="0 0 {frame.width} {max(height, 1):.0f}" role="img" aria-label="{label}">'
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


def _label(frame: Frame, name: str, y: float) -> str:
    shown = fitting(name, frame.names - 10)
    return f'<text x="{frame.names - 10}" y="{y + 18}" text-anchor="end">{escape(shown)}</text>'


def _grid(frame: Frame, top: float, unit: Unit, suffix: str) -> Iterator[str]:
    for part in range(5):
        y = _y(top * part / 4, top)
        text = short(top * part / 4, unit) + (suffix if part else "")
        yield f'<line class="grid" x1="{frame.left}" y1="{y:.1f}" x2="{frame.width - _RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'


def _rate(steps: Steps) -> tuple[str, int]:
    """The unit of a rate: the longest unit that fits a step, with its sign and its milliseconds."""
    known = (("/day", _DAY), ("/h", 3_600_000), ("/min", 60_000))
    return next((each for each in known if steps.step >= each[1]), ("/s", 1000))


def _time_axis(frame: Frame, steps: Steps) -> Iterator[str]:
    apart, times = steps.marks()
    form = "%Y-%m-%d" if apart >= _DAY else "%H:%M" if apart >= 60_000 else "%H:%M:%S"
    if apart < _DAY < steps.step * steps.count:
        form = f"%m-%d {form}"
    every = math.ceil(len(times) * _LABEL / (frame.width - frame.left - _RIGHT))
    for when in times[::every]:
        x = _x(frame, (when - steps.start) / steps.step, steps)
        try:
            text = datetime.fromtimestamp(when / 1000, UTC).strftime(form)
        except (OverflowError, ValueError, OSError):
            text = str(when)
        if apart < 1000:
            text += f".{when % 1000:03}".rstrip("0").rstrip(".")
        anchor = "start" if x < frame.left + _HALF_LABEL else "end" if x > frame.width - _HALF_LABEL else "middle"
        y = _HEIGHT - _BOTTOM
        yield f'<line class="grid" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}"/>'
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{text}</text>'


def _stack(frame: Frame, chart: OverTime, values: dict[str, list[float]], top: float) -> Iterator[str]:
    step_width = (frame.width - frame.left - _RIGHT) / chart.steps.count
    width = max(step_width - 2, step_width * 0.8)
    for step in range(chart.steps.count):
        below = 0.0
        for index, (name, series) in enumerate(values.items()):
            if series[step]:
                y = _y(below + series[step], top)
                height = max(_y(below, top) - y - (1 if below else 0), 0.5)
                yield (
                    f'<rect class="c{index % COLOURS}" x="{_x(frame, step, chart.steps) + 1:.1f}" y="{y:.1f}"'
                    f' width="{width:.1f}" height="{height:.1f}"><title>{_title(chart, name, step)}</title></rect>'
                )
                below += series[step]


def _lines(frame: Frame, chart: OverTime, values: dict[str, list[float]], top: float) -> Iterator[str]:
    half = (frame.width - frame.left - _RIGHT) / chart.steps.count / 2
    for index, series in enumerate(values.values()):
        points = [
            f"{_x(frame, step, chart.steps) + half:.1f},{_y(value, top):.1f}" for step, value in enumerate(series)
        ]
        yield f'<polyline class="l{index % COLOURS}" points="{" ".join(points)}"/>'
    for step in range(chart.steps.count):
        text = "\n".join([moment(chart.steps.start + step * chart.steps.step), *_each(chart, step)])
        yield (
            f'<rect class="hit" x="{_x(frame, step, chart.steps):.1f}" y="{_TOP}" width="{2 * half:.1f}"'
            f' height="{_HEIGHT - _TOP - _BOTTOM}"><title>{escape(text)}</title></rect>'
        )


def _each(chart: OverTime, step: int) -> Iterator[str]:
    for name, series in chart.series.items():
        yield f"{name}: {show(series[step], chart.unit)}"


def _title(chart: OverTime, name: str, step: int) -> str:
    when = moment(chart.steps.start + step * chart.steps.step)
    return escape(f"{name}: {show(chart.series[name][step], chart.unit)}, {when}")


def _marks(frame: Frame, steps: Steps, marks: Sequence[Mark]) -> Iterator[str]:
    """A line with a head per place; the worst finding of a place is its link."""
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        x = _x(frame, (mark.when - steps.start) / steps.step, steps)
        if frame.left <= x <= frame.width - _RIGHT:
            places.setdefault(round(x / (2 * _MARK)), []).append(mark)
    for found in places.values():
        x = _x(frame, (found[0].when - steps.start) / steps.step, steps)
        text = escape("\n".join(f"{each.level}: {each.text}" for each in found))
        link = escape(found[0].link, quote=True)
        yield (
            f'<a href="#{link}" class="mark {found[0].level}"><title>{text}</title>'
            f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
            f'<path d="M{x - _MARK:.1f} {_TOP - 8}h{2 * _MARK}l-{_MARK} 10z"/></a>'
        )


def _x(frame: Frame, step: float, steps: Steps) -> float:
    return frame.left + (frame.width - frame.left - _RIGHT) * step / steps.count


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)
