"""Keys and values of records that Kafka itself writes: in its internal topics, and in control batches.

Rules:
- The topic gives the format. Coordinators prefix keys with their type and values with their version. The metadata log
  frames its values.
- The key of a control record is its type. The value is the end marker of a transaction, or a message after its
  version.
"""

from __future__ import annotations

from typing import Final

from kafkawire._codec.errors import DecodeError
from kafkawire.inspect._explain.cursor import INT16, INT32, Cursor
from kafkawire.inspect._explain.embedded import open_framed, open_key_after_type, open_prefixed, walk_into
from kafkawire.inspect._explain.tree import Node
from kafkawire.inspect._explain.walker import Opening
from kafkawire.log.internal_topics import FRAMED_TOPICS, record_name
from kafkawire.messages import message_class
from kafkawire.records.control import CONTROL_BODIES, ControlType

_CONTROL_TYPES: Final = {kind.value: kind.name for kind in ControlType}


def open_key(topic: str | None, control: bool, view: memoryview, end: int, key: memoryview | None) -> Opening | None:
    """The key that ends at a position, decoded if its format is known."""
    if key is None or len(key) < 2:
        return None
    start = end - len(key)
    if control:
        return _control_key(view, start, end)
    name = record_name(topic, key)
    return open_key_after_type(view, start, end, name + "Key") if name else None


def open_value(
    topic: str | None, control: bool, view: memoryview, end: int, key: memoryview | None, value: memoryview | None
) -> Opening | None:
    """The value that ends at a position, decoded if its key or topic gives the format."""
    if not value:
        return None
    start = end - len(value)
    if control:
        return _control_value(view, start, end, key)
    if topic is not None and topic in FRAMED_TOPICS:
        return open_framed(view, start, end, FRAMED_TOPICS[topic])
    name = record_name(topic, key)
    return open_prefixed(view, start, end, name + "Value") if name else None


def take_payload(cursor: Cursor, length: int) -> memoryview | None:
    """The bytes of a key or a value whose length was just read; -1 is null."""
    left = cursor.end - cursor.position
    if not -1 <= length <= left:
        expected = f"a length of at most the {left} bytes left, or -1 for null"
        raise DecodeError(cursor.covered, expected, f"length {length}")
    return cursor.take(length) if length >= 0 else None


def add_payload(
    cursor: Cursor, root: Node, name: str, kind: str, payload: memoryview | None, opening: Opening | None
) -> None:
    """Add a key or a value that was just read, as a leaf or decoded."""
    if opening is None or payload is None:
        cursor.leaf(root, name, kind, payload, "tombstone" if name == "value" and payload is None else "")
        return
    node = cursor.branch(root, name, kind, payload)
    node.note = opening.note
    inside = cursor.position - len(payload)
    node.add(Node("size", node.offset, inside - node.offset, "size", len(payload), framing=True))
    for child in opening.nodes():
        node.add(child)
    cursor.covered = cursor.position
    cursor.close(node)


def _control_key(view: memoryview, start: int, end: int) -> Opening | None:
    if end - start < 4:
        return None
    root = Node("", start, end - start, "control key")
    cursor = Cursor(view, start, end)
    cursor.leaf(root, "version", "int16", cursor.fixed(INT16))
    kind = cursor.fixed(INT16)
    name = _CONTROL_TYPES.get(kind, "")
    cursor.leaf(root, "type", "int16", kind, name)
    if cursor.position < end:
        cursor.leaf(root, "unread", "bytes", cursor.take(end - cursor.position))
    return Opening(lambda: list(root.children()), name or "control record")


def _control_value(view: memoryview, start: int, end: int, key: memoryview | None) -> Opening | None:
    if key is None or len(key) < 4 or end - start < 2:
        return None
    kind = INT16.unpack_from(key, 2)[0]
    root = Node("", start, end - start, "control value")
    if kind in CONTROL_BODIES:
        name = CONTROL_BODIES[kind]
        versions = message_class(name).__schema__.versions
        version = max(versions.first, min(INT16.unpack_from(view, start)[0], versions.last))
        behind = walk_into(root, view, start, end, name, version)
        return Opening(lambda: list(root.children()), f"{name} v{version}") if behind == end else None
    if kind not in (ControlType.ABORT, ControlType.COMMIT) or end - start != 6:
        return None
    cursor = Cursor(view, start, end)
    cursor.leaf(root, "version", "int16", cursor.fixed(INT16))
    cursor.leaf(root, "coordinator_epoch", "int32", cursor.fixed(INT32))
    return Opening(lambda: list(root.children()), "end of a transaction")
