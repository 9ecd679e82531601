"""How commands print."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli._support import output

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


ROWS = [(7, "orders", "a text that is long enough to need three lines", True), (-1, None, "b", False)]


def test_into_a_pipe_a_row_is_a_line_and_numbers_align_right() -> None:
    pipe = io.StringIO()
    output.print_rows(("id", "topic", "what", "ok"), ROWS, stream=pipe)
    assert pipe.getvalue().splitlines() == [
        "id  topic   what                                            ok",
        " 7  orders  a text that is long enough to need three lines  yes",
        "-1  -       b                                               no",
    ]


def test_on_a_terminal_the_widest_column_wraps_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    output.print_rows(("id", "topic", "what", "ok"), ROWS, stream=terminal)
    lines = [line.rstrip() for line in terminal.getvalue().splitlines()]
    assert lines == [
        "id  topic   what                     ok",
        " 7  orders  a text that is long      yes",
        "            enough to need three",
        "            lines",
        "-1  -       b                        no",
    ]
    assert max(map(len, lines)) <= 40


def test_columns_without_room_are_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    columns = [f"column-{number:03}" for number in range(9)]
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        output.print_rows(columns, [["x" * 30] * 9], stream=stream)
    assert max(map(len, terminal.getvalue().splitlines())) <= 40
    assert "column-000" in terminal.getvalue()
    assert "column-008" not in terminal.getvalue()
    assert capsys.readouterr().err.startswith("(no room for column-003, ")
    assert all(name in pipe.getvalue() for name in columns)


def test_without_rich_a_terminal_has_fewer_columns_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_has_rich", lambda: False)
    columns = [f"column-{number:03}" for number in range(9)]
    terminal = Terminal()
    output.print_rows(columns, [[number] * 9 for number in range(2)], stream=terminal)
    assert terminal.getvalue().splitlines()[0] == "column-000  column-001  column-002"
    assert max(map(len, terminal.getvalue().splitlines())) <= 40
    assert capsys.readouterr().err.startswith("(no room for column-003, ")


@pytest.mark.parametrize(
    "rows",
    [[], [(10**30, 10**30)], [("x" * 200, "y" * 200)], [("日本語" * 30, "é" * 60)]],
    ids=["none", "wide numbers", "long words", "wide characters"],
)
def test_no_content_breaks_a_table(rows: list[tuple[object, object]]) -> None:
    terminal = Terminal()
    output.print_rows(("a", "b"), rows, stream=terminal)
    printed = terminal.getvalue().replace("\n", "").replace(" ", "")
    for row in rows:
        for cell in row:
            assert sum(printed.count(char) for char in set(str(cell))) >= len(str(cell))


def test_fields_align_and_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    output.print_fields({"name": "x", "meaning": "a line that is too long for this terminal"}, stream=terminal)
    assert [line.rstrip() for line in terminal.getvalue().splitlines()] == [
        "  name     x",
        "  meaning  a line that is too long for",
        "           this terminal",
    ]


def test_data_cannot_steer_the_terminal() -> None:
    terminal = Terminal()
    output.print_rows(("key",), [("\x1b]0;owned\x07\r\n\u202e",)], stream=terminal)
    assert [line.rstrip() for line in terminal.getvalue().splitlines()][1:] == [r"\x1b]0;owned\x07\r\n\u202e"]


def test_json_lines_are_keyed_by_column_and_bytes_are_hex() -> None:
    pipe = io.StringIO()
    output.print_rows(("key", "value"), [("é", b"\x00\xff"), (None, 2**70)], as_json=True, stream=pipe)
    lines = pipe.getvalue().splitlines()
    assert [json.loads(line) for line in lines] == [{"key": "é", "value": "00ff"}, {"key": None, "value": 2**70}]


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output.coloured("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert output.coloured("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert output.coloured("x", "red", Terminal()) == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.coloured("x", "red", Terminal()) == "x"


def test_a_long_table_is_printed_as_it_comes_and_widened_where_it_must() -> None:
    stream = io.StringIO()
    printed_before_the_end = []

    def rows() -> Iterator[tuple[object, ...]]:
        yield from ((number, "x") for number in range(2500))
        printed_before_the_end.append(stream.getvalue().count("\n"))
        yield 12345, "much wider"

    output.print_rows(("number", "text"), rows(), stream=stream)
    lines = stream.getvalue().splitlines()
    assert printed_before_the_end == [2001]
    assert lines[:2] == ["number  text", "     0  x"]
    assert lines[2500:] == ["  2499  x", " 12345  much wider"]
