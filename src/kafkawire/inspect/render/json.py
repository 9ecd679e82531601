"""A tree as plain objects for programs.

Rules:
- A leaf has `bytes` in hex and its `value`; a parent has `children`. Empty notes and absent faults are left out.
- Bytes values are hex, uuids as Kafka prints them, floats that JSON has no word for are strings.
- What packed bytes unpack to is in `unpacked`, with offsets of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire.messages.uuids import uuid_text

if TYPE_CHECKING:
    from kafkawire.inspect.explain import Explanation
    from kafkawire.inspect.tree import Fault, Node, Space


def render_json(explanation: Explanation) -> dict[str, Any]:
    """The tree as nested objects, its faults listed with their paths beside it."""
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
        result["bytes"] = space.data[node.offset : node.end].hex()
        result["value"] = plain(node.value)
    if node.note:
        result["note"] = node.note
    if node.fault is not None:
        result["fault"] = _fault(node.fault)
    if node.inner is not None:
        inner = node.inner
        nodes = [_node(inner, child) for child in inner.root.children()]
        result["unpacked"] = {"length": len(inner.data), "children": nodes}
    return result


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return value.hex()
    if isinstance(value, UUID):
        return uuid_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _fault(fault: Fault) -> dict[str, Any]:
    return {"offset": fault.offset, "expected": fault.expected, "found": fault.found}
