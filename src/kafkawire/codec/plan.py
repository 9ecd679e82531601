"""Plans: what the engine does, field by field, for one struct in one version.

Rules:
- A plan is data: a list of steps in wire order. It is built once, and no engine changes it.
- A Shape is what a struct class holds in every version; a Plan is what one version of it has on the wire.
- `minimum` is the fewest bytes a value can take; a count of elements is checked against it before anything is built.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

(BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID, STRING, BYTES, RECORDS, STRUCT) = range(13)

CODES: Final = {
    "bool": BOOL,
    "int8": INT8,
    "int16": INT16,
    "uint16": UINT16,
    "int32": INT32,
    "uint32": UINT32,
    "int64": INT64,
    "float64": FLOAT64,
    "uuid": UUID,
    "string": STRING,
    "bytes": BYTES,
    "records": RECORDS,
    "struct": STRUCT,
}
NAMES: Final = {code: name for name, code in CODES.items()}
FIXED_SIZES: Final = {BOOL: 1, INT8: 1, INT16: 2, UINT16: 2, INT32: 4, UINT32: 4, INT64: 8, FLOAT64: 8, UUID: 16}
FORMATS: Final = {
    INT8: struct.Struct(">b"),
    INT16: struct.Struct(">h"),
    UINT16: struct.Struct(">H"),
    INT32: struct.Struct(">i"),
    UINT32: struct.Struct(">I"),
    INT64: struct.Struct(">q"),
    FLOAT64: struct.Struct(">d"),
}
STRING_LIMIT: Final = 32767
UNKNOWN_TAGS: Final = "unknown_tagged_fields"

VALUE, LIST, DEFAULT_STRUCT = range(3)


@dataclass(slots=True, eq=False)
class Slot:
    """One attribute of a struct class and its default: an immutable value, a new list, or a new struct.

    `shape` is that of the struct, or of the list's elements.
    """

    attribute: str
    default_kind: int
    default: Any
    shape: Shape | None = None


@dataclass(slots=True, eq=False)
class Shape:
    """A struct class, all its attributes in order, and the engine's own form of it."""

    cls: type[Any]
    slots: tuple[Slot, ...]
    native: Any = field(default=None, repr=False)


@dataclass(slots=True, eq=False)
class Step:
    """One field on the wire. `compact` is the form of lengths; `tag` is -1 outside the tag section."""

    slot: Slot
    code: int
    is_array: bool
    compact: bool
    nullable: bool
    tag: int
    element_minimum: int
    plan: Plan | None = None


@dataclass(slots=True, eq=False)
class Plan:
    """One struct in one version: its steps, its tags, what it lacks, and the engine's own form of it."""

    title: str
    shape: Shape
    steps: tuple[Step, ...]
    tagged: tuple[Step, ...]  # ascending
    absent: tuple[tuple[Slot, bool], ...]  # with whether a value there may be dropped
    foreign_tags: frozenset[int]  # tags that this struct has in other versions only
    flexible: bool
    minimum: int
    native: Any = field(default=None, repr=False)
