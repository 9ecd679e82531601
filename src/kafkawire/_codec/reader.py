"""Bytes to values, by a plan.

Rules:
- Every length and count is checked against the bytes left before anything is built from it.
- Bytes and records are memoryviews into the buffer; everything else is copied out.
- All arrays of a message together, and its unknown tags, hold at most `limit` elements.
- A field that the version lacks gets its default.
- A tag section may have any order. A repeated tag overwrites, unknown tags are kept, and sizes must be exact. A tag
  that the struct defines only in other versions is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire._codec import plan as p
from kafkawire._codec.defaults import build_default
from kafkawire._codec.errors import (
    COUNT,
    ELEMENTS,
    LENGTH,
    NEGATIVE,
    NULL,
    PAST_END,
    TAG_SIZE,
    TAG_VERSION,
    TEXT,
    DecodeError,
    fault,
)
from kafkawire._codec.plan import FORMATS
from kafkawire._codec.varint import read_uvarint

if TYPE_CHECKING:
    from struct import Struct

_INT8, _INT16, _INT32 = FORMATS[p.INT8], FORMATS[p.INT16], FORMATS[p.INT32]
_ZERO_UUID = UUID(int=0)


class Reader:
    __slots__ = ("elements", "end", "limit", "position", "view")

    def __init__(self, view: memoryview, position: int, limit: int) -> None:
        self.view, self.position, self.end = view, position, len(view)
        self.elements, self.limit = 0, limit

    def struct(self, plan: p.Plan) -> Any:
        result = object.__new__(plan.shape.cls)
        for step in plan.steps:
            self._into(result, step)
        for slot, _ in plan.absent:
            setattr(result, slot.attribute, build_default(slot))
        setattr(result, p.UNKNOWN_TAGS, self._tags(plan, result) if plan.flexible else ())
        return result

    def _into(self, target: Any, step: p.Step) -> None:
        try:
            setattr(target, step.slot.attribute, self._array(step) if step.is_array else self._value(step))
        except DecodeError as error:
            error.within(step.slot.attribute)
            raise

    def _tags(self, plan: p.Plan, result: Any) -> tuple[tuple[int, bytes], ...]:
        for step in plan.tagged:
            setattr(result, step.slot.attribute, build_default(step.slot))
        unknown = []
        start = self.position
        count = self._uvarint()
        if count * 2 > self.end - self.position:
            raise fault(COUNT, start, count, (self.end - self.position) // 2)
        self._count(count, start)
        for _ in range(count):
            start = self.position
            tag = self._uvarint()
            if tag in plan.foreign_tags:
                raise fault(TAG_VERSION, start, tag, 0)
            at = self.position
            size = self._checked(self._uvarint(), at)
            known = next((step for step in plan.tagged if step.tag == tag), None)
            if known is None:
                unknown.append((tag, bytes(self.view[self.position : self.position + size])))
                self.position += size
            else:
                self._tag_value(known, result, size)
        return tuple(unknown)

    def _tag_value(self, step: p.Step, result: Any, size: int) -> None:
        start, outer = self.position, self.end
        self.end = start + size
        self._into(result, step)
        if self.position != self.end:
            error = fault(TAG_SIZE, start, size, self.position - start)
            error.within(step.slot.attribute)
            raise error
        self.end = outer

    def _array(self, step: p.Step) -> list[Any] | None:
        start = self.position
        count = self._uvarint() - 1 if step.compact else self._fixed(_INT32)
        if count < 0:
            self._null(step, count, start)
            return None
        left = self.end - self.position
        if count * step.element_minimum > left:
            raise fault(COUNT, start, count, left // step.element_minimum)
        self._count(count, start)
        result = []
        for index in range(count):
            try:
                result.append(self._element(step))
            except DecodeError as error:
                error.within(index)
                raise
        return result

    def _count(self, more: int, start: int) -> None:
        self.elements += more
        if self.elements > self.limit:
            raise fault(ELEMENTS, start, self.elements, self.limit)

    def _value(self, step: p.Step) -> Any:
        if step.nullable and step.code == p.STRUCT:
            start = self.position
            marker = self._fixed(_INT8) if step.tag < 0 else self._uvarint() - 1
            if marker < 0:
                self._null(step, -1, start)
                return None
        return self._element(step)

    def _element(self, step: p.Step) -> Any:
        code = step.code
        form = FORMATS.get(code)
        if form is not None:
            return self._fixed(form)
        if code == p.STRUCT:
            assert step.plan is not None
            return self.struct(step.plan)
        if code == p.BOOL:
            return bool(self._fixed(_INT8))
        if code == p.UUID:
            value = self._take(16)
            return UUID(bytes=bytes(value)) if any(value) else _ZERO_UUID
        start = self.position
        length = self._uvarint() - 1 if step.compact else self._fixed(_INT16 if code == p.STRING else _INT32)
        if length < 0:
            self._null(step, length, start)
            return None
        if code == p.STRING and length > p.STRING_LIMIT:
            raise fault(TEXT, start, length, 0)
        value = self._take(self._checked(length, start))
        return str(value, "utf-8", "replace") if code == p.STRING else value

    def _null(self, step: p.Step, length: int, start: int) -> None:
        if length < -1:
            raise fault(NEGATIVE, start, length, 0)
        if not step.nullable:
            raise fault(NULL, start, 0, 0)

    def _checked(self, length: int, start: int) -> int:
        left = self.end - self.position
        if length > left:
            raise fault(LENGTH, start, length, left)
        return length

    def _fixed(self, form: Struct) -> Any:
        position = self.position
        left = self.end - position
        if left < form.size:
            raise fault(PAST_END, position, form.size, left)
        self.position = position + form.size
        return form.unpack_from(self.view, position)[0]

    def _take(self, length: int) -> memoryview:
        start = self.position
        if self.end - start < length:
            raise fault(PAST_END, start, length, self.end - start)
        self.position = start + length
        return self.view[start : start + length]

    def _uvarint(self) -> int:
        value, self.position = read_uvarint(self.view, self.position, self.end)
        return value
