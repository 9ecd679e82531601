"""A tree as JSON objects.

Rules:
- A leaf has `bytes` in hex and its `value`; a parent has `children`. Empty notes, absent descriptions and faults
  are left out.
- Values of bytes are hex, and UUIDs are as Kafka prints them. Floats that JSON cannot express are strings.
- Placeholders of the input are ?? in `bytes`, and their values are null.
- Decompressed bytes are in `unpacked`, with their own offsets.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire.messages import uuid_text

if TYPE_CHECKING:
    from kafkawire.inspect._explain.explain import Explanation
    from kafkawire.inspect._explain.tree import Fault, Node, Space


def render_json(explanation: Explanation) -> dict[str, Any]:
    """The tree as nested objects, with a list of its faults and their paths."""
    space = explanation.space
    faults = [{"path": visit.path, **_fault(visit.node.fault)} for visit in space.faults() if visit.node.fault]
    return {
        "kind": explanation.kind,
        "message": explanation.message or None,
        "version": explanation.version if explanation.version >= 0 else None,
        "offset": space.root.offset,
        "length": space.root.length,
        "faults": faults,
        "tree": [_node(space, node) for node in space.root.children()],
    }


def _node(space: Space, node: Node) -> dict[str, Any]:
    children = node.children()
    result: dict[str, Any] = {"name": node.name, "offset": node.offset, "length": node.length, "type": node.type}
    if children:
        result["children"] = [_node(space, child) for child in children]
    else:
        result["bytes"] = _hex(space, node)
        result["value"] = plain(node.value) if space.is_known(node.offset, node.end) else None
    if node.note:
        result["note"] = node.note
    if node.description:
        result["description"] = node.description
    if node.fault is not None:
        result["fault"] = _fault(node.fault)
    if node.inner is not None:
        inner = node.inner
        nodes = [_node(inner, child) for child in inner.root.children()]
        result["unpacked"] = {"length": len(inner.data), "children": nodes}
    return result


def _hex(space: Space, node: Node) -> str:
    raw = space.data[node.offset : node.end]
    if space.is_known(node.offset, node.end):
        return raw.hex()
    places = enumerate(raw, node.offset)
    return "".join(f"{byte:02x}" if space.is_known(at, at + 1) else "??" for at, byte in places)


def plain(value: Any) -> Any:
    """A value that JSON can express."""
    if isinstance(value, bytes | bytearray | memoryview):
        return value.hex()
    if isinstance(value, UUID):
        return uuid_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _fault(fault: Fault) -> dict[str, Any]:
    return {"offset": fault.offset, "expected": fault.expected, "found": fault.found}
