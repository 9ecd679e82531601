"""JSON Schema: a checked schema with the schemas that it refers to.

Rules:
- A value must not make its check take more than linear time. So uniqueItems is checked by hashes; the library compares
  every pair of objects. A `pattern` is that of the schema's author, and its cost too.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import SchemaError as JsonSchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.validators import Draft7Validator, extend, validator_for
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from kafkawire.values.errors import SchemaError
from kafkawire.values.schemas import SchemaType, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.values.schemas import Schema


class CompiledJson:
    """A schema as a document, with a validator and the documents that it refers to."""

    def __init__(self, schema: Schema) -> None:
        if schema.type is not SchemaType.JSON:
            raise SchemaError(f"the schema is of type {schema.type}, expected JSON")
        self.document: Any = parse_json(schema.text, "the schema")
        if not isinstance(self.document, (dict, bool)):
            raise SchemaError("not a JSON Schema: expected an object")
        self.imports = {name: parse_json(each.text, f"schema {name!r}") for name, each in schema.imports.items()}
        kind = validator_for(self.document, default=Draft7Validator)
        try:
            kind.check_schema(self.document)  # type: ignore[arg-type]  # true and false are schemas too
        except (JsonSchemaError, RecursionError) as error:
            raise SchemaError(f"not a JSON Schema: {getattr(error, 'message', 'nested too deep')}") from error
        # an empty registry retrieves nothing, so a schema cannot make us open URLs or files
        known: Registry[Any] = Registry()
        known = known.with_resources(
            (name, Resource.from_contents(document, default_specification=DRAFT7))
            for name, document in self.imports.items()
        )
        self.validator = _with_hashes(kind)(self.document, registry=known)


def compile_json(schema: Schema) -> CompiledJson:
    """Check a schema."""
    return CompiledJson(schema)


@cache
def _with_hashes(kind: Any) -> Any:
    return extend(kind, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]  # its stub has no types


def _unique_items(validator: Any, wanted: Any, found: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted is True and validator.is_type(found, "array") and len(set(map(_hashable, found))) < len(found):
        yield ValidationError(f"{found!r} has non-unique elements")


def _hashable(part: Any) -> Any:
    """A value that is equal to another one's if JSON Schema calls both equal: 1 is 1.0, but not true."""
    match part:
        case dict():
            return dict, frozenset((name, _hashable(each)) for name, each in part.items())
        case list():
            return list, tuple(map(_hashable, part))
        case bool():
            return bool, part
    return part
