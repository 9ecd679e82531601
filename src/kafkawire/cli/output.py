"""How commands print: tables, fields, JSON lines, colours, sizes.

Rules:
- On a terminal a table fits its width, by wrapping the widest columns; into a pipe every row is one whole line.
- A table is laid out by its first rows and widened where later ones need it, so that a long one is printed as it comes.
- `--json` prints one object a line, keyed by column, and nothing else.
- Colours only on a terminal, never with NO_COLOR set or TERM=dumb.
- Text that came out of data cannot steer the terminal: control characters are shown as escapes.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TextIO

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

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


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Give a command its --json."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    as_json: bool = False,
    stream: TextIO | None = None,
) -> None:
    """Print rows as a table, or as JSON lines, while they come."""
    if as_json:
        print_json((dict(zip(columns, row, strict=True)) for row in rows), stream=stream)
        return
    stream = stream or sys.stdout
    room = _line_width(stream)
    coming = iter(rows)
    natural, numeric = list(map(display_width, columns)), [True] * len(columns)
    is_headed = False
    while (cells := [[_cell(value) for value in row] for row in islice(coming, _RUN)]) or not is_headed:
        for index in range(len(columns)):
            column = [row[index] for row in cells]
            natural[index] = max(natural[index], *map(display_width, column), 0)
            numeric[index] = numeric[index] and bool(column) and all(map(_is_number, column))
        widths = _fitted(natural, numeric, room)
        if not is_headed:
            print(coloured(_table_line(columns, widths, numeric), "bold", stream), file=stream)
            is_headed = True
        for row in cells:
            wrapped = [_wrap(text, width) for text, width in zip(row, widths, strict=True)]
            for number in range(max(len(lines) for lines in wrapped)):
                line = [lines[number] if number < len(lines) else "" for lines in wrapped]
                print(_table_line(line, widths, numeric), file=stream)


def print_fields(fields: Mapping[str, object], *, stream: TextIO | None = None) -> None:
    """Print one thing in full: a line a field, names aligned, long values wrapped on a terminal."""
    stream = stream or sys.stdout
    widest = max((display_width(name) for name in fields), default=0)
    room = max(_line_width(stream) - widest - 2 * len(_GAP), _NARROWEST)
    for name, value in fields.items():
        first, *more = _wrap(_cell(value), room)
        print(f"{_GAP}{coloured(name, 'dim', stream)}{' ' * (widest - display_width(name))}{_GAP}{first}", file=stream)
        for line in more:
            print(f"{' ' * (widest + 2 * len(_GAP))}{line}", file=stream)


def print_json(objects: Iterable[object], *, stream: TextIO | None = None) -> None:
    """Print one JSON object a line; bytes become hex."""
    stream = stream or sys.stdout
    for item in objects:
        print(json.dumps(item, ensure_ascii=False, default=_json_value), file=stream)


def coloured(text: str, style: Style, stream: TextIO | None = None) -> str:
    """The text in a style, where the stream shows styles; else the text."""
    if not shows_colours(stream or sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def shows_colours(stream: TextIO) -> bool:
    """Whether escapes for colours belong on the stream."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def human_size(count: float) -> str:
    """Bytes in the unit that reads best.

    >>> human_size(512), human_size(65536), human_size(3 * 1024**3 / 2)
    ('512 B', '64.0 KiB', '1.5 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"


def human_count(count: float) -> str:
    """A number of things, short.

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
    """How many columns of a terminal the text takes.

    >>> display_width("abc"), display_width("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def visible(text: str) -> str:
    """The text with everything that could steer a terminal shown as an escape.

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
    return visible(str(value))


def _json_value(value: object) -> object:
    return bytes(value).hex() if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.removeprefix("-").replace(".", "", 1).isdecimal()


def _line_width(stream: TextIO) -> int:
    if not stream.isatty():
        return sys.maxsize
    import shutil

    return shutil.get_terminal_size().columns


def _fitted(widths: list[int], numeric: list[bool], room: int) -> list[int]:
    """Narrow the widest text columns, a character at a time, until the row fits or all are at their narrowest."""
    fitted = list(widths)
    room -= len(_GAP) * (len(widths) - 1)
    texts = [index for index, right in enumerate(numeric) if not right]
    while texts and sum(fitted) > room:
        widest = max(texts, key=lambda index: fitted[index])
        if fitted[widest] <= _NARROWEST:
            break
        fitted[widest] -= 1
    return fitted


def _wrap(text: str, width: int) -> list[str]:
    if display_width(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        while display_width(word) > width:
            cut = next(at for at in range(len(word), 0, -1) if display_width(word[:at]) <= width or at == 1)
            lines.append(word[:cut])
            word = word[cut:]
        line = word
    return [*lines, line]


def _table_line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = []
    for cell, width, right in zip(cells, widths, numeric, strict=True):
        blank = " " * (width - display_width(cell))
        padded.append(blank + cell if right else cell + blank)
    return _GAP.join(padded).rstrip()
