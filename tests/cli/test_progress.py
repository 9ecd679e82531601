"""The progress line: when it shows, what it says."""

import io

import pytest

from kafkawire.cli._support.output import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_says_share_amount_rate_and_time_left() -> None:
    clock = Clock()
    terminal = Terminal()
    progress = Progress("reading", 4 * 1024**2, unit="bytes", stream=terminal, clock=clock)
    clock.now += 2
    progress.advance(1024**2)
    assert progress.amounts() == "1.0 MiB of 4.0 MiB  512.0 KiB/s  6 s left"
    assert "reading" in terminal.getvalue()
    assert " 25%" in terminal.getvalue()


@pytest.mark.parametrize("total", [None, 0])
def test_without_a_total_it_says_amount_and_rate(total: int | None) -> None:
    clock = Clock()
    progress = Progress("reading", total, stream=Terminal(), clock=clock)
    clock.now += 2
    progress.advance(5000)
    assert progress.amounts() == "5.0 k  2.5 k/s"


@pytest.mark.parametrize("done", [0, 3])
def test_no_progress_and_more_than_expected_are_printed_without_fault(done: int) -> None:
    clock, terminal = Clock(), Terminal()
    with Progress("reading [bold]", 2, stream=terminal, clock=clock) as progress:
        clock.now += 1
        progress.advance(done)
    assert "? left" in terminal.getvalue()
    assert "reading [bold]" in terminal.getvalue()


def test_quick_work_shows_nothing() -> None:
    clock, terminal = Clock(), Terminal()
    with Progress("reading", 2, stream=terminal, clock=clock) as progress:
        clock.now += 0.4
        progress.advance(1)
    assert terminal.getvalue() == ""


def test_redraws_ten_times_a_second_at_most_and_leaves_no_trace() -> None:
    clock, terminal = Clock(), Terminal()
    with Progress("reading", 1000, stream=terminal, clock=clock) as progress:
        for _ in range(1000):
            clock.now += 0.002
            progress.advance(1)
    assert 10 <= terminal.getvalue().count("reading") <= 18
    assert terminal.getvalue().endswith(("\x1b[2K", "\x1b[?25h"))


def test_into_a_pipe_it_shows_nothing() -> None:
    clock, pipe = Clock(), io.StringIO()
    with Progress("reading", 2, stream=pipe, clock=clock) as progress:
        clock.now += 5
        progress.advance(1)
    assert pipe.getvalue() == ""
