"""Nodes of messages in formats 0 and 1.

Rules:
- A message with a codec is a wrapper. Its value is a compressed message set, explained in an inner space.
- Inside a wrapper, format 1 has relative offsets. The offset of the wrapper is that of its last message.
- A message inside a wrapper is not decompressed again, because Kafka has no second level and hostile bytes could have
  many.
"""

from __future__ import annotations

from functools import partial
from zlib import crc32

from kafkawire._codec.errors import DecodeError
from kafkawire.inspect._explain.cursor import INT8, INT32, INT64, UINT32, Cursor, fault_of
from kafkawire.inspect._explain.decompressed import codec_name, open_packed
from kafkawire.inspect._explain.descriptions import MESSAGE, described
from kafkawire.inspect._explain.payloads import add_payload, open_key, open_value, take_payload
from kafkawire.inspect._explain.tree import Fault, Node
from kafkawire.inspect._explain.value_names import utc
from kafkawire.records.layout import (
    APPEND_TIME,
    CODEC,
    LEGACY_ATTRIBUTES_AT,
    LEGACY_CHECKED_FROM,
    LEGACY_KEY_AT,
    MAGIC_AT,
    PREFIX_SIZE,
    SIZE_AT,
    SMALLEST_LENGTHS,
)


def explain_message(
    view: memoryview, start: int, end: int, name: str, topic: str | None, base: int | None = None
) -> Node:
    """One message; inside a wrapper, its offset is relative to `base`."""
    offset, codec = INT64.unpack_from(view, start)[0], view[start + LEGACY_ATTRIBUTES_AT] & CODEC
    note = f"offset {offset + (base or 0)}"
    if codec:
        note += f", {codec_name(codec)} wrapper"
    expand = partial(_message, view, start, end, topic, base)
    return Node(name, start, end - start, f"message v{view[start + MAGIC_AT]}", None, note, expand=expand)


def _message(view: memoryview, start: int, end: int, topic: str | None, base: int | None) -> list[Node]:
    root = Node("", start, end - start, "message")
    cursor = Cursor(view, start, end)
    offset = cursor.fixed(INT64)
    cursor.leaf(root, "offset", "int64", offset, "" if base is None else f"offset {base + offset}")
    cursor.leaf(root, "size", "int32", cursor.fixed(INT32))
    add_crc(cursor, root, "CRC-32", crc32(view[start + LEGACY_CHECKED_FROM : end]))
    magic = cursor.fixed(INT8)
    cursor.leaf(root, "magic", "int8", magic)
    attributes = cursor.fixed(INT8)
    codec = attributes & CODEC
    parts = [codec_name(codec)] if codec else []
    if magic == 1 and attributes & APPEND_TIME:
        parts.append("log append time")
    cursor.leaf(root, "attributes", "int8", attributes, ", ".join(parts))
    if magic == 1:
        stamp = cursor.fixed(INT64)
        cursor.leaf(root, "timestamp", "int64", stamp, utc(stamp))
    name = "key"
    try:
        key = take_payload(cursor, cursor.fixed(INT32))
        add_payload(cursor, root, name, "bytes?", key, open_key(topic, False, view, cursor.position, key))
        name = "value"
        value = take_payload(cursor, cursor.fixed(INT32))
        if codec and value:
            _add_packed(cursor, root, value, codec, magic, topic, offset if base is None else None)
        else:
            opening = open_value(topic, False, view, cursor.position, key, value)
            add_payload(cursor, root, name, "bytes?", value, opening)
        if cursor.position < end:
            name = "trailing"
            raise DecodeError(cursor.position, "the end of the message", f"{end - cursor.position} bytes more")
    except DecodeError as error:
        cursor.fail(root, name, "bytes?", fault_of(error))
    described(root.children(), MESSAGE)
    return list(root.children())


def add_crc(cursor: Cursor, root: Node, algorithm: str, computed: int) -> None:
    """The leaf of a checksum, with the result of the check."""
    at = cursor.position
    stated = cursor.fixed(UINT32)
    leaf = cursor.leaf(root, "crc", "uint32", stated, f"{stated:#010x}, right")
    if stated != computed:
        leaf.note = f"{stated:#010x}, wrong"
        leaf.fault = Fault(at, f"{algorithm} {computed:#010x} of the bytes that follow", f"{stated:#010x}")


def _add_packed(
    cursor: Cursor, root: Node, value: memoryview, codec: int, magic: int, topic: str | None, offset: int | None
) -> None:
    leaf = cursor.leaf(root, "value", f"{codec_name(codec)} data", value)
    if offset is None:
        start = cursor.position - len(value)
        leaf.fault = Fault(start, "a message without a codec inside a wrapper", codec_name(codec))
        return

    def inside(unpacked: memoryview) -> Node:
        return Node("", 0, len(unpacked), "messages", expand=partial(_message_set, unpacked, topic, magic, offset))

    open_packed(leaf, codec, magic, inside)


def _message_set(view: memoryview, topic: str | None, magic: int, wrapper_offset: int) -> list[Node]:
    spans, problem = _spans(view)
    base = 0
    if magic == 1 and spans and wrapper_offset:
        base = wrapper_offset - INT64.unpack_from(view, spans[-1][0])[0]
    nodes = [explain_message(view, start, end, f"[{index}]", topic, base) for index, (start, end) in enumerate(spans)]
    if problem is not None:
        start = spans[-1][1] if spans else 0
        nodes.append(Node(f"[{len(nodes)}]", start, len(view) - start, "bytes", view[start:], fault=problem))
    return nodes


def _spans(view: memoryview) -> tuple[list[tuple[int, int]], Fault | None]:
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(view):
        left = len(view) - position
        if left < LEGACY_KEY_AT[0]:
            return spans, Fault(
                position, f"a message of at least {PREFIX_SIZE + SMALLEST_LENGTHS[0]} bytes", f"{left} bytes"
            )
        size, magic = INT32.unpack_from(view, position + SIZE_AT)[0], view[position + MAGIC_AT]
        if magic > 1:
            return spans, Fault(position + MAGIC_AT, "magic 0 or 1 inside a wrapper", f"magic {magic}")
        if not SMALLEST_LENGTHS[magic] <= size <= left - PREFIX_SIZE:
            return spans, Fault(
                position + SIZE_AT, f"a message size of {SMALLEST_LENGTHS[magic]} to {left - PREFIX_SIZE}", str(size)
            )
        spans.append((position, position + PREFIX_SIZE + size))
        position += PREFIX_SIZE + size
    return spans, None
