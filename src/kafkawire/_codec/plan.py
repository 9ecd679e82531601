"""Plans: the steps of the engine, field by field, for one struct in one version.

Rules:
- A plan is data: a list of steps in wire order. It is built once, and no engine changes it.
- A Shape has the attributes of a struct class in all versions; a Plan has the fields of one version on the wire.
- `minimum` is the smallest encoded size of a value; a count of elements is checked against it before anything is built.
"""

from __future__ import annotations

import struct
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
UNLIMITED: Final = 2**63 - 1  # elements of a message
UNKNOWN_TAGS: Final = "unknown_tagged_fields"

VALUE, LIST, DEFAULT_STRUCT = range(3)


class Slot:
    """One attribute of a struct class and its default: an immutable value, a new list, or a new struct.

    `shape` is that of the struct, or of the list's elements.
    """

    __slots__ = ("attribute", "default", "default_kind", "shape")

    def __init__(self, attribute: str, default_kind: int, default: Any, shape: Shape | None = None) -> None:
        self.attribute, self.default_kind, self.default, self.shape = attribute, default_kind, default, shape


class Shape:
    """A struct class and all its attributes in order; `native` is the compiled engine's own form of it."""

    __slots__ = ("cls", "native", "slots")

    def __init__(self, cls: type[Any], slots: tuple[Slot, ...]) -> None:
        self.cls, self.slots = cls, slots
        self.native: Any = None


class Step:
    """One field on the wire. `compact` is the form of lengths; `tag` is -1 outside the tag section."""

    __slots__ = ("code", "compact", "element_minimum", "is_array", "nullable", "plan", "slot", "tag")

    def __init__(
        self,
        slot: Slot,
        code: int,
        *,
        is_array: bool,
        compact: bool,
        nullable: bool,
        tag: int,
        element_minimum: int,
        plan: Plan | None,
    ) -> None:
        self.slot, self.code, self.tag, self.plan = slot, code, tag, plan
        self.is_array, self.compact, self.nullable = is_array, compact, nullable
        self.element_minimum = element_minimum


class Plan:
    """One struct in one version; `native` is the compiled engine's own form of it.

    `tagged` ascends. `absent` has each slot without a field, and whether its value may be dropped. `foreign_tags` are
    the tags that the struct defines only in other versions.
    """

    __slots__ = ("absent", "flexible", "foreign_tags", "minimum", "native", "shape", "steps", "tagged", "title")

    def __init__(
        self,
        title: str,
        shape: Shape,
        *,
        steps: tuple[Step, ...],
        tagged: tuple[Step, ...],
        absent: tuple[tuple[Slot, bool], ...],
        foreign_tags: frozenset[int],
        flexible: bool,
        minimum: int,
    ) -> None:
        self.title, self.shape, self.minimum = title, shape, minimum
        self.steps, self.tagged, self.absent = steps, tagged, absent
        self.foreign_tags, self.flexible = foreign_tags, flexible
        self.native: Any = None
