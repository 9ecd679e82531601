"""Charts as SVG, for the reports and for the page.

Rules:
- Colours come from the style sheet by class, so a chart suits light and dark themes and print.
- Every mark has a `title` with its exact value; a legend names series wherever there are two or more.
- A chart draws only the numbers of its block. Of a line, a step without a number is a gap.
- A name that has no room is shortened, never cut at the edge. Its `title` has all of it.
- A report has each chart twice, for a desk and for a phone, with text of the same size, and shows the one that fits.
  The page asks for a drawing of its own width.
- Findings are marks on charts over time; a mark is a link to its finding. Those at one place share a mark.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._look.amounts import moment, short, show
from kafkawire._look.elements import Element, element, html_of
from kafkawire._look.series import COLOURS, Bars, OverTime, Ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kafkawire._look.amounts import Unit
    from kafkawire._look.series import Steps

_RIGHT, _TOP, _BOTTOM = 12, 10, 26
_ROW: Final = 26
_HALF_LABEL: Final = 36
_LABEL: Final = 86
"""The room of a label on an axis."""
_MARK: Final = 7
_TEXT: Final = 12
"""The size of text, as in parts.css."""
_THIN: Final = frozenset("ijl.,:;/|'!frt-I ")
_DAY: Final = 86_400_000
_LOW: Final = 150
"""The height below which a chart has fewer lines behind it."""
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
    height: int = 220
    """The height of charts over time."""

    @property
    def right(self) -> int:
        """The end of the plot of charts over time."""
        return self.width - _RIGHT


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
_PERCENTILES: Final = ("p50", "p90", "p99", "max")


def over_time(chart: OverTime, marks: Sequence[Mark] = ()) -> str:
    """Lines, or stacked bars, over time, as in a report."""
    return html_of(
        *_legend(list(chart.series), chart.colours), *(drawn_over_time(frame, chart, marks) for frame in FRAMES)
    )


def bars(chart: Bars) -> str:
    """Horizontal bars, as in a report."""
    return html_of(*(drawn_bars(frame, chart) for frame in FRAMES))


def ranges(chart: Ranges) -> str:
    """Lines from the median to the maximum, as in a report."""
    return html_of(*_legend(_PERCENTILES), *(drawn_ranges(frame, chart) for frame in FRAMES))


def drawn(frame: Frame, chart: OverTime | Bars | Ranges) -> list[Element]:
    """Any chart in one frame, with its legend."""
    if isinstance(chart, Bars):
        return [drawn_bars(frame, chart)]
    if isinstance(chart, Ranges):
        return [*_legend(_PERCENTILES), drawn_ranges(frame, chart)]
    return [*_legend(list(chart.series), chart.colours), drawn_over_time(frame, chart)]


def drawn_over_time(frame: Frame, chart: OverTime, marks: Sequence[Mark] = ()) -> Element:
    """Lines, or stacked bars, over time, in one frame."""
    suffix, long = _rate(chart.steps) if chart.is_rate else ("", chart.steps.step)
    factor = long / chart.steps.step
    values = {
        name: [None if value is None else value * factor for value in series] for name, series in chart.series.items()
    }
    known = [[value or 0 for value in series] for series in values.values()]
    totals = [sum(column) for column in zip(*known, strict=True)] if chart.stacked else []
    largest = max(totals if chart.stacked else (max(series) for series in known), default=0)
    top = nice_top(largest, 1024 if chart.unit == "bytes" else 1000)
    body = [*_grid(frame, top, chart.unit, suffix), *_time_axis(frame, chart.steps)]
    body += _stack(frame, chart, values, top) if chart.stacked else _lines(frame, chart, values, top)
    body += _marks(frame, chart.steps, marks)
    return _svg(frame, frame.height, body, chart.title)


def drawn_bars(frame: Frame, chart: Bars) -> Element:
    """Horizontal bars, in one frame."""
    return _svg(frame, len(chart.items) * _ROW, _bars(_with_names(frame, chart), chart), chart.title)


def _bars(frame: Frame, chart: Bars) -> list[Element]:
    largest = max((value for _, value in chart.items), default=0) or 1
    room = frame.width - frame.names - frame.values
    body = []
    for number, (name, value) in enumerate(chart.items):
        y, length = number * _ROW, max(room * value / largest, 1)
        shown = show(value, chart.unit)
        body.append(
            element(
                "g",
                element("title", f"{name}: {shown}"),
                _label(frame, name, y),
                element("rect", class_="c0", x=frame.names, y=y + 4, width=length, height=_ROW - 8, rx=3),
                element("text", shown, class_="value", x=frame.names + length + 8, y=y + 18),
            )
        )
    return body


def drawn_ranges(frame: Frame, chart: Ranges) -> Element:
    """A line from the median to the maximum, with marks at the 90th and 99th percentile, on a logarithmic scale."""
    everything = [max(value, 1) for _, values in chart.items for value in values]
    low = math.floor(math.log10(min(everything, default=1)))
    high = max(math.ceil(math.log10(max(everything, default=10))), low + 1)
    body = _ranges(_with_names(frame, chart), chart, low, high)
    return _svg(frame, len(chart.items) * _ROW + _BOTTOM, body, chart.title)


def _ranges(frame: Frame, chart: Ranges, low: int, high: int) -> list[Element]:
    room = frame.width - frame.names - 40

    def place(value: float) -> float:
        return frame.names + room * (math.log10(max(value, 1)) - low) / (high - low)

    height = len(chart.items) * _ROW
    body = []
    apart = math.ceil((high - low) * _LABEL * 0.7 / room)
    for power in range(low, high + 1):
        x = place(10**power)
        body.append(element("line", class_="grid", x1=x, y1=0, x2=x, y2=height))
        if (power - low) % apart == 0:
            body.append(element("text", short(10**power, chart.unit), x=x, y=height + 18, text_anchor="middle"))
    for number, (name, values) in enumerate(chart.items):
        y = number * _ROW + _ROW / 2
        shown = ", ".join(f"{mark} {show(value, chart.unit)}" for mark, value in zip(_PERCENTILES, values, strict=True))
        xs = [place(value) for value in values]
        circles = [
            element("circle", class_=f"c{rank}", cx=x, cy=y, r=5 if rank < 3 else 3.5) for rank, x in enumerate(xs)
        ]
        body.append(
            element(
                "g",
                element("title", f"{name}: {shown}"),
                _label(frame, name, number * _ROW),
                element("line", class_="range", x1=xs[0], y1=y, x2=xs[3], y2=y),
                *reversed(circles),
            )
        )
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


def _svg(frame: Frame, height: float, body: Sequence[Element], title: str) -> Element:
    box = f"0 0 {frame.width} {max(height, 1):.0f}"
    return element("svg", *body, class_=frame.name, viewBox=box, role="img", aria_label=title)


def _legend(names: Sequence[str], colours: Sequence[int] = tuple(range(COLOURS))) -> Iterator[Element]:
    if len(names) > 1:
        keys = [element("li", element("i", class_=f"b{colours[at % COLOURS]}"), name) for at, name in enumerate(names)]
        yield element("ul", *keys, class_="legend")


def _label(frame: Frame, name: str, y: float) -> Element:
    return element("text", fitting(name, frame.names - 10), x=frame.names - 10, y=y + 18, text_anchor="end")


def _grid(frame: Frame, top: float, unit: Unit, suffix: str) -> Iterator[Element]:
    parts = 4 if frame.height >= _LOW else 2
    for part in range(parts + 1):
        y = _y(frame, top * part / parts, top)
        text = short(top * part / parts, unit) + (suffix if part else "")
        yield element("line", class_="grid", x1=frame.left, y1=y, x2=frame.right, y2=y)
        yield element("text", text, x=frame.left - 8, y=y + 4, text_anchor="end")


def _rate(steps: Steps) -> tuple[str, int]:
    """The unit of a rate: the longest unit that fits a step, with its sign and its milliseconds."""
    known = (("/day", _DAY), ("/h", 3_600_000), ("/min", 60_000))
    return next((each for each in known if steps.step >= each[1]), ("/s", 1000))


def _time_axis(frame: Frame, steps: Steps) -> Iterator[Element]:
    apart, times = steps.marks()
    form = "%Y-%m-%d" if apart >= _DAY else "%H:%M" if apart >= 60_000 else "%H:%M:%S"
    if apart < _DAY < steps.step * steps.count:
        form = f"%m-%d {form}"
    every = math.ceil(len(times) * _LABEL / (frame.right - frame.left))
    for when in times[::every]:
        x = _x(frame, (when - steps.start) / steps.step, steps)
        try:
            text = datetime.fromtimestamp(when / 1000, UTC).strftime(form)
        except (OverflowError, ValueError, OSError):
            text = str(when)
        if apart < 1000:
            text += f".{when % 1000:03}".rstrip("0").rstrip(".")
        anchor = "start" if x < frame.left + _HALF_LABEL else "end" if x > frame.width - _HALF_LABEL else "middle"
        y = frame.height - _BOTTOM
        yield element("line", class_="grid", x1=x, y1=y, x2=x, y2=y + 5)
        yield element("text", text, x=x, y=frame.height - 6, text_anchor=anchor)


def _stack(
    frame: Frame, chart: OverTime, values: Mapping[str, Sequence[float | None]], top: float
) -> Iterator[Element]:
    step_width = (frame.right - frame.left) / chart.steps.count
    width = max(step_width - 2, step_width * 0.8)
    for step in range(chart.steps.count):
        below = 0.0
        for index, (name, series) in enumerate(values.items()):
            value = series[step]
            if value:
                y = _y(frame, below + value, top)
                height = max(_y(frame, below, top) - y - (1 if below else 0), 0.5)
                x = _x(frame, step, chart.steps) + (step_width - width) / 2
                title = element("title", f"{name}: {_shown(chart, name, step)}, {_when(chart, step)}")
                yield element("rect", title, class_=f"c{_colour(chart, index)}", x=x, y=y, width=width, height=height)
                below += value


def _lines(
    frame: Frame, chart: OverTime, values: Mapping[str, Sequence[float | None]], top: float
) -> Iterator[Element]:
    half = (frame.right - frame.left) / chart.steps.count / 2
    for index, series in enumerate(values.values()):
        runs: list[list[str]] = [[]]
        for step, value in enumerate(series):
            if value is None:
                runs.append([])
            else:
                runs[-1].append(f"{_x(frame, step, chart.steps) + half:.1f},{_y(frame, value, top):.1f}")
        for points in filter(None, runs):
            # a point alone has no length, but round ends
            joined = " ".join(points if len(points) > 1 else points * 2)
            yield element("polyline", class_=f"l{_colour(chart, index)}", points=joined)
    for step in range(chart.steps.count):
        told = [f"{name}: {_shown(chart, name, step)}" for name in chart.series]
        yield element(
            "rect",
            element("title", "\n".join([_when(chart, step), *told])),
            class_="hit",
            x=_x(frame, step, chart.steps),
            y=_TOP,
            width=2 * half,
            height=frame.height - _TOP - _BOTTOM,
        )


def _colour(chart: OverTime, index: int) -> int:
    return chart.colours[index % COLOURS]


def _shown(chart: OverTime, name: str, step: int) -> str:
    return show(chart.series[name][step], chart.unit)


def _when(chart: OverTime, step: int) -> str:
    return moment(chart.steps.start + step * chart.steps.step)


def _marks(frame: Frame, steps: Steps, marks: Sequence[Mark]) -> Iterator[Element]:
    """A line with a head per place; the worst finding of a place is its link."""
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        x = _x(frame, (mark.when - steps.start) / steps.step, steps)
        if frame.left <= x <= frame.right:
            places.setdefault(round(x / (2 * _MARK)), []).append(mark)
    for found in places.values():
        x = _x(frame, (found[0].when - steps.start) / steps.step, steps)
        yield element(
            "a",
            element("title", "\n".join(f"{each.level}: {each.text}" for each in found)),
            element("line", x1=x, y1=_TOP, x2=x, y2=frame.height - _BOTTOM),
            element("path", d=f"M{x - _MARK:.1f} {_TOP - 8}h{2 * _MARK}l-{_MARK} 10z"),
            href=f"#{found[0].link}",
            class_=f"mark {found[0].level}",
        )


def _x(frame: Frame, step: float, steps: Steps) -> float:
    return frame.left + (frame.right - frame.left) * step / steps.count


def _y(frame: Frame, value: float, top: float) -> float:
    return _TOP + (frame.height - _TOP - _BOTTOM) * (1 - value / top)
