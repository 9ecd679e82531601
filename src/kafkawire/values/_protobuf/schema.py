"""Protobuf schemas: texts of .proto files or serialized descriptors, built into descriptors.

Rules:
- A registry has either form. Confluent's Python serialiser registers a FileDescriptorProto in base64.
- Imports are the references of the schema, then the files that protobuf itself, googleapis and Confluent define.
- Each schema has a pool of its own, so that schemas that define the same names do not collide.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from kafkawire.values._protobuf.parser import parse_proto
from kafkawire.values.errors import MalformedValueError, SchemaError
from kafkawire.values.schemas import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.descriptor import Descriptor

    from kafkawire.values.schemas import Schema

_MAIN: Final = "kafkawire.schema.proto"
_PUBLISHED: Final = re.compile(r"google/(?:protobuf|type|api|rpc)/[a-z][a-z0-9_]*\.proto")
_DECIMAL: Final = "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
_OF_CONFLUENT: Final = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;',
    "confluent/type/decimal.proto": f'syntax = "proto3"; package confluent.type; {_DECIMAL}',
    "confluent/types/decimal.proto": f'syntax = "proto3"; package confluent.type; {_DECIMAL}',
}


@dataclass(frozen=True)
class Compiled:
    """A schema with its descriptors."""

    file: pb.FileDescriptorProto
    pool: DescriptorPool

    def message_at(self, indexes: tuple[int, ...]) -> Descriptor:
        """The message at a path: its index in the file, then within each message."""
        names, level = [self.file.package] if self.file.package else [], self.file.message_type
        for index in indexes:
            if index >= len(level):
                raise MalformedValueError(f"the schema has no message {list(indexes)}")
            names.append(level[index].name)
            level = level[index].nested_type
        return self.pool.FindMessageTypeByName(".".join(names))

    def message_named(self, name: str) -> Descriptor:
        """The message of a name, with or without its package; the first message of the file without a name."""
        if not name:
            if not self.file.message_type:
                raise SchemaError("the Protobuf schema has no message")
            return self.message_at((0,))
        for full in (name, f"{self.file.package}.{name}"):
            try:
                return self.pool.FindMessageTypeByName(full)
            except KeyError:
                continue
        names = ", ".join(each.name for each in self.file.message_type) or "none"
        raise SchemaError(f"the Protobuf schema has no message {name!r}; it has {names}")


def compile_protobuf(schema: Schema) -> Compiled:
    """Build the descriptors of a schema and of its imports."""
    if schema.type is not SchemaType.PROTOBUF:
        raise SchemaError(f"the schema is of type {schema.type}, expected PROTOBUF")
    pool = DescriptorPool()
    file = file_of(schema, _MAIN)
    if not file.name or file.name in schema.imports:
        file.name = _MAIN
    added: set[str] = set()
    _add(pool, file, schema.imports, added, ())
    return Compiled(file, pool)


def file_of(schema: Schema, name: str) -> pb.FileDescriptorProto:
    """The file of a schema; `name` is what others import it by."""
    file = _serialized(schema.text)
    if file is None:
        return parse_proto(schema.text, name)
    if name != _MAIN:
        file.name = name
    return file


def _serialized(text: str) -> pb.FileDescriptorProto | None:
    """The descriptor in a base64 text; None if the text is not one."""
    try:
        found = pb.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    return found if found.name or found.message_type or found.enum_type else None


def _add(
    pool: DescriptorPool,
    file: pb.FileDescriptorProto,
    imports: Mapping[str, Schema],
    added: set[str],
    above: tuple[str, ...],
) -> None:
    if file.name in above:
        raise SchemaError(f"the Protobuf schema imports itself by {file.name!r}")
    for name in file.dependency:
        if name not in added:
            _add(pool, _imported(name, imports), imports, added, (*above, file.name))
    added.add(file.name)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except (TypeError, ValueError) as error:
        raise SchemaError(f"not a Protobuf schema: {error}") from error


def _imported(name: str, imports: Mapping[str, Schema]) -> pb.FileDescriptorProto:
    if name in imports:
        return file_of(imports[name], name)
    if name in _OF_CONFLUENT:
        return parse_proto(_OF_CONFLUENT[name], name)
    if _PUBLISHED.fullmatch(name):
        try:
            module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
        except ImportError:
            pass
        else:
            found = pb.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(found)
            return found
    raise SchemaError(f"the Protobuf schema imports {name!r}, and no reference has this name")


def text_of(schema: Schema) -> str:
    """The text of a schema as a .proto file."""
    file = _serialized(schema.text)
    if file is None:
        return schema.text.strip() + "\n"
    from kafkawire.values._protobuf.printer import print_proto

    return print_proto(file)


def serialized_text(schema: Schema) -> str:
    """The FileDescriptorProto of a schema in base64."""
    file = compile_protobuf(schema).file
    return base64.b64encode(file.SerializeToString()).decode()
