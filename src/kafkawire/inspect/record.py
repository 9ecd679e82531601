"""Records of format 2 to nodes.

Rules:
- A record's own length bounds what is wrong inside it; a length that cannot be ends its batch.
- A record's fields are made when asked for. Of a batch at most MAX_RECORDS records are shown; the rest is one leaf.
- Keys and values are opened where the topic or the batch tells what they hold.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kafkawire.codec.errors import DecodeError
from kafkawire.inspect.cursor import INT8, INT16, INT64, Cursor, StopWalkError, fault_of, read_varint
from kafkawire.inspect.notes import utc
from kafkawire.inspect.payloads import add_payload, open_key, open_value, take_payload
from kafkawire.inspect.tree import Fault, Node

MAX_RECORDS: Final = 200_000
_SMALLEST_RECORD: Final = 6
_CONTROL: Final = 32


class BatchContext:
    """What records need to know of their batch."""

    __slots__ = ("attributes", "base_offset", "base_timestamp", "max_timestamp", "topic")

    def __init__(self, view: memoryview, start: int, topic: str | None) -> None:
        self.base_offset: int = INT64.unpack_from(view, start)[0]
        self.attributes: int = INT16.unpack_from(view, start + 21)[0]
        self.base_timestamp: int = INT64.unpack_from(view, start + 27)[0]
        self.max_timestamp: int = INT64.unpack_from(view, start + 35)[0]
        self.topic = topic

    @property
    def is_control(self) -> bool:
        return self.attributes & _CONTROL != 0

    def time_of(self, delta: int) -> str:
        if self.attributes & 8:
            return f"{utc(self.max_timestamp)}, the time of appending"
        return utc(self.base_timestamp + delta)


def explain_records(view: memoryview, start: int, end: int, batch: BatchContext, count: int) -> list[Node]:
    """The records of a batch, or what is wrong where they should be."""
    nodes: list[Node] = []
    position = start
    while position < end:
        name = f"[{len(nodes)}]"
        problem, behind = _record_end(view, position, end, len(nodes), count)
        if problem is not None:
            nodes.append(Node(name, position, end - position, "bytes", view[position:end], fault=problem))
            return nodes
        if len(nodes) == MAX_RECORDS:
            note = f"more than {MAX_RECORDS} records; the rest is not shown"
            nodes.append(Node(name, position, end - position, "bytes", view[position:end], note))
            return nodes
        expand = partial(_record, view, position, behind, batch)
        nodes.append(Node(name, position, behind - position, "record", expand=expand))
        position = behind
    if len(nodes) < count:
        problem = Fault(end, f"{count} records", str(len(nodes)))
        nodes.append(Node(f"[{len(nodes)}]", end, 0, "record", fault=problem))
    return nodes


def _record_end(view: memoryview, start: int, end: int, seen: int, count: int) -> tuple[Fault | None, int]:
    if seen >= count:
        return Fault(start, f"the end after {max(count, 0)} records", f"{end - start} bytes more"), start
    try:
        length, position = read_varint(view, start, end)
    except DecodeError as error:
        return fault_of(error), start
    if not _SMALLEST_RECORD <= length <= end - position:
        return Fault(start, f"a record length of 6 to {end - position}", str(length)), start
    return None, position + length


def _record(view: memoryview, start: int, end: int, batch: BatchContext) -> list[Node]:
    root = Node("", start, end - start, "record")
    cursor = Cursor(view, start, end)
    name, kind = "length", "varint"
    try:
        cursor.leaf(root, name, kind, cursor.varint())
        name, kind = "attributes", "int8"
        cursor.leaf(root, name, kind, cursor.fixed(INT8))
        name, kind = "timestamp_delta", "varlong"
        delta = cursor.varint(10)
        cursor.leaf(root, name, kind, delta, batch.time_of(delta))
        name, kind = "offset_delta", "varint"
        delta = cursor.varint()
        cursor.leaf(root, name, kind, delta, f"offset {batch.base_offset + delta}")
        name, kind = "key", "varint bytes?"
        key = take_payload(cursor, cursor.varint())
        opening = open_key(batch.topic, batch.is_control, view, cursor.position, key)
        add_payload(cursor, root, name, kind, key, opening)
        name = "value"
        value = take_payload(cursor, cursor.varint())
        opening = open_value(batch.topic, batch.is_control, view, cursor.position, key, value)
        add_payload(cursor, root, name, kind, value, opening)
        name, kind = "headers", "varint []header"
        _add_headers(cursor, root)
        if cursor.position < end:
            name, kind = "trailing", "bytes"
            raise DecodeError(cursor.position, "the end of the record", f"{end - cursor.position} bytes more")
    except DecodeError as error:
        cursor.fail(root, name, kind, fault_of(error))
    except StopWalkError:
        pass
    return list(root.children())


def _add_headers(cursor: Cursor, root: Node) -> None:
    start = cursor.position
    count, left = cursor.varint(), cursor.end - cursor.position
    if not 0 <= count * 2 <= left:
        raise DecodeError(start, f"at most {left // 2} headers in the bytes left", str(count))
    node = cursor.branch(root, "headers", "varint []header", count)
    cursor.leaf(node, "count", "varint count", count, framing=True)
    try:
        for index in range(count):
            _add_header(cursor, node, f"[{index}]")
    finally:
        cursor.close(node)


def _add_header(cursor: Cursor, headers: Node, index: str) -> None:
    node = cursor.branch(headers, index, "header")
    name, kind = "key", "varint string"
    try:
        key = take_payload(cursor, cursor.varint())
        if key is None:
            raise DecodeError(cursor.covered, "a header key", "null")
        cursor.leaf(node, name, kind, str(key, "utf-8", "replace"))
        name, kind = "value", "varint bytes?"
        cursor.leaf(node, name, kind, take_payload(cursor, cursor.varint()))
    except DecodeError as error:
        cursor.fail(node, name, kind, fault_of(error))
        raise StopWalkError from error
    finally:
        cursor.close(node)
