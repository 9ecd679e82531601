"""How commands print: tables, fields, JSON lines, colours, sizes, progress; and the options of other forms.

Rules:
- On a terminal, rich prints tables: it wraps long texts, and columns without room are left out and named. Into a pipe,
  and without the extra `terminal`, every row is one line.
- The first rows of a table determine its layout, and later rows widen it. So a long table is printed while it is read.
- `--json` prints one object per line, keyed by column, and nothing else.
- Colours are used only on a terminal, and never with NO_COLOR set or TERM=dumb.
- Progress is a line on stderr, on a terminal only, after half a second of work. It is redrawn at most ten times per
  second, and removed when the work ends.
- Control characters in data are shown as escapes, so that data cannot control the terminal.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import unicodedata
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, TextIO

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.progress import Progress as Bar

Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]
_STYLES: Final[dict[Style, str]] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_GAP: Final = "  "
_NARROWEST: Final = 12
_RUN: Final = 1000
_DELAY: Final = 0.5
_INTERVAL: Final = 0.1


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json to a command."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object per line")


def add_web_option(parser: argparse.ArgumentParser) -> None:
    """Add --web to a command."""
    parser.add_argument("--web", action="store_true", help="show this in the browser instead, until the tab is closed")


def add_html_option(parser: argparse.ArgumentParser) -> None:
    """Add --html and --with-values to a command."""
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write one HTML file that needs no server; keys and values are blanked",
    )
    parser.add_argument("--with-values", action="store_true", help="with --html, keep keys and values of records")


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    as_json: bool = False,
    stream: TextIO | None = None,
) -> None:
    """Print rows as a table, or as JSON lines, while they are read."""
    if as_json:
        print_json((dict(zip(columns, row, strict=True)) for row in rows), stream=stream)
        return
    stream = stream or sys.stdout
    coming = iter(rows)
    natural, numeric = list(map(display_width, columns)), [True] * len(columns)
    is_headed = False
    while (cells := [[_cell(value) for value in row] for row in islice(coming, _RUN)]) or not is_headed:
        for index in range(len(columns)):
            column = [row[index] for row in cells]
            natural[index] = max(natural[index], *map(display_width, column), 0)
            numeric[index] = numeric[index] and bool(column) and all(map(_is_number, column))
        show = _print_table if uses_rich(stream) else _print_lines
        show(columns, cells, natural, numeric, stream, headed=not is_headed)
        is_headed = True


def _print_lines(
    columns: Sequence[str],
    cells: list[list[str]],
    widths: list[int],
    numeric: list[bool],
    stream: TextIO,
    *,
    headed: bool,
) -> None:
    """Print each row as one aligned line; on a terminal, without the last columns that have no room."""
    count = len(columns)
    if stream.isatty():
        count = _count_fitting(_least(widths, numeric), shutil.get_terminal_size().columns)
    shown = (line[:count] for line in ([columns, *cells] if headed else cells))
    for line in shown:
        padded = (
            (cell.rjust if right else cell.ljust)(width - display_width(cell) + len(cell))
            for cell, width, right in zip(line, widths, numeric, strict=False)
        )
        print(_GAP.join(padded).rstrip(), file=stream)
    if headed:
        _note_left_out(columns[count:])


def _least(widths: list[int], numeric: list[bool]) -> list[int]:
    """The least widths of columns: texts may be wrapped, numbers not."""
    return [width if right else min(width, _NARROWEST) for width, right in zip(widths, numeric, strict=True)]


def _count_fitting(least: list[int], room: int) -> int:
    """The number of columns, from the first on, that have room."""
    return next((count for count in range(len(least), 1, -1) if sum(least[:count]) + 2 * (count - 1) <= room), 1)


def _note_left_out(names: Sequence[str]) -> None:
    if not names:
        return
    note = f"(no room for {', '.join(names)}; --json prints all columns)"
    if uses_rich(sys.stderr):
        from rich.text import Text

        console(sys.stderr).print(Text(note))
    else:
        print(note, file=sys.stderr)


def _print_table(
    columns: Sequence[str],
    cells: list[list[str]],
    widths: list[int],
    numeric: list[bool],
    stream: TextIO,
    *,
    headed: bool,
) -> None:
    """Print rows for a person: long texts are wrapped, and the last columns are left out if the rest does not fit."""
    from rich.table import Table
    from rich.text import Text

    out = console(stream)
    least = _least(widths, numeric)
    shown = _count_fitting(least, out.width)
    table = Table(box=None, show_header=headed, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, width, right in zip(columns[:shown], least, numeric, strict=False):
        table.add_column(
            Text(name), justify="right" if right else "left", min_width=min(width, out.width), overflow="fold"
        )
    for row in cells:
        table.add_row(*map(Text, row[:shown]))
    out.print(table)
    if headed:
        _note_left_out(columns[shown:])


def print_fields(fields: Mapping[str, object], *, stream: TextIO | None = None) -> None:
    """Print one line per field, with names aligned and long values wrapped on a terminal."""
    stream = stream or sys.stdout
    if not uses_rich(stream):
        widest = max((display_width(name) for name in fields), default=0)
        for name, value in fields.items():
            print(f"{_GAP}{name}{' ' * (widest - display_width(name))}{_GAP}{_cell(value)}", file=stream)
        return
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        grid.add_row(Text(name), Text(_cell(value)))
    console(stream).print(Padding(grid, (0, 0, 0, len(_GAP))))


def uses_rich(stream: TextIO) -> bool:
    """Whether rich prints to the stream: a person reads it, and the extra `terminal` is installed."""
    return stream.isatty() and _has_rich()


@cache
def _has_rich() -> bool:
    try:
        import rich  # noqa: F401 (the question is whether this works)
    except ModuleNotFoundError:
        return False
    return True


def console(stream: TextIO) -> Console:
    """Rich's console on a terminal, with our rules for colours; rich is imported only if a person looks."""
    from rich.console import Console

    colours: Literal["auto"] | None = "auto" if shows_colours(stream) else None
    return Console(file=stream, force_terminal=True, color_system=colours, highlight=False, markup=False, emoji=False)


