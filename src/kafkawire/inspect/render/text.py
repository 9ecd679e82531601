"""A tree as aligned lines: offset, bytes, field, type, value.

Rules:
- What frames a node (count, size, marker, tag) shares the node's line; a short array of plain values is one line.
- Bytes and values are cut to fit, unless `full`; then bytes continue below, eight a line.
- An offset into unpacked bytes has `>` before it.
- A fault stands right below its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect.render.values import value_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkawire.inspect.explain import Explanation
    from kafkawire.inspect.tree import Node, Space

    Paint = Callable[[str, str], str]

_BYTES_A_LINE: Final = 8
_GAP: Final = "  "
_NARROWEST_VALUE: Final = 24
_WIDEST_VALUE: Final = 100
_LONGEST_INLINE: Final = 72
_MOST_INLINE: Final = 32
_HEADINGS: Final = ("offset", "bytes", "field", "type", "value")


@dataclass(slots=True)
class _Line:
    offset: str
    raw: bytes
    more: bool
    label: str
    kind: str
    value: Any
    note: str
    is_branch: bool
    fault: str = ""


def render_text(
    explanation: Explanation, *, full: bool = False, width: int | None = None, paint: Paint
) -> Iterator[str]:
    """The lines of a tree; `width` is that of the terminal, `paint(text, style)` colours a text."""
    space = explanation.space
    lines = list(_lines(space, space.root.children(), 0, "", full))
    offsets = max([len(_HEADINGS[0]), *(len(line.offset) for line in lines)])
    columns = min(_BYTES_A_LINE, max([2, *(len(line.raw) + line.more for line in lines)]))
    labels = max([len(_HEADINGS[2]), *(len(line.label) for line in lines)])
    kinds = max([len(_HEADINGS[3]), *(len(line.kind) for line in lines)])
    if width is not None and offsets + columns * 3 - 1 + labels + kinds + 8 + _NARROWEST_VALUE > width:
        columns = 4
    hexes = max(columns * 3 - 1, len(_HEADINGS[1]))
    room = _WIDEST_VALUE
    if width is not None:
        room = max(_NARROWEST_VALUE, width - offsets - hexes - labels - kinds - 4 * len(_GAP))
    heading = (
        f"{_HEADINGS[0]:>{offsets}}",
        f"{_HEADINGS[1]:{hexes}}",
        f"{_HEADINGS[2]:{labels}}",
        f"{_HEADINGS[3]:{kinds}}",
        _HEADINGS[4],
    )
    yield paint(_GAP.join(heading), "bold")
    for line in lines:
        shown = line.raw if full else line.raw[:columns]
        rows = [shown[at : at + columns] for at in range(0, len(shown), columns)] or [b""]
        cut = not full and (line.more or len(line.raw) > columns)
        cells = (
            paint(f"{line.offset:>{offsets}}", "dim"),
            _hex(rows[0], cut, hexes, paint),
            paint(f"{line.label:{labels}}", "bold") if line.is_branch else f"{line.label:{labels}}",
            paint(f"{line.kind:{kinds}}", "dim"),
            _value(line, None if full else room, paint),
        )
        yield _GAP.join(cells).rstrip()
        for row in rows[1:]:
            yield f"{'':{offsets}}{_GAP}{_hex(row, False, 0, paint)}"
        if line.fault:
            blank = " " * (offsets + hexes + 2 * len(_GAP) + len(line.label) - len(line.label.lstrip()))
            yield blank + paint(f"^ {line.fault}", "red")


def _lines(space: Space, nodes: Sequence[Node], depth: int, mark: str, full: bool) -> Iterator[_Line]:
    for node in nodes:
        children = node.children()
        heads = [child for child in children if child.framing]
        rest = children[len(heads) :]
        inline = _inline(node, rest, full)
        ends_at = node.end if not children or inline is not None else heads[-1].end if heads else node.offset
        raw = bytes(space.data[node.offset : ends_at if full else min(ends_at, node.offset + _BYTES_A_LINE)])
        kind, value = _shown(node, heads, rest, bool(children))
        yield _Line(
            mark + str(node.offset),
            raw,
            ends_at - node.offset > len(raw),
            "  " * depth + node.name,
            kind,
            inline if inline is not None else value,
            node.note,
            bool(rest) and inline is None,
            str(node.fault or ""),
        )
        if inline is None:
            yield from _lines(space, rest, depth + 1, mark, full)
        if node.inner is not None:
            yield from _lines(node.inner, node.inner.root.children(), depth + 1, ">", full)


def _shown(node: Node, heads: list[Node], rest: Sequence[Node], has_children: bool) -> tuple[str, Any]:
    """Type and value of a node as its own line has them."""
    if node.fault is not None and node.value is None:
        return node.type, _Plain(f"{node.length} byte{'s' if node.length != 1 else ''} undecoded")
    if node.name == "tagged_fields":
        return node.type, _Plain(f"{node.value} set" if node.value else "none")
    if node.type == "tag" and heads:
        return f"tag {node.value}", _Plain(f"{heads[-1].value} bytes")
    if not has_children:
        return node.type, node.value if node.type != "partial batch" else _Plain("")
    if "[]" in node.type or node.type == "records":
        count = node.value
        return node.type, _Plain("none" if not rest else f"{count} element{'s' if count != 1 else ''}")
    if isinstance(node.value, memoryview):
        return node.type, _Plain(f"{len(node.value)} bytes")
    return node.type, _Plain("")


class _Plain(str):
    """Text that is shown as it is."""


def _inline(node: Node, elements: Sequence[Node], full: bool) -> _Plain | None:
    """A short array of plain values in one line, or nothing."""
    if full or not elements or "[]" not in node.type or elements[0].name != "[0]":
        return None
    shown = elements[:_MOST_INLINE]
    if any(each.note or each.fault or each.inner or each.children() for each in shown):
        return None
    text = ", ".join(value_text(each.value, _LONGEST_INLINE) for each in shown)
    if isinstance(elements[0].value, str | memoryview) and (
        len(elements) > _MOST_INLINE or len(text) > _LONGEST_INLINE
    ):
        return None
    more = f", … {len(elements) - len(shown)} more" if len(elements) > len(shown) else ""
    return _Plain(f"[{text}{more}]")


def _hex(raw: bytes, cut: bool, width: int, paint: Paint) -> str:
    text = raw.hex(" ")
    if cut and len(text) + 2 > width:
        text = raw[:-1].hex(" ")
    text += " …" if cut else ""
    return paint(f"{text:{width}}" if width else text, "cyan")


def _value(line: _Line, room: int | None, paint: Paint) -> str:
    note = visible(line.note) if line.note else ""
    if room is not None and len(note) > room:
        note = note[: room - 1] + "…"
    left = None if room is None else max(8, room - len(note) - 3 if note else room)
    if isinstance(line.value, _Plain):
        text = str(line.value)
        if left is not None and len(text) > left:
            text = text[: left - 1] + "…"
    else:
        text = value_text(line.value, left)
    style = "dim" if line.value is None else "green" if text.startswith(('"', 'b"')) else ""
    shown = paint(text, style) if style else text
    if not note:
        return shown
    return f"{shown} {paint(f'({note})', 'yellow')}" if text else paint(note, "yellow")
