"""The page: nothing from outside, nothing run that came out of data, every number where a program finds it."""

from __future__ import annotations

import json
import re
from datetime import datetime
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from kafkawire._look import charts
from kafkawire._look.series import Bars, OverTime, Ranges, Steps
from kafkawire.spark._pipeline.summary import SegmentsSummary
from kafkawire.spark._report.chapters import Chapter, Grid, headings
from kafkawire.spark._report.page import page

NASTY = "</script><script>alert(1)</script><!--"
FINDING: dict[str, Any] = {
    "rule": "corruption",
    "level": "error",
    "certainty": "suspected",
    "conn_id": 3,
    "connection": "10.0.0.1:5 > 10.0.0.9:9092",
    "client_id": NASTY,
    "entity": None,
    "t0": None,
    "t1": None,
    "count": 30,
    "evidence": [{"conn_id": 3, "seq": number} for number in range(20)],
    "text": NASTY,
    "advice": "Look.",
}


def on(frame: charts.Frame, drawn: str) -> str:
    """The drawing for a desk or for a phone."""
    (found,) = re.findall(rf'<svg class="{frame.name}".*?</svg>', drawn, re.DOTALL)
    return str(found)


class Elements(HTMLParser):
    """The tags of a page, how they nest, and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.references += [
            value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "action")
        ]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def written(chapters: list[Chapter], findings: list[dict[str, Any]] | None) -> str:
    summary = SegmentsSummary(files=2, bytes=4096, first_timestamp=0, last_timestamp=60_000)
    if findings is not None:
        summary.take_findings({("error", "corruption"): len(findings) + 3})
    return page({"kind": "segments", "paths": [NASTY]}, summary, findings, chapters, 1_700_000_000.0)


@pytest.fixture
def chapters() -> list[Chapter]:
    steps = Steps.over(0, 59_000)
    return [
        Chapter(
            "First & last",
            NASTY,
            [
                Grid("grid", headings("name | size:bytes | when:ms"), [[NASTY, 2048, 0], [None, None, None]]),
                OverTime("lines", "Lines", "bytes", steps, {"a": [1] * 60, NASTY: [2] * 60}, is_rate=True),
                OverTime("stack", "Stack", "count", steps, {"a": [1] * 60, "b": [0] * 60}, stacked=True),
                Bars("bars", "Bars", "bytes", [(NASTY, 10), ("none", 0)]),
                Ranges("ranges", "Ranges", "us", [("Fetch", [10, 200, 3000, 3000])]),
            ],
        )
    ]


def test_the_page_refers_to_nothing_outside_itself(chapters: list[Chapter]) -> None:
    text = written(chapters, [FINDING])
    found = Elements()
    found.feed(text)
    assert found.open == []
    assert all(reference.startswith("#") for reference in found.references)
    assert not re.search(r"https?://|@import|url\(", text)
    assert found.count["script"] == 2


def test_text_out_of_data_is_shown_and_not_run(chapters: list[Chapter]) -> None:
    text = written(chapters, [FINDING])
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_every_number_is_there_for_programs(chapters: list[Chapter]) -> None:
    text = written(chapters, [FINDING])
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    told = json.loads(data)
    assert told["blocks"]["grid"]["rows"][0] == [NASTY, 2048, 0]
    assert told["summary"]["bytes"] == 4096
    assert told["findings"][0]["text"] == NASTY


def test_findings_say_how_sure_they_are_what_shows_them_and_how_many_are_not_shown() -> None:
    text = written([], [FINDING])
    assert "suspected" in text
    assert "3/0, 3/1" in text
    assert "and 18 more" in text
    assert "4 errors. The first of each rule are shown here; the findings table has 3 more." in text


def test_findings_lead_to_their_exchanges() -> None:
    columns = headings("exchange:exchange | time:ms | API")
    rows = [["3/0", 0, "Produce"], ["3/7", 5, None]]
    text = written([Chapter("Evidence", "", [Grid("evidence", columns, rows)])], [FINDING])
    assert '<a href="#exchange-3-0">3/0</a>, 3/1' in text  # the page does not have exchange 3/1
    assert '<tr id="exchange-3-0"><td class="text" data-value="3/0">3/0</td>' in text


@pytest.mark.parametrize("name", ["FindCoordinator", "magic 2, snappy", "InitializeShareGroup"])
def test_names_of_usual_length_are_whole_on_a_phone(name: str) -> None:
    for drawn in (
        charts.bars(Bars("b", "B", "bytes", [(name, 10)])),
        charts.ranges(Ranges("r", "R", "us", [(name, [1] * 4)])),
    ):
        assert f'text-anchor="end">{name}</text>' in on(charts.PHONE, drawn)


def test_findings_that_were_not_looked_for_are_not_called_none() -> None:
    assert "No rules ran" in written([], None)
    assert "The rules found nothing" in written([], [])


@pytest.mark.parametrize(
    ("first", "last", "step"), [(0, 0, 1), (5, 64, 1), (0, 600_000, 15_000), (0, 10**12, 30 * 86_400_000)]
)
def test_steps_cover_the_span_in_about_sixty(first: int, last: int, step: int) -> None:
    steps = Steps.over(first, last)
    assert steps.step >= step
    assert steps.start <= first
    assert steps.start + steps.step * steps.count > last
    assert steps.count <= 61


def test_a_span_that_makes_no_sense_makes_no_long_chart() -> None:
    assert Steps.over(0, 2**62).count <= 600


def test_a_chart_without_values_is_drawn() -> None:
    steps = Steps.over(0, 10_000)
    assert "<svg" in charts.over_time(OverTime("x", "X", "count", steps, {"a": [0] * steps.count}))
    assert "<svg" in charts.bars(Bars("x", "X", "bytes", []))


@pytest.mark.parametrize("name", ["W" * 60, "\u4e16" * 60, "a-very-long-topic-name-with-partition-12345", "i" * 300])
def test_a_long_name_is_shortened_to_the_room_beside_its_bar(name: str) -> None:
    drawn = charts.bars(Bars("bars", "Bars", "bytes", [(name, 10), ("orders-0", 5)]))
    labels = re.findall(r'text-anchor="end">([^<]*)<', on(charts.DESK, drawn))
    assert labels[1] == "orders-0"
    assert labels[0].endswith("\u2026")
    assert name.startswith(labels[0][:-1])
    assert 10 <= len(labels[0]) <= 40
    assert f"<title>{name}: 10 B</title>" in drawn


def test_marks_say_their_exact_value() -> None:
    steps = Steps(0, 1000, 2)
    drawn = charts.over_time(OverTime("x", "X", "count", steps, {"a": [0, 7], "b": [1, 0]}, stacked=True))
    assert re.findall(r"<title>([^<]+)</title>", on(charts.DESK, drawn)) == [
        "b: 1, 1970-01-01 00:00:00.000",
        "a: 7, 1970-01-01 00:00:01.000",
    ]


@pytest.mark.parametrize(
    ("steps", "labels"),
    [
        (Steps(1_700_000_000_000, 200, 40), [f"22:13:2{second}" for second in range(8)]),
        (
            Steps(1_700_000_000_000, 10, 40),
            ["22:13:20", *(f"22:13:20.{tenth}" for tenth in ("05", 1, 15, 2, 25, 3, 35))],
        ),
        (Steps(1_700_000_100_000, 15_000, 40), ["22:16", "22:18", "22:20", "22:22", "22:24"]),
        (Steps(1_700_006_400_000, 3_600_000, 40), ["11-15 00:00", "11-15 06:00"]),
        (Steps(1_699_920_000_000, 86_400_000, 40), ["2023-11-16", "2023-11-23"]),
    ],
)
def test_an_axis_has_its_marks_at_times_that_people_know(steps: Steps, labels: list[str]) -> None:
    drawn = charts.over_time(OverTime("x", "X", "count", steps, {"a": [1] * steps.count}))
    told = re.findall(r'text-anchor="(?:start|middle|end)">([\d:. -]{5,})</text>', on(charts.DESK, drawn))
    assert told[: len(labels)] == labels


@pytest.mark.parametrize(
    ("step", "value", "axis"),
    [
        (500, 4, ["0", "2/s", "4/s", "6/s", "8/s"]),
        (60_000, 4, ["0", "1/min", "2/min", "3/min", "4/min"]),
        (7_200_000, 4, ["0", "0.5/h", "1/h", "1.5/h", "2/h"]),
        (86_400_000, 1, ["0", "0.25/day", "0.5/day", "0.75/day", "1/day"]),
    ],
)
def test_a_rate_is_computed_over_a_time_with_a_step_in_it(step: int, value: int, axis: list[str]) -> None:
    drawn = charts.over_time(OverTime("x", "X", "count", Steps(0, step, 2), {"a": [0, value]}, is_rate=True))
    for frame in charts.FRAMES:
        assert re.findall(r'text-anchor="end">([\d.]+(?:/\w+)?)</text>', on(frame, drawn)) == axis


def texts_outside(frame: charts.Frame, drawn: str) -> list[str]:
    """The texts that may reach beyond the edges of a drawing, with the widths that the page's fonts have at most."""
    outside = []
    for x, anchor, text in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*?(?: text-anchor="(\w+)")?>([^<]*)<', drawn):
        wide = charts.room_of(text)
        left = float(x) - {"end": wide, "middle": wide / 2}.get(anchor, 0)
        if left < 0 or left + wide > frame.width:
            outside.append(text)
    return outside


