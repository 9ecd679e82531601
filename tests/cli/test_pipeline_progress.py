"""The progress that the pipeline prints while it runs."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

from kafkawire.cli._support.pipeline.progress import Steps, StreamLine, stream_line
from kafkawire.spark._pipeline.progress import TaskCount
from kafkawire.spark._pipeline.queries import StreamState

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def state(rows: int = 0, *, lag: dict[str, dict[int, int]] | None = None, findings: int | None = None) -> StreamState:
    found = None if findings is None else {"error": 0, "warning": findings, "info": 0}
    return StreamState({"records": rows}, {"records": 25.0}, lag or {}, found)


def test_a_stage_prints_bytes_rates_and_findings_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, found = Terminal(), 0
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("kafkawire.cli._support.output._DELAY", 0.0)
    monkeypatch.setattr("kafkawire.cli._support.output._INTERVAL", 0.0)
    monkeypatch.setenv("COLUMNS", "200")
    with Steps(4096, "bytes", lambda: found) as steps:
        steps.report("writing batches", TaskCount(2, 4))
        found = 3
        steps.report("applying the rules to batches", TaskCount(0, 0))
        steps.report("applying the rules to batches", TaskCount(1, 7))
        steps.report("writing records", TaskCount(1, 4))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue()).split("\r")
    assert any("writing batches " in line and " 50% 2.0 KiB of 4.0 KiB" in line for line in shown)
    assert any("writing records, 3 findings so far " in line and " 25% 1.0 KiB of 4.0 KiB" in line for line in shown)
    assert any("applying the rules to batches, 3 findings so far  planning" in line for line in shown)
    assert any("applying the rules to batches, 3 findings so far  1 of 7 tasks" in line for line in shown)
    assert shown[-1] == ""


def test_elsewhere_than_on_a_terminal_a_long_run_writes_a_line_every_half_minute() -> None:
    stream, now = io.StringIO(), [0.0]
    with Steps(4096, "bytes", lambda: 0, stream=stream, clock=lambda: now[0]) as steps:
        for moment, step, tasks in (
            (1.0, "writing records", TaskCount()),
            (29.0, "writing records", TaskCount(1, 4)),
            (31.0, "writing records", TaskCount(1, 4)),
            (59.0, "writing records", TaskCount(2, 4)),
            (61.0, "writing records", TaskCount(2, 4)),
            (95.0, "report, records (3 of 4)", TaskCount()),
            (130.0, "report, records (3 of 4)", TaskCount(3, 9)),
        ):
            now[0] = moment
            steps.report(step, tasks)
    assert stream.getvalue().splitlines() == [
        "after 31 s: writing records: 1 of 4 tasks, 1.0 KiB of 4.0 KiB, 34 B/s, 1:30 left",
        "after 1:01: writing records: 2 of 4 tasks, 2.0 KiB of 4.0 KiB, 34 B/s, 1:00 left",
        "after 1:35: report, records (3 of 4): planning",
        "after 2:10: report, records (3 of 4): 3 of 9 tasks",
    ]


def test_a_line_about_a_stream_names_the_partitions_that_are_behind() -> None:
    behind = {"t": dict.fromkeys(range(10), 1) | {4: 1500}, "u": {0: 0}}
    assert stream_line(state(7, lag=behind, findings=2)) == (
        "records 7, 25/s  behind 1.5 k (t-4 1.5 k, t-0 1, t-1 1, t-2 1, t-3 1, t-5 1, t-6 1, t-7 1"
        " and 2 partitions)  2 findings"
    )
    assert stream_line(state(7)) == "records 7, 25/s  behind 0"


def test_elsewhere_than_on_a_terminal_a_line_comes_when_rows_did_and_not_too_often() -> None:
    stream, now = io.StringIO(), [0.0]
    line = StreamLine(stream, clock=lambda: now[0])
    for moment, rows in ((0.0, 0), (1.0, 5), (2.0, 6), (11.5, 6), (30.0, 6), (30.5, 9)):
        now[0] = moment
        line.update(state(rows))
    line.end()
    assert [text.partition(",")[0] for text in stream.getvalue().splitlines()] == [
        "records 5",
        "records 6",
        "records 9",
    ]


def test_a_terminal_has_one_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    terminal, now = Terminal(), [0.0]
    line = StreamLine(terminal, clock=lambda: now[0])
    for moment, rows in ((0.0, 0), (0.1, 1), (0.6, 2)):
        now[0] = moment
        line.update(state(rows))
    line.end()
    shown = terminal.getvalue()
    assert sorted(set(re.findall(r"records.*?…", shown))) == ["records 0, 25/s  be…", "records 2, 25/s  be…"]
    assert shown.endswith("\x1b[2K")  # which erases the line
