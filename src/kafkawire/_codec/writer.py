"""Values to bytes, by a plan.

Rules:
- A field that the version lacks must hold its default, or be ignorable.
- A tag section has the fields that differ from their default, in ascending order, unknown tags among them.
- With a list of parts, records are put into it as they are, neither copied nor joined; external ones are not read.
"""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

from kafkawire._codec import plan as p
from kafkawire._codec.defaults import is_default
from kafkawire._codec.errors import CodecError, EncodeError, UnsupportedVersionError
from kafkawire._codec.parts import ExternalBytes
from kafkawire._codec.plan import FORMATS
from kafkawire._codec.varint import write_uvarint

_INT16, _INT32 = FORMATS[p.INT16], FORMATS[p.INT32]


class Writer:
    __slots__ = ("out", "parts")

    def __init__(self, parts: list[Any] | None) -> None:
        self.out = bytearray()
        self.parts = parts

    def struct(self, plan: p.Plan, value: Any) -> None:
        if not isinstance(value, plan.shape.cls):
            raise EncodeError(plan.shape.cls.__qualname__, shown(value))
        for step in plan.steps:
            self._from(value, step)
        for slot, droppable in plan.absent:
            if not droppable and not is_default(slot, _get(value, slot.attribute)):
                found = shown(_get(value, slot.attribute))
                error = UnsupportedVersionError("the default, as this version lacks the field", found)
                error.within(slot.attribute)
                raise error
        unknown = _get(value, p.UNKNOWN_TAGS)
        if plan.flexible:
            self._tags(plan, value, unknown)
        elif unknown:
            error = UnsupportedVersionError("none, as this version has no tags", shown(unknown))
            error.within(p.UNKNOWN_TAGS)
            raise error

    def _from(self, source: Any, step: p.Step) -> None:
        value = _get(source, step.slot.attribute)
        try:
            if step.is_array:
                self._array(step, value)
            else:
                self._value(step, value)
        except CodecError as error:
            error.within(step.slot.attribute)
            raise

    def _tags(self, plan: p.Plan, value: Any, unknown: Any) -> None:
        entries: dict[int, p.Step | bytes] = {
            step.tag: step for step in plan.tagged if not is_default(step.slot, _get(value, step.slot.attribute))
        }
        known = plan.foreign_tags.union(step.tag for step in plan.tagged)
        try:
            previous = -1
            for tag, payload in unknown:
                if not previous < tag <= 0xFFFFFFFF or tag in known:
                    raise EncodeError("unknown tags, ascending and each once", f"tag {tag}")
                previous = tag
                entries[tag] = bytes(payload)
        except (TypeError, ValueError):
            error = EncodeError("pairs of tag and bytes", shown(unknown))
            error.within(p.UNKNOWN_TAGS)
            raise error from None
        except EncodeError as error:
            error.within(p.UNKNOWN_TAGS)
            raise
        write_uvarint(self.out, len(entries))
        for tag in sorted(entries):
            entry = entries[tag]
            if isinstance(entry, p.Step):
                inner = Writer(None)
                inner._from(value, entry)
                payload = inner.out
            else:
                payload = entry
            write_uvarint(self.out, tag)
            write_uvarint(self.out, len(payload))
            self.out += payload

    def _array(self, step: p.Step, value: Any) -> None:
        if value is None:
            self._null(step, "array")
            return
        if not isinstance(value, list | tuple):
            raise EncodeError("a list", shown(value))
        if step.compact:
            write_uvarint(self.out, len(value) + 1)
        else:
            self.out += _INT32.pack(len(value))
        for index, element in enumerate(value):
            try:
                self._element(step, element, False)
            except CodecError as error:
                error.within(index)
                raise

    def _value(self, step: p.Step, value: Any) -> None:
        if step.nullable and step.code == p.STRUCT:
            if step.tag >= 0:
                self.out.append(0 if value is None else 1)
            else:
                self.out.append(0xFF if value is None else 1)
            if value is None:
                return
        self._element(step, value, step.nullable)

    def _element(self, step: p.Step, value: Any, nullable: bool) -> None:
        code = step.code
        if code == p.STRUCT:
            assert step.plan is not None
            self.struct(step.plan, value)
        elif code in (p.STRING, p.BYTES, p.RECORDS):
            self._sized(step, value, nullable)
        elif code == p.BOOL:
            if not isinstance(value, int):
                raise EncodeError("bool", shown(value))
            self.out.append(1 if value else 0)
        elif code == p.UUID:
            if not isinstance(value, UUID):
                raise EncodeError("uuid.UUID", shown(value))
            self.out += value.bytes
        else:
            try:
                self.out += FORMATS[code].pack(value)
            except (struct.error, TypeError, OverflowError):
                raise EncodeError(p.NAMES[code], shown(value)) from None

    def _sized(self, step: p.Step, value: Any, nullable: bool) -> None:
        if value is None:
            if not nullable:
                raise EncodeError(p.NAMES[step.code], "None")
            self._null(step, p.NAMES[step.code])
            return
        payload: Any
        if isinstance(value, ExternalBytes) and step.code == p.RECORDS:
            payload = value if self.parts is not None and len(value) else _bytes(value.read())
        else:
            payload = _text(value) if step.code == p.STRING else _bytes(value)
        size = len(payload)
        if step.compact:
            write_uvarint(self.out, size + 1)
        else:
            self.out += (_INT16 if step.code == p.STRING else _INT32).pack(size)
        if step.code == p.RECORDS and self.parts is not None and size:
            self.parts += (bytes(self.out), payload)
            self.out = bytearray()
        else:
            self.out += payload

    def _null(self, step: p.Step, kind: str) -> None:
        if not step.nullable:
            raise EncodeError(kind, "None")
        if step.compact:
            self.out.append(0)
        else:
            self.out += b"\xff\xff" if kind == "string" else b"\xff\xff\xff\xff"


def _get(source: Any, attribute: str) -> Any:
    try:
        return getattr(source, attribute)
    except AttributeError:
        error = EncodeError("a value", "none set")
        error.within(attribute)
        raise error from None


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise EncodeError("string", shown(value))
    try:
        result = value.encode()
    except UnicodeEncodeError:
        raise EncodeError("a string that UTF-8 can hold", shown(value)) from None
    if len(result) > p.STRING_LIMIT:
        raise EncodeError("a string of at most 32767 bytes", f"{len(result)} bytes")
    return result


def _bytes(value: Any) -> memoryview:
    try:
        view = memoryview(value)
    except TypeError:
        raise EncodeError("bytes", shown(value)) from None
    if not view.c_contiguous:
        raise EncodeError("contiguous bytes", shown(value))
    return view.cast("B") if view.format != "B" or view.ndim != 1 else view


def shown(value: Any) -> str:
    """A value as an error shows it, shortened to one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
