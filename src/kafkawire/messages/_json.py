"""The JSON form of messages, as Kafka's own tools write it.

Rules:
- Lower-camel field names; uuid as base64url without padding; bytes and records as standard base64.
- Fields that the version lacks are left out. A tagged field is left out if it equals its default.
- Reading accepts only this form: an unknown or missing name is an error that has its path.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkawire._codec import EncodeError
from kafkawire._codec.defaults import build_default, is_default
from kafkawire.messages._uuids import parse_uuid, uuid_text

if TYPE_CHECKING:
    from kafkawire._codec.plan import Slot
    from kafkawire.messages._model import Message, StructBase
    from kafkawire.messages.schema import Field, MessageSchema, Struct

M = TypeVar("M", bound="Message")

_PYTHON_TYPES: Final[dict[str, Any]] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), (int,)),
    "bool": (bool,),
    "float64": (float, int),
    "string": (str,),
}


def to_json(message: Message, schema: MessageSchema, version: int) -> dict[str, Any]:
    """The JSON form of one version of a message."""
    return _struct_to_json(message, schema.root, version)


def from_json(cls: type[M], obj: Any, version: int) -> M:
    """The message of a JSON form."""
    try:
        return _struct_from_json(cls, obj, cls.__schema__.root, version)  # type: ignore[no-any-return]  # a cls
    except EncodeError as error:
        error.title = f"{cls.__schema__.name} v{version} as JSON"
        raise


def _struct_to_json(value: StructBase, struct: Struct, version: int) -> dict[str, Any]:
    result = {}
    for field, slot in zip(struct.fields, value.__shape__.slots, strict=True):
        if version not in field.versions:
            continue
        held = getattr(value, slot.attribute)
        if field.tag is not None and is_default(slot, held):
            continue
        if field.is_array and held is not None:
            result[field.json_name] = [_to_json(element, field, version) for element in held]
        else:
            result[field.json_name] = _to_json(held, field, version)
    return result


def _to_json(value: Any, field: Field, version: int) -> Any:
    if value is None:
        return None
    if field.struct is not None:
        return _struct_to_json(value, field.struct, version)
    if field.type == "uuid":
        return uuid_text(value)
    if field.type in ("bytes", "records"):
        return base64.b64encode(value).decode()
    return value


def _struct_from_json(cls: type[Any], obj: Any, struct: Struct, version: int) -> Any:
    if not isinstance(obj, dict):
        raise EncodeError("an object", repr(obj)[:60])
    names = {field.json_name for field in struct.fields if version in field.versions}
    for name in obj:
        if name not in names:
            raise EncodeError(f"fields of this version ({', '.join(sorted(names))})", repr(name))
    values = {}
    for field, slot in zip(struct.fields, cls.__shape__.slots, strict=True):
        if version in field.versions:
            values[slot.attribute] = _field_from_json(obj, field, slot, version)
    return cls(**values)


def _field_from_json(obj: dict[str, Any], field: Field, slot: Slot, version: int) -> Any:
    try:
        if field.json_name not in obj:
            if field.tag is not None:
                return build_default(slot)
            raise EncodeError("a value", "none given")
        value = obj[field.json_name]
        if value is None:
            if version not in field.nullable:
                raise EncodeError(field.declared_type, "null")
            return None
        if not field.is_array:
            return _value_from_json(value, field, slot, version)
        if not isinstance(value, list):
            raise EncodeError("an array", repr(value)[:60])
        return [_element_from_json(element, index, field, slot, version) for index, element in enumerate(value)]
    except EncodeError as error:
        error.within(slot.attribute)
        raise


def _element_from_json(value: Any, index: int, field: Field, slot: Slot, version: int) -> Any:
    try:
        return _value_from_json(value, field, slot, version)
    except EncodeError as error:
        error.within(index)
        raise


def _value_from_json(value: Any, field: Field, slot: Slot, version: int) -> Any:
    if field.struct is not None:
        assert slot.shape is not None
        return _struct_from_json(slot.shape.cls, value, field.struct, version)
    try:
        if field.type == "uuid":
            return parse_uuid(value)
        if field.type in ("bytes", "records"):
            return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise EncodeError(f"{field.type} in base64", repr(value)[:60]) from None
    if not isinstance(value, _PYTHON_TYPES[field.type]) or (field.type != "bool" and isinstance(value, bool)):
        raise EncodeError(field.type, repr(value)[:60])
    return float(value) if field.type == "float64" else value
