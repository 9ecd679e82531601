"""Avro schemas: parsed, with the schemas that they refer to inlined.

Rules:
- A parsed schema is complete in itself: each named type is defined where it is first used.
- A name is looked up in the schema itself, then in the schemas that it refers to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import fastavro.schema
from fastavro.schema import SchemaParseException, UnknownType

from kafkawire.values.errors import SchemaError
from kafkawire.values.schemas import SchemaType, parse_json

if TYPE_CHECKING:
    from kafkawire.values.schemas import Schema

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
Parsed = Any
"""A schema as fastavro has it: a name, a list for a union, or a dict."""


def parse_avro(schema: Schema) -> Parsed:
    """Parse a schema; every name in it is a full name afterwards."""
    if schema.type is not SchemaType.AVRO:
        raise SchemaError(f"the schema is of type {schema.type}, expected AVRO")
    known: dict[str, Any] = {}
    try:
        for name, each in schema.imports.items():
            fastavro.schema.parse_schema(parse_json(each.text, f"schema {name!r}"), known)
        imported = dict(known)
        parsed = fastavro.schema.parse_schema(parse_json(schema.text, "the schema"), known, expand=False)
    except UnknownType as error:
        raise SchemaError(f"the Avro schema uses the type {error.name!r}, which nothing defines") from error
    except (SchemaParseException, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SchemaError(f"not an Avro schema: {str(error) or type(error).__name__}") from error
    return _inlined(parsed, imported, set()) if imported else parsed


def definitions(parsed: Parsed) -> dict[str, Parsed]:
    """The named types of a schema."""
    found: dict[str, Parsed] = {}

    def visit(part: Parsed) -> None:
        if isinstance(part, list):
            for branch in part:
                visit(branch)
        elif isinstance(part, dict):
            kind = part["type"]
            if kind in NAMED if isinstance(kind, str) else False:
                found[part["name"]] = part
                for field in part.get("fields", ()):
                    visit(field["type"])
            elif kind == "array":
                visit(part["items"])
            elif kind == "map":
                visit(part["values"])
            elif not isinstance(kind, str):
                visit(kind)

    visit(parsed)
    return found


def _inlined(part: Parsed, imported: dict[str, Parsed], seen: set[str]) -> Parsed:
    """A schema with the definition of each imported name at its first use."""
    if isinstance(part, str):
        if part not in imported or part in seen:
            return part
        seen.add(part)
        return _inlined(imported[part], imported, seen)
    if isinstance(part, list):
        return [_inlined(branch, imported, seen) for branch in part]
    if part.get("name") in imported and part["type"] in NAMED:
        seen.add(part["name"])
    found = {key: value for key, value in part.items() if not key.startswith("__")}
    for key in ("items", "values"):
        if key in found:
            found[key] = _inlined(found[key], imported, seen)
    if "fields" in found:
        found["fields"] = [{**field, "type": _inlined(field["type"], imported, seen)} for field in found["fields"]]
    elif isinstance(found["type"], (dict, list)):
        found["type"] = _inlined(found["type"], imported, seen)
    return found
