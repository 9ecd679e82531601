"""Checks of schemas of each type: whether one is valid, its usual text, and whether it can replace another.

Rules:
- A library is imported only for a schema of its type.
- Avro is compared by its rules of resolution, Protobuf by field numbers and wire types. JSON Schema is compared only
  where a difference is certain to matter: types, required properties and closed objects.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kafkawire._extras import naming_extras
from kafkawire.values.schemas import Schema, SchemaType, parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_schema(schema: Schema) -> None:
    """Raise a SchemaError unless the schema is valid."""
    with naming_extras(f"a schema of type {schema.type}"):
        match schema.type:
            case SchemaType.AVRO:
                from kafkawire.values._avro.schema import parse_avro

                parse_avro(schema)
            case SchemaType.PROTOBUF:
                from kafkawire.values._protobuf.schema import compile_protobuf

                compile_protobuf(schema)
            case SchemaType.JSON:
                from kafkawire.values._json.schema import compile_json

                compile_json(schema)


def usual_text(schema: Schema, *, normalize: bool) -> str:
    """The text of a valid schema without differences of form; with `normalize` also without those of order."""
    if schema.type is SchemaType.PROTOBUF:
        from kafkawire.values._protobuf.schema import text_of

        return text_of(schema)
    document = parse_json(schema.text, "the schema")
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, sort_keys=normalize)


def obstacles(reader: Schema, writer: Schema) -> Sequence[str]:
    """The reasons why `reader` cannot read the values of `writer`; empty if nothing does."""
    if reader.type is not writer.type:
        return [f"the type changed from {writer.type} to {reader.type}"]
    match reader.type:
        case SchemaType.AVRO:
            from kafkawire.values._avro.evolution import differences
            from kafkawire.values._avro.schema import parse_avro

            return [str(each) for each in differences(parse_avro(reader), parse_avro(writer))]
        case SchemaType.PROTOBUF:
            from kafkawire.values._protobuf.evolution import protobuf_differences

            return protobuf_differences(reader, writer)
        case SchemaType.JSON:
            from kafkawire.values._json.evolution import json_differences

            return json_differences(reader, writer)