def print_json(objects: Iterable[object], *, stream: TextIO | None = None) -> None:
    """Print one JSON object per line; bytes become hex."""
    stream = stream or sys.stdout
    for item in objects:
        print(json.dumps(item, ensure_ascii=False, default=_json_value), file=stream)


def coloured(text: str, style: Style, stream: TextIO | None = None) -> str:
    """The text in a style if the stream shows styles, else the plain text."""
    if not shows_colours(stream or sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def shows_colours(stream: TextIO) -> bool:
    """Whether the stream shows colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress:
    """The progress of work: share, amount, rate, time left. `total` may be unknown.

    >>> with Progress("reading", total=100, unit="bytes") as progress:
    ...     progress.advance(50)
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        *,
        unit: Literal["bytes", "items"] = "items",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label, self._total, self._clock = label, total, clock
        self._amount = human_size if unit == "bytes" else human_count
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._done = 0
        self._bar: Bar | None = None
        self._started = clock()
        self._next_draw = self._started + _DELAY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Count more work as done."""
        self._done += count
        if self._shown and self._clock() >= self._next_draw:
            self._shown = uses_rich(self._stream)
            if self._shown:
                self._draw()

    def amounts(self) -> str:
        """The amount of work, its rate, and the time left."""
        elapsed = max(self._clock() - self._started, 1e-9)
        rate = self._done / elapsed
        speed = f"{self._amount(rate)}/s"
        if not self._total:
            return f"{self._amount(self._done)}  {speed}"
        left = human_time((self._total - self._done) / rate) if 0 < self._done <= self._total else "?"
        return f"{self._amount(self._done)} of {self._amount(self._total)}  {speed}  {left} left"

    def _draw(self) -> None:
        bar = self._bar or self._start()
        task = bar.tasks[0]
        bar.update(task.id, completed=self._done, description=self.label, amounts=self.amounts())
        bar.refresh()
        self._next_draw = self._clock() + _INTERVAL

    def _start(self) -> Bar:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        bars = (BarColumn(20), TaskProgressColumn()) if self._total else ()
        text = TextColumn("{task.description}", markup=False)
        amounts = TextColumn("{task.fields[amounts]}", markup=False)
        self._bar = Bar(text, *bars, amounts, console=console(self._stream), auto_refresh=False, transient=True)
        self._bar.add_task(self.label, total=self._total or None, amounts="")
        self._bar.start()
        return self._bar


def human_size(count: float) -> str:
    """Bytes in a readable unit.

    >>> human_size(512), human_size(65536), human_size(3 * 1024**3 / 2)
    ('512 B', '64.0 KiB', '1.5 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"


def human_count(count: float) -> str:
    """A count, shortened.

    >>> human_count(999), human_count(12_345), human_count(2_500_000)
    ('999', '12.3 k', '2.5 M')
    """
    for unit in ("", " k", " M", " G"):
        if abs(count) < 1000 or unit == " G":
            break
        count /= 1000
    return f"{count:.0f}" if not unit else f"{count:.1f}{unit}"


def human_time(seconds: float) -> str:
    """A duration, to the second.

    >>> human_time(7.2), human_time(95), human_time(3700)
    ('7 s', '1:35', '1:01:40')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def display_width(text: str) -> int:
    """The number of terminal columns of the text.

    >>> display_width("abc"), display_width("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def visible(text: str) -> str:
    """The text with control characters shown as escapes.

    >>> visible("a\\x1b[2Jb\\n")
    'a\\\\x1b[2Jb\\\\n'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_cell, value))
    return visible(str(value))


def _json_value(value: object) -> object:
    return bytes(value).hex() if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.removeprefix("-").replace(".", "", 1).isdecimal()
