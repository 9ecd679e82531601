"""Nodes as rows for the page: short keys, values as text, levels as they are opened.

Rules:
- A value is text, so 64-bit numbers keep every digit. It is cut at SHOWN characters; `value_of` returns the rest.
- The first answer has the levels that fit in FIRST rows. A level has at most WINDOW rows; the page asks for others.
- `k` is the number of children, `c` has those that are sent, from the first one on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect import fields_of, value_text
from kafkawire.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.inspect import ExplainedNode, Explanation, WireField
    from kafkawire.web._bytes.document import Document, Place

FIRST: Final = 1_200
WINDOW: Final = 200
SHOWN: Final = 120
LARGEST_VALUE: Final = 16 << 10
_OPENED: Final = 60


def row_of(document: Document, place: Place) -> dict[str, Any]:
    """A node as a row, without its children."""
    node = place.node
    children = document.children(place)
    row: dict[str, Any] = {
        "id": place.id,
        "n": node.name or document.frames[place.frame].title,
        "o": node.offset,
        "l": node.length,
        "t": node.type,
    }
    row |= {"b": place.buffer, "k": len(children), "v": _shown(node, children), "p": place.path}
    if node.note:
        row["x"] = node.note
    if node.description:
        row["d"] = node.description
    if node.framing:
        row["h"] = True
    if node.fault is not None:
        fault = node.fault
        row["f"] = {"o": fault.offset, "expected": fault.expected, "found": fault.found}
    if node.inner is not None:
        row["u"] = len(node.inner.data)
    return row


def window(document: Document, place: Place, start: int, count: int) -> list[dict[str, Any]]:
    """Some children of a node as rows."""
    children = document.children(place)
    span = range(max(start, 0), min(start + min(count, WINDOW), len(children)))
    return [row_of(document, document.below(place, number, children[number])) for number in span]


def first_rows(document: Document) -> list[dict[str, Any]]:
    """The frames with as many levels as fit, level by level."""
    roots = document.roots()[:WINDOW]
    rows = [row_of(document, each) for each in roots]
    waiting = list(zip(roots, rows, strict=True))
    left = FIRST - len(rows)
    while waiting and left > 0:
        place, row = waiting.pop(0)
        children = document.children(place)
        if not children or (len(children) > _OPENED and place.path):
            continue
        inside = window(document, place, 0, min(WINDOW, left))
        row["c"] = inside
        left -= len(inside)
        waiting += [(document.below(place, number, children[number]), each) for number, each in enumerate(inside)]
    return rows


def value_of(node: ExplainedNode, start: int = 0) -> dict[str, Any]:
    """A window of the whole value as text, in characters."""
    text = value_text(node.value)
    return {"text": text[start : start + LARGEST_VALUE], "start": start, "length": len(text)}


def field_of(frame: Explanation, path: str) -> WireField | None:
    """The field of the schema that a path of the body names."""
    plain = "".join(part.partition("]")[2] if number else part for number, part in enumerate(path.split("[")))
    if frame.version < 0 or not frame.message:
        return None
    known = _fields(frame.message, frame.version)
    return known.get(plain.removeprefix("body."))


def _shown(node: ExplainedNode, children: Sequence[ExplainedNode]) -> str:
    if node.fault is not None and node.value is None:
        return f"{node.length} bytes, not decoded"
    if node.type == "tags":
        return f"{node.value} set" if node.value else "none"
    if node.inner is not None:
        return f"{node.length} bytes, {len(node.inner.data)} unpacked"
    if "[]" in node.type or node.type == "records":
        count = sum(not each.framing for each in children) if len(children) < SHOWN else len(children)
        return f"{count} element{'s' if count != 1 else ''}" if node.value is not None else "null"
    if node.type == "record":
        return _record_text(children)
    if children:
        return ""
    return value_text(node.value, SHOWN) if node.length or node.value is not None else "empty"


def _record_text(children: Sequence[ExplainedNode]) -> str:
    """A record in one line: key and value."""
    held = {each.name: each.value for each in children if each.name in ("key", "value")}
    return " → ".join(value_text(held.get(name), SHOWN // 2) for name in ("key", "value"))


@cache
def _fields(message: str, version: int) -> dict[str, WireField]:
    return {field.path: field for field in fields_of(message_class(message).__schema__, version)}
