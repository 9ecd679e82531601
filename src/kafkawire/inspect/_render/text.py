"""A tree as aligned text: offset, bytes, field, type, value.

Rules:
- Bytes and values are shortened to fit. With `full` they are not, and bytes continue on the next lines.
- An offset in decompressed bytes has the prefix `>`.
- A fault is on the line after its bytes. The description of a field is on the line after it, if it is asked for.
- The type of a node with children may exceed its column, because only a count follows it.
- On a narrow terminal the types are left out, then the bytes, and names are cut. The last line says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from kafkawire.inspect._render.lines import SHOWN_BYTES, Line, Plain, tree_lines
from kafkawire.inspect._render.values import value_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.inspect._explain.explain import Explanation

    Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]
    Paint = Callable[[str, Style], str]

_GAP: Final = "  "
_FEWEST_BYTES: Final = 4
_CROWDED_VALUE: Final = 12
_WIDEST_VALUE: Final = 100
_USUAL_KIND: Final = 16
_COMFORTABLE_VALUE: Final = 45  # a timestamp and its time


def render_text(
    explanation: Explanation,
    *,
    full: bool = False,
    describe: bool = False,
    width: int | None = None,
    paint: Paint,
) -> Iterator[str]:
    """The lines of a tree; `width` is that of the terminal, and `paint(text, style)` colours a text.

    With `describe`, the description of a field is on the line below it.
    """
    lines = list(tree_lines(explanation.space, full=full))
    columns = _Columns(lines, full, width, paint)
    columns.describe = describe
    yield columns.heading()
    for line in lines:
        yield from columns.rows(line)
    if columns.left_out:
        yield paint(f"(no room for {' and '.join(columns.left_out)})", "dim")


class _Columns:
    """The widths that fit all lines."""

    describe = False

    def __init__(self, lines: list[Line], full: bool, width: int | None, paint: Paint) -> None:
        self.full, self.paint = full, paint
        self.offset = max([len("offset"), *(len(line.offset) for line in lines)])
        self.label = max([len("field"), *(len(line.label) for line in lines)])
        kinds = (len(line.kind) for line in lines if not line.is_branch or len(line.kind) <= _USUAL_KIND)
        self.kind = max([len("type"), *kinds])
        longest = max((len(line.raw) + line.more for line in lines), default=0)
        self.bytes = max(_FEWEST_BYTES, min(SHOWN_BYTES, longest))
        others = self.offset + self.label + self.kind + 4 * len(_GAP)
        if width is not None and others + self._hex_width() + _COMFORTABLE_VALUE > width:
            self.bytes = _FEWEST_BYTES
        left = _WIDEST_VALUE if width is None else width - others - self._hex_width()
        self.left_out: list[str] = []
        if full:
            left = _WIDEST_VALUE
        if left < _CROWDED_VALUE:
            left += self.kind + len(_GAP)
            self.left_out.append("types")
        if left < _CROWDED_VALUE:
            left += self._hex_width() + len(_GAP)
            self.left_out.append("bytes")
        if left < _CROWDED_VALUE:
            self.label = max(_CROWDED_VALUE, self.label + left - _CROWDED_VALUE)
        self.value = max(_CROWDED_VALUE, left)

    def heading(self) -> str:
        cells = (
            f"{'offset':>{self.offset}}",
            f"{'bytes':{self._hex_width()}}",
            f"{'field':{self.label}}",
            f"{'type':{self.kind}}",
            "value",
        )
        return self.paint(_GAP.join(self._shown(cells)), "bold")

    def _shown(self, cells: tuple[str, str, str, str, str]) -> list[str]:
        offset, raw, label, kind, value = cells
        shown = [offset, *([] if "bytes" in self.left_out else [raw]), label]
        return [*shown, *([] if "types" in self.left_out else [kind]), value]

    def rows(self, line: Line) -> Iterator[str]:
        paint, hexes = self.paint, self._hex_width()
        pairs = ["??" if at in line.unknown else f"{byte:02x}" for at, byte in enumerate(line.raw)]
        rows = [pairs[at : at + self.bytes] for at in range(0, len(pairs), self.bytes)] or [[]]
        cut = not self.full and (line.more or len(rows) > 1)
        label = f"{line.label if self.full else _cut(line.label, self.label):{self.label}}"
        cells = (
            paint(f"{line.offset:>{self.offset}}", "dim"),
            paint(f"{_hex(rows[0], cut, hexes):{hexes}}", "cyan"),
            paint(label, "bold") if line.is_branch else label,
            paint(f"{line.kind:{self.kind}}", "dim"),
            self._value(line),
        )
        yield _GAP.join(self._shown(cells)).rstrip()
        if self.full:
            for row in rows[1:]:
                yield f"{'':{self.offset}}{_GAP}{paint(' '.join(row), 'cyan')}"
        indent = len(line.label) - len(line.label.lstrip())
        blank = " " * (self.offset + hexes + 2 * len(_GAP) + indent)
        if line.fault:
            yield blank + paint(f"^ {line.fault}", "red")
        if self.describe and line.description:
            yield blank + paint(f"# {line.description}", "dim")

    def _hex_width(self) -> int:
        return self.bytes * 3 - 1

    def _value(self, line: Line) -> str:
        excess = 0 if "types" in self.left_out else max(0, len(line.kind) - self.kind)
        room = None if self.full else max(0, self.value - excess)
        text = _cut(line.value, room) if isinstance(line.value, Plain) else value_text(line.value, room)
        note = visible(line.note)
        if note and text and room is not None:
            note = _cut(note, room - len(text) - 3)
        style: Style | None = "dim" if line.value is None else "green" if text.startswith(('"', 'b"')) else None
        shown = self.paint(text, style) if style else text
        if not note:
            return shown
        return f"{shown} {self.paint(f'({note})', 'yellow')}" if text else self.paint(note, "yellow")


def _hex(pairs: list[str], cut: bool, width: int) -> str:
    text = " ".join(pairs)
    if not cut:
        return text
    return f"{text} …" if len(text) + 2 <= width else f"{' '.join(pairs[:-1])} …"


def _cut(text: str, room: int | None) -> str:
    if room is None or len(text) <= room:
        return text
    return text[: max(room - 1, 0)] + "…" if room > 1 else ""