@pytest.mark.parametrize("frame", charts.FRAMES, ids=lambda frame: frame.name)
def test_no_label_reaches_beyond_the_edge(frame: charts.Frame) -> None:
    for step, count in ((200, 40), (15_000, 60), (3_600_000, 61), (86_400_000, 60)):
        steps = Steps(1_700_000_000_000, step, count)
        series = {"requests": [2**33 + 5] * count}
        drawn = charts.over_time(OverTime("x", "X", "bytes", steps, series, is_rate=True))
        assert texts_outside(frame, on(frame, drawn)) == []
    spread = Ranges("r", "R", "us", [("AlterReplicaLogDirs", [90, 700, 1_000_000, 70_000_000])])
    assert texts_outside(frame, on(frame, charts.ranges(spread))) == []
    bars = Bars("b", "B", "bytes", [("a-very-long-topic-name-with-partition-12345", 2**33), ("orders-0", 5)])
    assert texts_outside(frame, on(frame, charts.bars(bars))) == []


def test_labels_of_a_time_axis_do_not_touch_on_a_phone() -> None:
    for step in (200, 15_000, 3_600_000):
        steps = Steps(1_700_000_000_000, step, 60)
        drawn = on(charts.PHONE, charts.over_time(OverTime("x", "X", "count", steps, {"a": [1] * 60})))
        places = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="214"', drawn)]
        assert len(places) > 1
        assert min(second - first for first, second in pairwise(places)) >= 70


def test_findings_are_marked_where_they_happened_and_lead_to_their_description() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1)  # as Spark returns it
    findings = [
        {**FINDING, "t0": at, "text": "first"},
        {**FINDING, "t0": at, "level": "warning", "text": "second"},
        {**FINDING, "t0": at, "level": "info", "text": "third"},
        {**FINDING, "t0": datetime(1999, 1, 1), "text": "elsewhere"},
    ]
    chart = OverTime("x", "X", "count", Steps(0, 500, 4), {"a": [0, 7, 1, 0]})
    made = page(
        {"kind": "captures", "paths": ["a b.pcap"]}, SegmentsSummary(findings={"error": 2}), findings,
        [Chapter("T", "", [chart])], 0.0,
    )  # fmt: skip
    marks = re.findall(r'<a href="#(finding-\d)" class="mark (\w+)"><title>([^<]*)</title>', made)
    assert marks == [("finding-0", "error", "error: corruption: first\nwarning: corruption: second")] * 2
    assert 'id="finding-0"' in made
    assert "<code>kafkawire inspect &#x27;a b.pcap&#x27; --tree 3/0</code>" in made
