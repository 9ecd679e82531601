"""A cursor that reads a span of bytes leaf by leaf.

Rules:
- A leaf covers everything read since the last leaf, so the leaves cover all bytes that were read.
- The codec raises DecodeError. `fail` turns it into a leaf with all the bytes left.
- A cursor never reads past its `end`, which may be narrowed for a while. `border` is the end of its span.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from kafkawire._codec.errors import PAST_END, DecodeError, fault
from kafkawire._codec.varint import read_uvarint
from kafkawire.inspect._explain.tree import Fault, Node

if TYPE_CHECKING:
    from collections.abc import Callable

INT8: Final = struct.Struct(">b")
INT16: Final = struct.Struct(">h")
INT32: Final = struct.Struct(">i")
UINT32: Final = struct.Struct(">I")
INT64: Final = struct.Struct(">q")


class StopWalkError(Exception):
    """Raised when the bytes are invalid and their fault is in the tree; the owner of the span continues after it."""


class Cursor:
    """A position in a span of bytes, and the end of the last leaf."""

    __slots__ = ("border", "covered", "end", "position", "view")

    def __init__(self, view: memoryview, start: int, end: int) -> None:
        self.view, self.position, self.covered = view, start, start
        self.end = self.border = end

    def leaf(self, parent: Node, name: str, kind: str, value: Any, note: str = "", *, framing: bool = False) -> Node:
        """Add a leaf with everything read since the last one."""
        start = self.covered
        self.covered = self.position
        return parent.add(Node(name, start, self.position - start, kind, value, note, framing=framing))

    def fail(self, parent: Node, name: str, kind: str, problem: Fault, note: str = "") -> None:
        """Add a leaf with all bytes left and its fault, and move the cursor to the end."""
        self.position = self.border
        self.leaf(parent, name, kind, None, note).fault = problem

    def branch(
        self, parent: Node, name: str, kind: str, value: Any = None, *, expand: Callable[[], list[Node]] | None = None
    ) -> Node:
        """Add a node for children; `close` sets its length."""
        return parent.add(Node(name, self.covered, 0, kind, value, expand=expand))

    def close(self, node: Node) -> None:
        node.length = self.covered - node.offset

    def fixed(self, form: struct.Struct) -> Any:
        """A number of fixed size."""
        position = self.position
        if self.end - position < form.size:
            raise fault(PAST_END, position, form.size, self.end - position)
        self.position = position + form.size
        return form.unpack_from(self.view, position)[0]

    def take(self, length: int) -> memoryview:
        """The next bytes."""
        start = self.position
        if self.end - start < length:
            raise fault(PAST_END, start, length, self.end - start)
        self.position = start + length
        return self.view[start : start + length]

    def uvarint(self) -> int:
        """An unsigned varint of 32 bits."""
        value, self.position = read_uvarint(self.view, self.position, self.end)
        return value

    def varint(self, longest: int = 5) -> int:
        """A zigzag varint of 32 bits, or of 64 with `longest` 10."""
        value, self.position = read_varint(self.view, self.position, self.end, longest)
        return value


def read_varint(view: memoryview, position: int, end: int, longest: int = 5) -> tuple[int, int]:
    """A zigzag varint and the position after it.

    >>> read_varint(memoryview(bytes.fromhex("03")), 0, 1), read_varint(memoryview(bytes.fromhex("d804")), 0, 2)
    ((-2, 1), (300, 2))
    """
    result = shift = 0
    for index in range(position, min(end, position + longest)):
        byte = view[index]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            result &= 0xFFFFFFFFFFFFFFFF if longest > 5 else 0xFFFFFFFF
            return (result >> 1) ^ -(result & 1), index + 1
        shift += 7
    if end - position < longest:
        raise fault(PAST_END, position, end - position + 1, end - position)
    raise DecodeError(position, f"a varint of at most {longest} bytes", "a longer one")


def fault_of(error: DecodeError) -> Fault:
    """The fault for a DecodeError."""
    return Fault(error.offset, error.expected, error.found)
