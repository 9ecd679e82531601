"""Nodes of records in format 2.

Rules:
- The length of a record bounds the faults inside it. An impossible length ends its batch.
- Fields of records are created on demand. A batch shows at most MAX_RECORDS records; the rest is one leaf.
- Keys and values are decoded if the topic or the batch gives their format.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kafkawire._codec.errors import DecodeError
from kafkawire.inspect._explain.cursor import INT8, INT16, INT64, Cursor, StopWalkError, fault_of, read_varint
from kafkawire.inspect._explain.descriptions import HEADER, RECORD, described
from kafkawire.inspect._explain.payloads import add_payload, open_key, open_value, take_payload
from kafkawire.inspect._explain.tree import Fault, Node
from kafkawire.inspect._explain.value_names import utc
from kafkawire.records.layout import (
    APPEND_TIME,
    ATTRIBUTES_AT,
    BASE_OFFSET_AT,
    BASE_TIMESTAMP_AT,
    CONTROL,
    MAX_TIMESTAMP_AT,
)

MAX_RECORDS: Final = 200_000
_SMALLEST_RECORD: Final = 6


class BatchContext:
    """The fields of a batch that its records need."""

    __slots__ = ("attributes", "base_offset", "base_timestamp", "is_cut", "max_timestamp", "topic")

    def __init__(self, view: memoryview, start: int, topic: str | None, *, is_cut: bool = False) -> None:
        self.is_cut = is_cut
        self.base_offset: int = INT64.unpack_from(view, start + BASE_OFFSET_AT)[0]
        self.attributes: int = INT16.unpack_from(view, start + ATTRIBUTES_AT)[0]
        self.base_timestamp: int = INT64.unpack_from(view, start + BASE_TIMESTAMP_AT)[0]
        self.max_timestamp: int = INT64.unpack_from(view, start + MAX_TIMESTAMP_AT)[0]
        self.topic = topic

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    def time_of(self, delta: int) -> str:
        if self.attributes & APPEND_TIME:
            return f"{utc(self.max_timestamp)}, the time of appending"
        return utc(self.base_timestamp + delta)


def explain_records(view: memoryview, start: int, end: int, batch: BatchContext, count: int) -> list[Node]:
    """The records of a batch, or the fault in their place."""
    nodes: list[Node] = []
    position = start
    while position < end:
        name = f"[{len(nodes)}]"
        problem, behind = _record_end(view, position, end, len(nodes), count)
        if problem is not None and batch.is_cut and len(nodes) < count:
            expand = partial(_record, view, position, end, batch)
            nodes.append(Node(name, position, end - position, "partial record", expand=expand))
            return nodes
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
    described(root.children(), RECORD)
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
        described(node.children(), HEADER)
