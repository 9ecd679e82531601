"""A tree as lines: what each shows, before anything is aligned or cut.

Rules:
- What frames a node (count, size, marker, tag) shares the node's line.
- A short array of plain values is one line, unless `full`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect.render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.inspect.tree import Node, Space

SHOWN_BYTES: Final = 8
_LONGEST_INLINE: Final = 72


class Plain(str):
    """Text that is shown as it is, in the place of a value."""

    __slots__ = ()


@dataclass(slots=True)
class Line:
    """One line: `raw` is what is shown of the bytes, `more` says that there are others."""

    offset: str
    raw: bytes
    more: bool
    label: str
    kind: str
    value: Any
    note: str
    is_branch: bool
    fault: str


def tree_lines(space: Space, *, full: bool) -> Iterator[Line]:
    """The lines of a tree, those of inner spaces below the bytes they were unpacked from."""
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
        yield Line(
            offset=mark + str(node.offset),
            raw=raw,
            more=end - node.offset > len(raw),
            label="  " * depth + node.name,
            kind=kind,
            value=value if inline is None else inline,
            note=node.note,
            is_branch=bool(rest) and inline is None,
            fault=str(node.fault or ""),
        )
        if inline is None:
            yield from _lines(space, rest, depth + 1, mark, full)
        if node.inner is not None:
            yield from _lines(node.inner, node.inner.root.children(), depth + 1, ">", full)


def _shown(node: Node, heads: list[Node], rest: Sequence[Node], has_children: bool) -> tuple[str, Any]:
    """Type and value of a node as its own line has them."""
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
    """An array of plain values in one line, if they are numbers or short enough to be all shown; else nothing."""
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
