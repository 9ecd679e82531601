"""Defaults of slots: building one, and comparing a value with it."""

from __future__ import annotations

from typing import Any

from kafkawire._codec import plan as p


def build_default(slot: p.Slot) -> Any:
    """The default value of a slot."""
    if slot.default_kind == p.VALUE:
        return slot.default
    if slot.default_kind == p.LIST:
        return []
    assert slot.shape is not None
    result = object.__new__(slot.shape.cls)
    for each in slot.shape.slots:
        setattr(result, each.attribute, build_default(each))
    setattr(result, p.UNKNOWN_TAGS, ())
    return result


def is_default(slot: p.Slot, value: Any) -> bool:
    """Whether a value equals its default, at every depth."""
    if slot.default_kind == p.VALUE:
        return value is slot.default or (value is not None and slot.default is not None and bool(value == slot.default))
    if slot.default_kind == p.LIST:
        return isinstance(value, list | tuple) and not value
    assert slot.shape is not None
    return (
        isinstance(value, slot.shape.cls)
        and all(is_default(each, getattr(value, each.attribute)) for each in slot.shape.slots)
        and not getattr(value, p.UNKNOWN_TAGS)
    )
