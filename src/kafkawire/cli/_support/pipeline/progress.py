"""The progress of `kafkawire pipeline` while it runs.

Rules:
- A run consists of steps. A step that writes a table has a progress bar over the size of the input, other steps have
  their tasks. The label counts the findings so far.
- Elsewhere than on a terminal, a long run writes a line every half minute, so that a log shows that it goes on.
- A stream has one line, which rich redraws on a terminal. Otherwise a line is written when rows were read, at most
  every ten seconds.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Literal, Self, TextIO

from kafkawire.cli._support import output
from kafkawire.cli._support.output import Progress, console, uses_rich

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.live import Live

    from kafkawire.spark import StreamState, TaskCount

_SHOWN: Final = 8
_REDRAW: Final = 0.5
_REPEAT: Final = 10.0
_LOGGED: Final = 30.0


class _StateLine:
    """A state on one line of the terminal, which is removed at the end. Without rich or a terminal nothing is shown.

    >>> with _StateLine() as line:
    ...     line.show("starting Spark ...")
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, text: str) -> None:
        """Show this text instead of the one before."""
        if not uses_rich(self._stream):
            return
        from rich.live import Live
        from rich.text import Text

        line = Text(text, no_wrap=True, overflow="ellipsis")
        if self._live is None:
            self._live = Live(console=console(self._stream), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(line, refresh=True)


@contextmanager
def status(text: str) -> Iterator[None]:
    """Show a line on the terminal within the block."""
    with _StateLine() as line:
        line.show(text)
        yield


class Steps:
    """The steps of a run, one after another."""

    def __init__(
        self,
        total: int,
        unit: Literal["bytes", "items"],
        findings: Callable[[], int],
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._unit, self._findings = total, unit, findings
        self._stream, self._clock = stream or sys.stderr, clock
        self._stack = ExitStack()
        self._step: str | None = None
        self._bar: Progress | None = None
        self._line: _StateLine | None = None
        self._done = 0
        self._started = clock()
        self._next = self._started + _LOGGED

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def report(self, step: str, tasks: TaskCount) -> None:
        """Show the progress of a step."""
        if step != self._step:
            self._begin(step)
        found = self._findings()
        label = step + (f", {found} {'finding' if found == 1 else 'findings'} so far" if found else "")
        if self._bar is not None:
            self._bar.label = label
            now = round(tasks.share * self._total)
            self._bar.advance(now - self._done)
            self._done = now
        elif self._line is not None:
            self._line.show(f"{label}  {_of_tasks(tasks)}")
        if self._clock() >= self._next and not self._stream.isatty():
            self._log(label, tasks)

    def _log(self, label: str, tasks: TaskCount) -> None:
        now = self._clock()
        self._next = now + _LOGGED
        parts = [_of_tasks(tasks), *(self._bar.amounts().split("  ") if self._bar and tasks.done else ())]
        self._stream.write(f"after {output.human_time(now - self._started)}: {label}: {', '.join(parts)}\n")
        self._stream.flush()

    def _begin(self, step: str) -> None:
        self._stack.close()
        self._step, self._bar, self._line, self._done = step, None, None, 0
        if step.startswith("writing "):
            bar = Progress(step, self._total, unit=self._unit, stream=self._stream, clock=self._clock)
            self._bar = self._stack.enter_context(bar)
        else:
            self._line = self._stack.enter_context(_StateLine(self._stream))


def _of_tasks(tasks: TaskCount) -> str:
    return f"{tasks.done} of {tasks.known} tasks" if tasks.known else "planning"


class StreamLine:
    """One line about a stream."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream or sys.stderr, clock
        self._is_terminal = uses_rich(self._stream)
        self._line = _StateLine(self._stream)
        self._next = clock()
        self._state: StreamState | None = None
        self._shown_rows = 0

    def update(self, state: StreamState) -> None:
        """Update the state of the stream, and show it if it is time."""
        self._state = state
        if self._clock() >= self._next:
            self._show(state)

    def end(self) -> None:
        """Remove the line from a terminal; otherwise write the last state, if it is new."""
        if self._is_terminal:
            self._line.__exit__()
        elif self._state is not None:
            self._show(self._state)

    def _show(self, state: StreamState) -> None:
        rows = sum(state.rows.values())
        if self._is_terminal:
            self._line.show(stream_line(state))
        elif rows > self._shown_rows:
            self._stream.write(f"{stream_line(state)}\n")
        else:
            return
        self._stream.flush()
        self._shown_rows = rows
        self._next = self._clock() + (_REDRAW if self._is_terminal else _REPEAT)


def stream_line(state: StreamState) -> str:
    """The state of a stream as text: rows and rates by table, lag by partition, findings.

    >>> from kafkawire.spark._pipeline.queries import StreamState
    >>> stream_line(StreamState({"records": 1200}, {"records": 400.0}, {"t": {0: 5, 1: 0}}, {"error": 0, "warning": 2}))
    'records 1.2 k, 400/s  behind 5 (t-0 5)  2 findings'
    """
    parts = [
        f"{table} {output.human_count(rows)}, {output.human_count(state.rates.get(table, 0.0))}/s"
        for table, rows in state.rows.items()
    ]
    behind = {f"{topic}-{number}": left for topic, lags in state.lag.items() for number, left in lags.items() if left}
    worst = sorted(behind, key=lambda place: (-behind[place], place))[:_SHOWN]
    places = ", ".join(f"{place} {output.human_count(behind[place])}" for place in worst)
    more = f" and {len(behind) - len(worst)} partitions" if len(behind) > len(worst) else ""
    parts.append(f"behind {output.human_count(sum(behind.values()))} ({places}{more})" if behind else "behind 0")
    if state.findings is not None:
        parts.append(f"{sum(state.findings.values())} findings")
    return "  ".join(parts)
