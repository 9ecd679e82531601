"""The rules of a schema beyond its grammar.

Rules:
- Tags of a struct are unique and contiguous from 0; a tagged field exists only in flexible versions.
- `= null` is allowed only on a field that is nullable in all its versions. Arrays, bytes and structs default to empty
  or null.
- The attribute names of a struct are unique.
- `key` is allowed neither on a tagged field nor on an array; `legacy` only on a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn
from uuid import UUID

from kafkawire.messages._uuids import parse_uuid
from kafkawire.messages.schema import EMPTY, Default, Field, SchemaError, Versions, snake_case

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGERS: Final = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
ZERO_UUID: Final = UUID(int=0)
ZERO: Final[dict[str, Default]] = {
    **dict.fromkeys(INTEGERS, 0),
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": EMPTY,
    "records": EMPTY,
    "uuid": ZERO_UUID,
    "struct": EMPTY,
}
NULLABLE_TYPES: Final = ("string", "bytes", "records", "struct")


def check_file_name(stem: str, number: str, name: str, place: str, line: int) -> None:
    expected = f"{number}_{snake_case(name)}" if number else snake_case(name)
    if stem != expected:
        raise SchemaError(place, line, f"the file of {name} is named {expected}, not {stem}")


def check_struct(fields: Sequence[Field], place: str, line: int) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.attribute in seen:
            raise SchemaError(place, field.line, f"field name {field.name} is not unique in its struct")
        seen.add(field.attribute)
    tags = sorted(field.tag for field in fields if field.tag is not None)
    if len(set(tags)) != len(tags):
        twice = next(tag for tag in tags if tags.count(tag) > 1)
        number = [field.line for field in fields if field.tag == twice][1]
        raise SchemaError(place, number, f"tag {twice} is not unique in its struct")
    if tags != list(range(len(tags))):
        number = next((field.line for field in fields if field.tag is not None), line)
        raise SchemaError(place, number, f"tags of a struct are contiguous from 0, found {tags}")


def check_field(field: Field, flexible: Versions, message: Versions, place: str) -> None:
    def fail(rule: str) -> NoReturn:
        raise SchemaError(place, field.line, rule)

    if field.tag is not None:
        if not field.versions & flexible or (field.versions & flexible) != field.versions:
            fail(f"tagged field {field.name} exists in versions {field.versions}, flexible are only {flexible}")
        if field.versions.last != message.last:
            fail(f"tagged field {field.name} ends at version {field.versions.last}; a tag is never given back")
        if field.nullable and field.nullable != field.versions:
            fail(f"tagged field {field.name} is nullable in all of its versions or in none")
    if field.nullable and not field.is_array and field.type not in NULLABLE_TYPES:
        fail(f"a field of type {field.declared_type} cannot be null")
    if field.is_array and field.type == "records":
        fail("there are no arrays of records")
    if field.is_key and (field.tag is not None or field.is_array):
        fail("key stands only on a plain field, neither tagged nor an array")
    if field.legacy and (field.type != "string" or field.is_array):
        fail("legacy stands only on a string")


def with_default(field: Field, text: str | None, place: str) -> Field:
    """The field with its default: the one in the text, or the zero value of its type."""
    zero: Default = EMPTY if field.is_array else ZERO[field.type]
    if text is None:
        # `records` that may be null in every version are null by default in Kafka; every other nullable field is empty
        if field.type == "records" and field.nullable == field.versions:
            return field._replace(default=None)
        return field._replace(default=zero)
    if text == "null":
        if field.nullable != field.versions:
            raise SchemaError(place, field.line, f"= null, but {field.name} is not nullable in all of its versions")
        return field._replace(default=None)
    try:
        return field._replace(default=_literal(field, text))
    except ValueError as error:
        raise SchemaError(place, field.line, f"default {text} does not fit {field.type_text}: {error}") from None


def _literal(field: Field, text: str) -> Default:
    if field.is_array or field.type in ("bytes", "records", "struct"):
        raise ValueError("it is empty, or null where nullable")
    if field.type in INTEGERS:
        value = int(text, 16 if text.lower().startswith(("0x", "-0x")) else 10)
        low, high = INTEGERS[field.type]
        if not low <= value <= high:
            raise ValueError(f"expected {low} to {high}")
        return value
    if field.type == "bool":
        if text not in ("true", "false"):
            raise ValueError("expected true or false")
        return text == "true"
    if field.type == "float64":
        return float(text)
    if field.type == "uuid":
        return parse_uuid(text)
    if not text.startswith('"'):
        raise ValueError("expected a text in double quotes, or null")
    return text[1:-1]
