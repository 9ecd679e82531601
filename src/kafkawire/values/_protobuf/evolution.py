"""Whether values of one Protobuf schema can be read by another.

Rules:
- Fields match by number. A field may come and go, unless it is required in proto2.
- Types of one group have the same bytes and may replace each other; labels must not change, except between
  single fields.
- A message that disappears, and a single field that moves into a oneof that existed, cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2 as pb

from kafkawire.values._protobuf.schema import compile_protobuf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor, FieldDescriptor

    from kafkawire.values.schemas import Schema

_FIELD: Final = pb.FieldDescriptorProto
_GROUPS: Final = (
    {_FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_UINT32, _FIELD.TYPE_UINT64, _FIELD.TYPE_BOOL, _FIELD.TYPE_ENUM},
    {_FIELD.TYPE_SINT32, _FIELD.TYPE_SINT64},
    {_FIELD.TYPE_STRING, _FIELD.TYPE_BYTES},
    {_FIELD.TYPE_FIXED32, _FIELD.TYPE_SFIXED32},
    {_FIELD.TYPE_FIXED64, _FIELD.TYPE_SFIXED64},
)


def protobuf_differences(reader: Schema, writer: Schema) -> list[str]:
    """The reasons why a reader cannot read the values of a writer; empty if nothing does."""
    new, old = compile_protobuf(reader), compile_protobuf(writer)
    found: list[str] = []
    if new.file.package != old.file.package:
        found.append(f"PACKAGE_CHANGED: {old.file.package!r} became {new.file.package!r}")
        return found
    names = {each.name for each in new.file.message_type}
    seen: set[str] = set()
    for message in old.file.message_type:
        if message.name not in names:
            found.append(f"MESSAGE_REMOVED: message {message.name}")
        else:
            pair = new.message_named(message.name), old.message_named(message.name)
            found += _messages(*pair, seen)
    return found


def _messages(new: Descriptor, old: Descriptor, seen: set[str]) -> Iterator[str]:
    if old.full_name in seen:
        return
    seen.add(old.full_name)
    before = {field.number: field for field in old.fields}
    for field in new.fields:
        was = before.pop(field.number, None)
        if was is None:
            if field.is_required:
                yield f"REQUIRED_FIELD_ADDED: {field.full_name}"
            continue
        yield from _fields(field, was, seen)
        oneof, earlier = field.containing_oneof, was.containing_oneof
        if earlier is None and oneof is not None and any(each.name == oneof.name for each in old.oneofs):
            yield f"FIELD_MOVED_TO_EXISTING_ONEOF: {field.full_name}"
    yield from (f"REQUIRED_FIELD_REMOVED: {was.full_name}" for was in before.values() if was.is_required)


def _fields(new: FieldDescriptor, old: FieldDescriptor, seen: set[str]) -> Iterator[str]:
    if new.is_repeated != old.is_repeated:
        yield f"FIELD_LABEL_CHANGED: {new.full_name}"
    if new.type != old.type and not any({new.type, old.type} <= group for group in _GROUPS):
        yield f"FIELD_KIND_CHANGED: {new.full_name}"
    elif new.message_type is not None and old.message_type is not None:
        if new.message_type.full_name != old.message_type.full_name:
            yield f"FIELD_NAMED_TYPE_CHANGED: {new.full_name}"
        else:
            yield from _messages(new.message_type, old.message_type, seen)
