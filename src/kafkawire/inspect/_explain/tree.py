"""The tree that explains every byte of a buffer.

Rules:
- A space is a buffer and its nodes. Every byte is in exactly one leaf, in order and without gaps.
- A node without children is a leaf and has the value. The length before a string or bytes is part of its leaf.
- A count, size, null marker or tag before a value with children is a leaf of its own, marked `framing`, before them.
- Compressed bytes are one leaf. The decompressed bytes are a separate space, `inner`, with its own offsets.
- A fault marks the first invalid byte. Its leaf covers everything up to the next known border.
- Children of batches, records and number arrays are created on each call and not kept. So a walk over a large frame
  needs little memory. Keep the result of `children()` if you need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Fault:
    """Why bytes are invalid: where, what was expected, what was found."""

    offset: int
    expected: str
    found: str

    def __str__(self) -> str:
        return f"expected {self.expected}, found {self.found} at offset {self.offset}"


class Node:
    """A span of a space: a leaf with a value, or a parent of smaller spans.

    `type` is the type on the wire, `note` explains the value, and `description` the field. `sound` nodes have no fault
    below them.
    """

    __slots__ = (
        "_children",
        "_expand",
        "description",
        "fault",
        "framing",
        "inner",
        "length",
        "name",
        "note",
        "offset",
        "sound",
        "type",
        "value",
    )

    def __init__(
        self,
        name: str,
        offset: int,
        length: int,
        kind: str,
        value: Any = None,
        note: str = "",
        *,
        expand: Callable[[], list[Node]] | None = None,
        framing: bool = False,
        fault: Fault | None = None,
        inner: Space | None = None,
    ) -> None:
        self.name, self.offset, self.length = name, offset, length
        self.type, self.value, self.note = kind, value, note
        self.description = ""
        self.sound = False
        self.framing, self.fault, self.inner = framing, fault, inner
        self._children: list[Node] | None = None
        self._expand = expand

    @property
    def end(self) -> int:
        return self.offset + self.length

    def children(self) -> Sequence[Node]:
        """The children of the node, in order; empty for a leaf."""
        return self._expand() if self._expand is not None else self._children or ()

    def add(self, child: Node) -> Node:
        """Append a child."""
        if self._children is None:
            self._children = [child]
        else:
            self._children.append(child)
        return child

    def set_children(self, children: list[Node]) -> None:
        """Replace the children; a node without children is a leaf."""
        self._children, self._expand = children, None

    def describe_last(self, text: str) -> None:
        """Set the description of the child that was appended last."""
        if self._children:
            self._children[-1].description = text

    def __repr__(self) -> str:
        return f"<{self.name or 'root'} {self.type} at {self.offset}+{self.length}: {self.value!r}>"


class Leaf(NamedTuple):
    """One run of bytes with its meaning."""

    path: str
    offset: int
    length: int
    raw: memoryview
    type: str
    value: Any
    note: str
    fault: Fault | None


class Visit(NamedTuple):
    """A node of a walk, with its path, its depth and its space."""

    path: str
    depth: int
    node: Node
    space: Space
    children: Sequence[Node]


@dataclass(slots=True)
class Space:
    """A buffer and the tree of its bytes."""

    title: str
    data: memoryview
    root: Node
    holes: tuple[tuple[int, int], ...] = ()
    """Offsets and lengths of bytes that the input does not give. They are zeros in `data`."""
    holes_have_notes: bool = False
    """Whether the notes of holes describe them; other holes have the notes of zeros."""

    def is_known(self, start: int, end: int) -> bool:
        """Whether a span has no hole."""
        return not any(offset < end and start < offset + length for offset, length in self.holes)

    def leaves(self) -> Iterator[Leaf]:
        """Every leaf of this space, in order, without those of inner spaces.

        >>> from kafkawire.inspect._explain.explain import explain_message
        >>> [(leaf.path, leaf.value) for leaf in explain_message(bytes(6), "HeartbeatResponse", 1).space.leaves()]
        [('throttle_time_ms', 0), ('error_code', 0)]
        """
        for visit in walk(self, inner=False):
            if not visit.children and (visit.node.length or visit.node.fault):
                node = visit.node
                raw = self.data[node.offset : node.end]
                yield Leaf(visit.path, node.offset, node.length, raw, node.type, node.value, node.note, node.fault)

    def faults(self) -> Iterator[Visit]:
        """Every node with a fault, including those of inner spaces."""
        return (visit for visit in walk(self, sound=False) if visit.node.fault is not None)


def walk(space: Space, *, inner: bool = True, sound: bool = True) -> Iterator[Visit]:
    """Every node below the root, parents first; an inner space follows the leaf of its compressed bytes.

    Without `sound`, nodes that cannot have a fault below them are visited without their children.
    """
    stack = [(iter(space.root.children()), "", space)]
    while stack:
        nodes, prefix, current = stack[-1]
        node = next(nodes, None)
        if node is None:
            stack.pop()
            continue
        path, children = joined(prefix, node.name), node.children() if sound or not node.sound else ()
        yield Visit(path, len(stack) - 1, node, current, children)
        if children:
            stack.append((iter(children), path, current))
        elif inner and node.inner is not None:
            stack.append((iter(node.inner.root.children()), path, node.inner))


def joined(prefix: str, name: str) -> str:
    """The path of a node below another: names are joined by dots, indexes are not.

    >>> joined("topics", "[0]"), joined("topics[0]", "name"), joined("", "name")
    ('topics[0]', 'topics[0].name', 'name')
    """
    return prefix + name if not prefix or name[:1] == "[" else f"{prefix}.{name}"
