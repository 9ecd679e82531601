"""Nodes of a message by its plan, with the same rules as the codec's reader, but separate code on purpose.

Rules:
- The walker decodes bytes itself. Tests compare it with the engine. Only large arrays are measured by the engine.
- The tree ends at the first fault. The leaf of the failed field has all the bytes left.
- Arrays of numbers are expanded on demand. A tree of more than MAX_NODES nodes ends there with a fault.
- With more than LARGE bytes left, an element of an array of structs is only measured, by the engine. Its fields become
  nodes on demand. An element with a fault is walked at once, so the tree has the same nodes either way.
- A scope has the fields of a struct that were already read, because the format of bytes may depend on them.
- A type is written in the schema's notation, with `compact` if lengths are varints: `compact string?`, `[]int32`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kafkawire._codec import decode_prefix
from kafkawire._codec import plan as p
from kafkawire._codec.errors import (
    COUNT,
    LENGTH,
    NEGATIVE,
    NULL,
    TAG_SIZE,
    TAG_VERSION,
    TEXT,
    TRAILING,
    CodecError,
    DecodeError,
    fault,
)
from kafkawire.inspect._explain.cursor import INT8, INT16, INT32, Cursor, StopWalkError, fault_of
from kafkawire.inspect._explain.descriptions import descriptions_of
from kafkawire.inspect._explain.tree import Node
from kafkawire.inspect._explain.value_names import note_on

if TYPE_CHECKING:
    from collections.abc import Callable

    Opener = Callable[["Walker", p.Step, int], "Opening | None"]

MAX_NODES: Final = 1_000_000
LARGE: Final = 64 << 10
_OPENABLE: Final = (p.BYTES, p.RECORDS)
_HAVE_LENGTHS: Final = (p.STRING, p.BYTES, p.RECORDS)


class Opening(NamedTuple):
    """The content of bytes: a function that adds its nodes, and its name."""

    nodes: Callable[[], list[Node]]
    note: str


class Walker(Cursor):
    """Walks one message; `opener` returns the content of its bytes and records, if it is known."""

    __slots__ = ("descriptions", "message", "nodes", "opener", "scopes")

    def __init__(self, view: memoryview, start: int, end: int, message: str, opener: Opener | None) -> None:
        super().__init__(view, start, end)
        self.message, self.opener = message, opener
        self.descriptions = descriptions_of(message)
        self.scopes: list[dict[str, Any]] = []
        self.nodes = 0

    def known(self, *attributes: str) -> Any:
        """The value of the nearest field already read that has one of these names."""
        for scope in reversed(self.scopes):
            for attribute in attributes:
                if attribute in scope:
                    return scope[attribute]
        return None

    def struct(self, plan: p.Plan, node: Node) -> None:
        """The fields of a struct, and its tag section, as children of a node."""
        self.scopes.append({})
        try:
            for step in plan.steps:
                self._field(step, node)
            if plan.flexible:
                self._tags(plan, node)
        finally:
            self.scopes.pop()
            self.close(node)

    def trailing(self, parent: Node) -> None:
        """Bytes after the message are a fault."""
        if self.position < self.border:
            error = fault(TRAILING, self.position, self.border - self.position, 0)
            self.fail(parent, "trailing", "bytes", fault_of(error))

    def _field(self, step: p.Step, parent: Node) -> None:
        try:
            self._read_field(step, parent)
        finally:
            parent.describe_last(self.descriptions.get(step.slot, ""))

    def _read_field(self, step: p.Step, parent: Node) -> None:
        name = step.slot.attribute
        try:
            self._count()
            if step.is_array:
                self._array(step, parent)
            elif step.code == p.STRUCT:
                self._struct_field(step, parent)
            else:
                self.scopes[-1][name] = self._element(step, parent, name, wire_type(step))
        except DecodeError as error:
            self.fail(parent, name, wire_type(step), fault_of(error))
            raise StopWalkError from error

    def _struct_field(self, step: p.Step, parent: Node) -> None:
        assert step.plan is not None
        name = step.slot.attribute
        if not step.nullable:
            self.struct(step.plan, self.branch(parent, name, wire_type(step)))
            return
        start = self.position
        marker = self.fixed(INT8) if step.tag < 0 else self.uvarint() - 1
        if marker < 0:
            self._null(step, -1, start)
            self.leaf(parent, name, wire_type(step), None)
            return
        node = self.branch(parent, name, wire_type(step))
        self.leaf(node, "present", "int8" if step.tag < 0 else "uvarint", True, framing=True)
        self.struct(step.plan, node)

    def _array(self, step: p.Step, parent: Node) -> None:
        name, start = step.slot.attribute, self.position
        count = self.uvarint() - 1 if step.compact else self.fixed(INT32)
        if count < 0:
            self._null(step, count, start)
            self.leaf(parent, name, wire_type(step), None)
            return
        left = self.end - self.position
        if count * step.element_minimum > left:
            raise fault(COUNT, start, count, left // step.element_minimum)
        if step.code in p.FIXED_SIZES:
            self._numbers(step, parent, count)
            return
        node = self.branch(parent, name, wire_type(step), count)
        node.add(_counter(step, start, self.position, count))
        self.covered = self.position
        scopes = [dict(each) for each in self.scopes] if step.plan is not None and left > LARGE else None
        try:
            for index in range(count):
                self._item(step, node, f"[{index}]", scopes)
        finally:
            self.close(node)

    def _item(self, step: p.Step, node: Node, name: str, scopes: list[dict[str, Any]] | None) -> None:
        try:
            self._count()
            if step.plan is not None and scopes is not None and self._measured(step.plan, node, name, scopes):
                return
            if step.plan is not None:
                self.struct(step.plan, self.branch(node, name, item_type(step)))
            else:
                self._element(step, node, name, item_type(step))
        except DecodeError as error:
            self.fail(node, name, item_type(step), fault_of(error))
            raise StopWalkError from error

    def _measured(self, plan: p.Plan, parent: Node, name: str, scopes: list[dict[str, Any]]) -> bool:
        """Add an element whose fields are read on demand; False if it has a fault."""
        start = self.position
        try:
            _, end = decode_prefix(plan, self.view[: self.end], start)
        except CodecError:
            return False
        expand = partial(_fields_of, self.view, self.message, self.opener, plan, scopes, start, end)
        node = Node(name, start, end - start, plan.shape.cls.__name__, expand=expand)
        node.sound = not _opens(plan)
        parent.add(node)
        self.position = self.covered = end
        return True

    def _numbers(self, step: p.Step, parent: Node, count: int) -> None:
        """An array of numbers, whose elements are created on demand."""
        start, first = self.covered, self.position
        self.take(count * p.FIXED_SIZES[step.code])
        self.covered = self.position
        expand = partial(_number_nodes, self.view, self.message, step, start, first, count) if count else None
        node = parent.add(Node(step.slot.attribute, start, self.covered - start, wire_type(step), count, expand=expand))
        if not count:
            node.add(_counter(step, start, first, count))

    def _element(self, step: p.Step, parent: Node, name: str, kind: str) -> Any:
        """One value that is not a struct, as a leaf or as its content."""
        code, start = step.code, self.position
        size = p.FIXED_SIZES.get(code)
        if size is not None:
            self.take(size)
            value = _fixed_value(code, self.view, start)
        else:
            value = self._sized(step)
        opening = None
        if code in _OPENABLE and value and self.opener is not None:
            opening = self.opener(self, step, self.position - len(value))
        if opening is not None:
            self._open(parent, name, kind, value, opening, "uvarint size" if step.compact else "int32 size")
            return value
        note = note_on(self.message, step.slot.attribute)
        self.leaf(parent, name, kind, value, note(value) if note is not None and value is not None else "")
        return value

    def _sized(self, step: p.Step) -> Any:
        code, start = step.code, self.position
        length = self.uvarint() - 1 if step.compact else self.fixed(INT16 if code == p.STRING else INT32)
        if length < 0:
            return self._null(step, length, start)
        if code == p.STRING and length > p.STRING_LIMIT:
            raise fault(TEXT, start, length, 0)
        value = self._bounded(length, start)
        return str(value, "utf-8", "replace") if code == p.STRING else value

    def _open(self, parent: Node, name: str, kind: str, value: memoryview, opening: Opening, size_type: str) -> None:
        start, inside = self.covered, self.position - len(value)
        self.covered = self.position

        def expand() -> list[Node]:
            head = Node("size", start, inside - start, size_type, len(value), framing=True)
            return [head, *opening.nodes()]

        parent.add(Node(name, start, self.position - start, kind, value, opening.note, expand=expand))

    def _tags(self, plan: p.Plan, parent: Node) -> None:
        start = self.position
        try:
            count = self.uvarint()
            if count * 2 > self.end - self.position:
                raise fault(COUNT, start, count, (self.end - self.position) // 2)
        except DecodeError as error:
            self.fail(parent, "tagged_fields", "tags", fault_of(error))
            raise StopWalkError from error
        node = self.branch(parent, "tagged_fields", "tags", count)
        self.leaf(node, "count", "uvarint count", count, framing=True)
        try:
            for index in range(count):
                self._tag(plan, node, f"[{index}]")
        finally:
            self.close(node)

    def _tag(self, plan: p.Plan, parent: Node, name: str) -> None:
        start = self.position
        node = self.branch(parent, name, "tag")
        try:
            self._count()
            tag = self.uvarint()
            if tag in plan.foreign_tags:
                raise fault(TAG_VERSION, start, tag, 0)
            node.value = tag
            self.leaf(node, "tag", "uvarint tag", tag, framing=True)
            at = self.position
            size = self.uvarint()
            if size > self.end - self.position:
                raise fault(LENGTH, at, size, self.end - self.position)
            self.leaf(node, "size", "uvarint size", size, framing=True)
            self._tag_value(next((step for step in plan.tagged if step.tag == tag), None), node, size)
        except DecodeError as error:
            self.fail(node, "value", "tag", fault_of(error))
            raise StopWalkError from error
        finally:
            self.close(node)

    def _tag_value(self, step: p.Step | None, node: Node, size: int) -> None:
        start = self.position
        if step is None:
            self.leaf(node, "unknown", "bytes", self.take(size), "a tag that the schema does not know")
            return
        outer, self.end = self.end, start + size
        self._field(step, node)
        if self.position != self.end:
            raise fault(TAG_SIZE, start, size, self.position - start)
        self.end = outer

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise DecodeError(self.position, f"a message of at most {MAX_NODES} fields to show", "more")

    def _bounded(self, length: int, start: int) -> memoryview:
        left = self.end - self.position
        if length > left:
            raise fault(LENGTH, start, length, left)
        return self.take(length)

    def _null(self, step: p.Step, length: int, start: int) -> None:
        if length < -1:
            raise fault(NEGATIVE, start, length, 0)
        if not step.nullable:
            raise fault(NULL, start, 0, 0)


def _fields_of(
    view: memoryview,
    message: str,
    opener: Opener | None,
    plan: p.Plan,
    scopes: list[dict[str, Any]],
    start: int,
    end: int,
) -> list[Node]:
    """The fields of an element that was only measured."""
    walker = Walker(view, start, end, message, opener)
    walker.scopes = list(scopes)
    node = Node("", start, 0, "")
    with suppress(StopWalkError):
        walker.struct(plan, node)
    return list(node.children())


@cache
def _opens(plan: p.Plan) -> bool:
    """Whether a struct has bytes or records, whose content may have faults of its own."""
    steps = (*plan.steps, *plan.tagged)
    return any(step.code in _OPENABLE or (step.plan is not None and _opens(step.plan)) for step in steps)


def _counter(step: p.Step, start: int, end: int, count: int) -> Node:
    return Node("count", start, end - start, "uvarint count" if step.compact else "int32 count", count, framing=True)


def _number_nodes(view: memoryview, message: str, step: p.Step, start: int, first: int, count: int) -> list[Node]:
    kind, note, size = item_type(step), note_on(message, step.slot.attribute), p.FIXED_SIZES[step.code]
    nodes = [_counter(step, start, first, count)]
    for index in range(count):
        at = first + index * size
        value = _fixed_value(step.code, view, at)
        nodes.append(Node(f"[{index}]", at, size, kind, value, note(value) if note else ""))
    return nodes


def _fixed_value(code: int, view: memoryview, at: int) -> Any:
    form = p.FORMATS.get(code)
    if form is not None:
        return form.unpack_from(view, at)[0]
    return UUID(bytes=bytes(view[at : at + 16])) if code == p.UUID else view[at] != 0


@cache
def wire_type(step: p.Step) -> str:
    """The type of a field in one version."""
    compact = step.compact and (step.is_array or step.code in _HAVE_LENGTHS)
    array = "[]" if step.is_array else ""
    return f"{'compact ' if compact else ''}{array}{element_type(step)}{'?' if step.nullable else ''}"


@cache
def element_type(step: p.Step) -> str:
    """The type of the elements of a field, or of the field itself, without the kind of its length."""
    return p.NAMES[step.code] if step.plan is None else step.plan.shape.cls.__name__


@cache
def item_type(step: p.Step) -> str:
    """The type of one element on the wire."""
    return ("compact " if step.compact and step.code in _HAVE_LENGTHS else "") + element_type(step)
