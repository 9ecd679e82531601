"""Whether documents of one JSON Schema are valid for another, as far as types, properties and closed objects say.

Rules:
- A new type must include the old one; integer is a number.
- A property that becomes required must have been required before, or have a default.
- An object that allows no other properties cannot read one that had more.
- Alternatives (oneOf, anyOf, allOf) and references are compared only by equality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.values._json.schema import compile_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.values.schemas import Schema


def json_differences(reader: Schema, writer: Schema) -> list[str]:
    """The reasons why a reader cannot read the documents of a writer; empty if nothing was found."""
    return list(_compare(compile_json(reader).document, compile_json(writer).document, "#"))


def _compare(new: Any, old: Any, path: str) -> Iterator[str]:
    if new == old or new is True or not isinstance(new, dict):
        return
    if not isinstance(old, dict):
        if new:
            yield f"TYPE_NARROWED: {path}"
        return
    wanted, given = _types(new), _types(old)
    if wanted is not None and (given is None or not given <= wanted):
        yield f"TYPE_CHANGED: {path} was {_words(given)} and is {_words(wanted)}"
        return
    if "enum" in new and not ("enum" in old and all(value in new["enum"] for value in old["enum"])):
        yield f"ENUM_ARRAY_NARROWED: {path}"
    for word in ("oneOf", "anyOf", "allOf", "$ref"):
        if word in new and new[word] != old.get(word):
            yield f"COMBINED_TYPE_CHANGED: {path}/{word}"
    yield from _objects(new, old, path)
    if isinstance(new.get("items"), dict):
        yield from _compare(new["items"], old.get("items", True), f"{path}/items")


def _objects(new: dict[str, Any], old: dict[str, Any], path: str) -> Iterator[str]:
    now, before = new.get("properties", {}), old.get("properties", {})
    more, was_more = new.get("additionalProperties", True), old.get("additionalProperties", True)
    for name, part in now.items():
        at = f"{path}/properties/{name}"
        if name in before:
            yield from _compare(part, before[name], at)
        elif was_more is not False and part is not True and part != {}:
            yield f"PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL: {at}"
    for name in new.get("required", ()):
        part = now.get(name, {})
        if name not in old.get("required", ()) and not (isinstance(part, dict) and "default" in part):
            yield f"REQUIRED_ATTRIBUTE_ADDED: {path}/required/{name}"
    if more is False:
        if was_more is not False and "properties" in old:
            yield f"ADDITIONAL_PROPERTIES_REMOVED: {path}/additionalProperties"
        yield from (f"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL: {path}/{name}" for name in before if name not in now)


def _types(part: dict[str, Any]) -> set[str] | None:
    kinds = part.get("type")
    if kinds is None:
        return None
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    return found | {"integer"} if "number" in found else found


def _words(kinds: set[str] | None) -> str:
    return "any type" if kinds is None else " or ".join(sorted(kinds))
