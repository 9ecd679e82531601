"""JSON Schema: a checked schema with the schemas that it refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import SchemaError as JsonSchemaError
from jsonschema.validators import Draft7Validator, validator_for
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from kafkawire.values.errors import SchemaError
from kafkawire.values.schemas import SchemaType, parse_json

if TYPE_CHECKING:
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
        self.validator = kind(self.document, registry=known)


def compile_json(schema: Schema) -> CompiledJson:
    """Check a schema."""
    return CompiledJson(schema)
