"""A tree as lines, before they are aligned or shortened.

Rules:
- The count, size, marker or tag of a node is on the line of the node.
- Without `full`, a short array of plain values is one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.inspect._explain.tree import Node, Space

SHOWN_BYTES: Final = 8
_LONGEST_INLINE: Final = 72
_PLACEHOLDER: Final = "placeholder in the input"


class Plain(str):
    """Text that is shown in place of a value."""

    __slots__ = ()


@dataclass(slots=True)
class Line:
    """One line: `raw` has the bytes to show, and `more` is set if there are others."""

    offset: str
    raw: bytes
    more: bool
    label: str
    kind: str
    value: Any
    note: str
    is_branch: bool
    fault: str
    description: str = ""
    unknown: frozenset[int] = frozenset()
    """The places in `raw` that are placeholders."""


def tree_lines(space: Space, *, full: bool) -> Iterator[Line]:
    """The lines of a tree; those of an inner space follow the line of its compressed bytes."""
    return _lines(space, space.root.children(), 0, "", full)


def _lines(space: Space, nodes: Sequence[Node], depth: int, mark: str, full: bool) -> Iterator[Line]:
    for node in nodes:
        children = node.children()
        heads = [child for child in children if child.framing]
        rest = children[len(heads) :]
        inline = _inline(node, rest, full)
        end = node.end if not children or inline is not None else heads[-1].end if heads else node.offset
        raw = bytes(space.data[node.offset : end if full else min(end, node.offset + SHOWN_BYTES)])
        kind, value = _shown(node, heads, rest, bool(children))
        is_known = space.is_known(node.offset, end)
        if not is_known:
            value, inline = Plain(""), None if inline is None else Plain("")
        yield Line(
            offset=mark + str(node.offset),
            raw=raw,
            more=end - node.offset > len(raw),
            label="  " * depth + node.name,
            kind=kind,
            value=value if inline is None else inline,
            note=node.note if is_known or space.holes_have_notes else _PLACEHOLDER,
            is_branch=bool(rest) and inline is None,
            fault=str(node.fault or ""),
            description=node.description,
            unknown=frozenset(
                at for at in range(len(raw)) if not space.is_known(node.offset + at, node.offset + at + 1)
            )
            if space.holes
            else frozenset(),
        )
        if inline is None:
            yield from _lines(space, rest, depth + 1, mark, full)
        if node.inner is not None:
            yield from _lines(node.inner, node.inner.root.children(), depth + 1, ">", full)


def _shown(node: Node, heads: list[Node], rest: Sequence[Node], has_children: bool) -> tuple[str, Any]:
    """The type and the value on the line of a node."""
    if node.fault is not None and node.value is None:
        return node.type, Plain(f"{_counted(node.length, 'byte')} undecoded")
    if node.name == "tagged_fields":
        return node.type, Plain(f"{node.value} set" if node.value else "none")
    if node.type == "tag" and heads:
        return f"tag {node.value}", Plain(_counted(heads[-1].value, "byte"))
    if not node.length:
        return node.type, Plain("empty")
    if not has_children:
        return node.type, node.value if node.type != "partial batch" else Plain("")
    if node.type == "records":
        return node.type, Plain(_counted(len(rest), "record"))
    if "[]" in node.type:
        return node.type, Plain(_counted(node.value, "element") if rest else "none")
    if isinstance(node.value, memoryview):
        return node.type, Plain("" if node.note else _counted(len(node.value), "byte"))
    return node.type, Plain("")


def _inline(node: Node, elements: Sequence[Node], full: bool) -> Plain | None:
    """An array of plain values as one line, if they are numbers or short enough; else an empty text."""
    if full or not elements or "[]" not in node.type or elements[0].name != "[0]":
        return None
    shown: list[str] = []
    length = 0
    for each in elements:
        if each.note or each.fault or each.inner or each.children():
            return None
        shown.append(value_text(each.value, _LONGEST_INLINE))
        length += len(shown[-1]) + 2
        if length > _LONGEST_INLINE:
            if isinstance(each.value, str | memoryview):
                return None
            shown[-1] = f"… {len(elements) - len(shown) + 1} more"
            break
    return Plain(f"[{', '.join(shown)}]")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
