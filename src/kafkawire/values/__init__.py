"""Keys and values with schemas: Avro, Protobuf and JSON Schema, with a Schema Registry or with schema files.

- `Decoder(format, *, registry, schema, framed, message, is_key)`: bytes to Python objects (call it), to JSON
  (`plain`) and to columns of Arrow (`column`, `arrow_type`). It fits `value_deserializer` of a consumer.
- `ValueColumns(key, value, bad)`: decoded columns in tables of records, for `BulkReader.read`.
- `SchemaRegistry(urls, *, auth, token, ...)`: a client of Confluent's API, which Karapace and Apicurio have too.
- `SchemaFiles(directory)` and `read_schema_file(path)`: schemas without a registry.

The libraries are those of the extra `values`. They are imported when a decoder is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.values._checks import check_schema, obstacles, usual_text
    from kafkawire.values._plain import json_text
    from kafkawire.values._protobuf.schema import serialized_text
    from kafkawire.values.columns import ValueColumns
    from kafkawire.values.decoder import FAULTS, FORMATS, Column, Decoder
    from kafkawire.values.errors import (
        FramingError,
        MalformedValueError,
        RegistryError,
        SchemaError,
        UnknownSchemaError,
        ValuesError,
    )
    from kafkawire.values.files import SchemaFiles, read_schema_file
    from kafkawire.values.registry import RegisteredSchema, SchemaRegistry
    from kafkawire.values.schemas import Reference, Schema, SchemaType

__all__ = [
    "Column",
    "Decoder",
    "FramingError",
    "MalformedValueError",
    "Reference",
    "RegisteredSchema",
    "RegistryError",
    "Schema",
    "SchemaError",
    "SchemaFiles",
    "SchemaRegistry",
    "SchemaType",
    "UnknownSchemaError",
    "ValueColumns",
    "ValuesError",
    "read_schema_file",
]

_HOMES = {
    "Column": "decoder",
    "Decoder": "decoder",
    "FramingError": "errors",
    "MalformedValueError": "errors",
    "Reference": "schemas",
    "RegisteredSchema": "registry",
    "RegistryError": "errors",
    "Schema": "schemas",
    "SchemaError": "errors",
    "SchemaFiles": "files",
    "SchemaRegistry": "registry",
    "SchemaType": "schemas",
    "UnknownSchemaError": "errors",
    "ValueColumns": "columns",
    "ValuesError": "errors",
    "read_schema_file": "files",
}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "FAULTS": "decoder",
    "FORMATS": "decoder",
    "check_schema": "_checks",
    "json_text": "_plain",
    "obstacles": "_checks",
    "serialized_text": "_protobuf.schema",
    "usual_text": "_checks",
}

if not TYPE_CHECKING:  # a checker that saw it would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)
