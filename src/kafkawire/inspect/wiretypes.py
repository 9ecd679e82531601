"""How a field's type reads: the schema's notation, with `compact` where lengths are varints.

`string`, `compact string?` (may be null), `[]int32`, `compact []TopicProduceData`.
"""

from __future__ import annotations

from functools import cache

from kafkawire.codec import plan as p

_HAVE_LENGTHS = (p.STRING, p.BYTES, p.RECORDS)


@cache
def wire_type(step: p.Step) -> str:
    """The type of a field in one version."""
    compact = step.compact and (step.is_array or step.code in _HAVE_LENGTHS)
    array = "[]" if step.is_array else ""
    return f"{'compact ' if compact else ''}{array}{element_type(step)}{'?' if step.nullable else ''}"


@cache
def element_type(step: p.Step) -> str:
    """The type of a field's elements, or of the field itself, without the form of its length."""
    return p.NAMES[step.code] if step.plan is None else step.plan.shape.cls.__name__


@cache
def item_type(step: p.Step) -> str:
    """The type of one element on the wire."""
    return ("compact " if step.compact and step.code in _HAVE_LENGTHS else "") + element_type(step)
