"""Random messages of any schema and version: drawn from a seed, so that a failure names the seed to repeat it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire._codec.defaults import build_default
from kafkawire.messages._rules import INTEGERS

if TYPE_CHECKING:
    from random import Random

    from kafkawire._codec.plan import Shape, Slot
    from kafkawire.messages import Message
    from kafkawire.messages.schema import Field, Struct

TEXTS = ("", "a", "topic-1", "ünïcødé", "\U0001f980", "x" * 126, "x" * 127, "x" * 300)
LENGTHS = (0, 1, 3, 17, 126, 127, 130)
FLOATS = (0.0, -1.5, 1e308, math.inf, -math.inf)


def random_message(cls: type[Message], version: int, dice: Random, *, unknown_tags: bool = True) -> Any:
    """A message that this version can carry: defaults, limits, nulls and unknown tags among its values."""
    schema = cls.__schema__
    return _struct(schema.root, cls.__shape__, version, schema.is_flexible(version) and unknown_tags, dice)


def _struct(struct: Struct, shape: Shape, version: int, tags: bool, dice: Random) -> Any:
    values: dict[str, Any] = {}
    for field, slot in zip(struct.fields, shape.slots, strict=True):
        if version in field.versions:
            values[slot.attribute] = _field(field, slot, version, tags, dice)
    if tags and dice.random() < 0.15:
        first = 1 + max((field.tag for field in struct.fields if field.tag is not None), default=-1)
        numbers = sorted({first + dice.choice((0, 1, 200, 1 << 20)) for _ in range(2)})
        values["unknown_tagged_fields"] = tuple((tag, dice.randbytes(dice.choice((0, 5, 130)))) for tag in numbers)
    return shape.cls(**values)


def _field(field: Field, slot: Slot, version: int, tags: bool, dice: Random) -> Any:
    chance = dice.random()
    if chance < 0.15:
        return build_default(slot)
    if chance < 0.3 and version in field.nullable:
        return None
    if not field.is_array:
        return _element(field, slot, version, tags, dice)
    return [_element(field, slot, version, tags, dice) for _ in range(dice.choice((0, 1, 2, 2)))]


def _element(field: Field, slot: Slot, version: int, tags: bool, dice: Random) -> Any:
    if field.struct is not None:
        assert slot.shape is not None
        return _struct(field.struct, slot.shape, version, tags, dice)
    if field.type in INTEGERS:
        low, high = INTEGERS[field.type]
        return dice.choice((low, high, max(low, -1), 0, 1, dice.randint(low, high)))
    if field.type == "string":
        return dice.choice(TEXTS)
    if field.type in ("bytes", "records"):
        return dice.randbytes(dice.choice(LENGTHS))
    if field.type == "bool":
        return dice.random() < 0.5
    if field.type == "float64":
        return dice.choice(FLOATS)
    return UUID(int=dice.choice((0, 1, dice.getrandbits(128))))
