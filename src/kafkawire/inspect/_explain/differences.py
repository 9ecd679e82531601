"""The differences between two trees, by the paths of their fields.

Rules:
- Fields are compared by name, so inserted bytes shift nothing. Elements of an array are aligned by their content, so an
  inserted element is one difference, and the elements behind it are equal.
- Counts and sizes that only frame other values are not compared, because they follow from those.
- A parent that only one tree has is one difference, not one per field.
- Offsets are those of each tree. Decompressed bytes are compared instead of the compressed ones. So the same records
  in two codecs differ in the attributes of the batch only.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal

from kafkawire.inspect._explain.tree import joined
from kafkawire.inspect._render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.inspect._explain.tree import Node, Space

MOST_ALIGNED: Final = 1_000
_SHOWN: Final = 200
_HEADS: Final = ("size", "length", "batch_length", "crc")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a difference: a node, the text of its value, and the space that it is in."""

    node: Node
    space: Space

    @property
    def text(self) -> str:
        node = self.node
        if node.children():
            return f"{node.length} bytes"
        text = value_text(node.value, _SHOWN)
        return f"{text} ({node.note})" if node.note else text


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that differs: `added` and `removed` have one side, `changed` has two. The path is that of either side."""

    kind: Literal["added", "removed", "changed"]
    path: str
    before: Side | None
    after: Side | None


def differences(before: Space, after: Space) -> Iterator[Difference]:
    """The differences between two trees, in the order of their fields.

    >>> from kafkawire.inspect._explain.explain import explain_message
    >>> old, new = (explain_message(bytes(5) + bytes([code]), "HeartbeatResponse", 1).space for code in (0, 27))
    >>> [(each.kind, each.path, each.before.text, each.after.text) for each in differences(old, new)]
    [('changed', 'error_code', '0 (NONE)', '27 (REBALANCE_IN_PROGRESS)')]
    """
    return _between(before.root, before, after.root, after, "")


def _between(one: Node, one_space: Space, two: Node, two_space: Space, path: str) -> Iterator[Difference]:
    if one.inner is not None or two.inner is not None:
        left_root, left_space = (one, one_space) if one.inner is None else (one.inner.root, one.inner)
        right_root, right_space = (two, two_space) if two.inner is None else (two.inner.root, two.inner)
        yield from _between(left_root, left_space, right_root, right_space, path)
        return
    left, right = _children(one), _children(two)
    if not left and not right:
        if not _same(one, one_space, two, two_space):
            yield Difference("changed", path, Side(one, one_space), Side(two, two_space))
        return
    pairs = _aligned(left, one_space, right, two_space) if _are_elements(left, right) else _named(left, right)
    for first, second in pairs:
        inside = joined(path, (second or first or one).name)
        if first is None:
            yield Difference("added", inside, None, None if second is None else Side(second, two_space))
        elif second is None:
            yield Difference("removed", inside, Side(first, one_space), None)
        else:
            yield from _between(first, one_space, second, two_space, inside)


def _children(node: Node) -> list[Node]:
    return [each for each in node.children() if not each.framing and each.name not in _HEADS]


def _are_elements(left: Sequence[Node], right: Sequence[Node]) -> bool:
    return all(each.name[:1] == "[" for each in (*left[:1], *right[:1]))


def _named(left: Sequence[Node], right: Sequence[Node]) -> Iterator[tuple[Node | None, Node | None]]:
    """Fields by their names, in the order of the second side; removed ones follow the field before them."""
    there = {each.name: each for each in left}
    own = {each.name for each in right}
    waiting = iter(left)
    for each in right:
        if each.name in there:
            for first in waiting:
                if first.name == each.name:
                    break
                if first.name not in own:
                    yield first, None
        yield there.get(each.name), each
    yield from ((first, None) for first in waiting if first.name not in own)


def _aligned(
    left: Sequence[Node], one: Space, right: Sequence[Node], two: Space
) -> Iterator[tuple[Node | None, Node | None]]:
    """Elements by their content; those of a changed run in their order."""
    if max(len(left), len(right)) > MOST_ALIGNED:
        runs = [("replace", 0, len(left), 0, len(right))]
    else:
        matcher = SequenceMatcher(None, [_content(each, one) for each in left], [_content(each, two) for each in right])
        matcher_runs = matcher.get_opcodes()
        runs = [(str(kind), a, b, c, d) for kind, a, b, c, d in matcher_runs]
    for kind, a, b, c, d in runs:
        if kind == "equal":
            continue
        both = min(b - a, d - c)
        yield from zip(left[a : a + both], right[c : c + both], strict=True)
        yield from ((each, None) for each in left[a + both : b])
        yield from ((None, each) for each in right[c + both : d])


def _content(node: Node, space: Space) -> bytes:
    return bytes(space.data[node.offset : node.end])


def _same(one: Node, one_space: Space, two: Node, two_space: Space) -> bool:
    if one.value is not None and two.value is not None and not isinstance(one.value, memoryview):
        return bool(one.value == two.value) and (one.fault is None) == (two.fault is None)
    return _content(one, one_space) == _content(two, two_space) or (
        isinstance(one.value, memoryview) and isinstance(two.value, memoryview) and one.value == two.value
    )
