"""The values of explained trees, to compare them with those that the engine decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire._codec import plan as p
from kafkawire._codec.defaults import build_default

if TYPE_CHECKING:
    from kafkawire.inspect._explain.tree import Node, Space


def struct_value(plan: p.Plan, node: Node) -> Any:
    """The message that a tree shows."""
    result = plan.shape.cls()
    nodes = [child for child in node.children() if not child.framing]
    for step, child in zip(plan.steps, nodes, strict=False):
        assert child.name == step.slot.attribute
        setattr(result, step.slot.attribute, _value(step, child))
    if plan.flexible:
        for slot in (step.slot for step in plan.tagged):
            setattr(result, slot.attribute, build_default(slot))
        setattr(result, p.UNKNOWN_TAGS, _apply_tags(plan, result, nodes[-1]))
    return result


def assert_tiles(space: Space) -> None:
    """Every byte of the space lies in exactly one leaf, and every parent spans its children."""
    position = space.root.offset
    for leaf in space.leaves():
        assert leaf.offset == position, f"{leaf.path} starts at {leaf.offset}, expected {position}"
        assert len(leaf.raw) == leaf.length
        position += leaf.length
    assert position == space.root.end
    _assert_spans(space, space.root)


def _assert_spans(space: Space, node: Node) -> None:
    children = node.children()
    if node.inner is not None:
        assert_tiles(node.inner)
    if not children:
        return
    assert children[0].offset == node.offset, node
    assert children[-1].end == node.end, node
    for child in children:
        _assert_spans(space, child)


def _value(step: p.Step, node: Node) -> Any:
    children = [child for child in node.children() if not child.framing]
    if step.is_array:
        return None if node.value is None else [_element(step, child) for child in children]
    return _element(step, node)


def _element(step: p.Step, node: Node) -> Any:
    if step.plan is None:
        return node.value
    return struct_value(step.plan, node) if node.children() else None


def _apply_tags(plan: p.Plan, result: Any, section: Node) -> tuple[tuple[int, bytes], ...]:
    assert section.name == "tagged_fields"
    steps = {step.tag: step for step in plan.tagged}
    unknown = []
    for entry in section.children()[1:]:
        tag, _, value = entry.children()
        if tag.value in steps:
            setattr(result, steps[tag.value].slot.attribute, _value(steps[tag.value], value))
        else:
            unknown.append((tag.value, bytes(value.value)))
    return tuple(unknown)
