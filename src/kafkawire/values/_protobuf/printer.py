"""A FileDescriptorProto as the text of a .proto file.

Rules:
- The text has what decides the bytes of messages: types, numbers, labels, oneofs, maps, defaults and packing. It also
  has reserved numbers and names. Services and custom options are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FIELD: Final = pb.FieldDescriptorProto
_LABELS: Final = {_FIELD.LABEL_REQUIRED: "required ", _FIELD.LABEL_REPEATED: "repeated ", _FIELD.LABEL_OPTIONAL: ""}
_INDENT: Final = "  "
_LAST_NUMBER: Final = 2**29
_LAST_ENUM: Final = 2**31 - 1


def print_proto(file: pb.FileDescriptorProto) -> str:
    """The text of a file."""
    return "\n".join(_file(file)) + "\n"


def _file(file: pb.FileDescriptorProto) -> Iterator[str]:
    if file.syntax == "editions":
        yield f'edition = "{pb.Edition.Name(file.edition).removeprefix("EDITION_")}";'
    else:
        yield f'syntax = "{file.syntax or "proto2"}";'
    if file.package:
        yield f"package {file.package};"
    yield ""
    for number, name in enumerate(file.dependency):
        yield f"import {'public ' if number in file.public_dependency else ''}{_quoted(name)};"
    yield from _features(file.options, "option ", ";")
    syntax = file.syntax
    for message in file.message_type:
        yield from _message(message, syntax)
    for enum in file.enum_type:
        yield from _enum(enum)
    yield from _extensions(file.extension, file.message_type, syntax)


def _message(message: pb.DescriptorProto, syntax: str) -> Iterator[str]:
    yield f"message {message.name} {{"
    yield from _indented(_body(message, syntax))
    yield "}"


def _body(message: pb.DescriptorProto, syntax: str) -> Iterator[str]:
    if message.options.message_set_wire_format:
        yield "option message_set_wire_format = true;"
    yield from _features(message.options, "option ", ";")
    maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    groups = {field.type_name.rpartition(".")[2] for field in message.field if field.type == _FIELD.TYPE_GROUP}
    seen: set[int] = set()
    for field in message.field:
        if not field.HasField("oneof_index") or field.proto3_optional:
            yield from _field(field, maps, message.nested_type, syntax)
        elif field.oneof_index not in seen:
            seen.add(field.oneof_index)
            yield f"oneof {message.oneof_decl[field.oneof_index].name} {{"
            for other in message.field:
                if other.HasField("oneof_index") and other.oneof_index == field.oneof_index:
                    yield from _indented(_field(other, maps, message.nested_type, syntax, in_oneof=True))
            yield "}"
    for nested in message.nested_type:
        if nested.name not in maps and nested.name not in groups:
            yield from _message(nested, syntax)
    for enum in message.enum_type:
        yield from _enum(enum)
    for word, ranges in (("reserved", message.reserved_range), ("extensions", message.extension_range)):
        for each in ranges:
            yield f"{word} {_range(each.start, each.end - 1, _LAST_NUMBER - 1)};"
    for name in message.reserved_name:
        yield f"reserved {_quoted(name)};"
    yield from _extensions(message.extension, message.nested_type, syntax)


def _field(
    field: pb.FieldDescriptorProto,
    maps: dict[str, pb.DescriptorProto],
    nested: Iterable[pb.DescriptorProto],
    syntax: str,
    *,
    in_oneof: bool = False,
) -> Iterator[str]:
    label = "" if in_oneof else _LABELS[field.label]
    if not label and not in_oneof and (field.proto3_optional or syntax in ("", "proto2")):
        label = "optional "
    entry = maps.get(field.type_name.rpartition(".")[2]) if field.label == _FIELD.LABEL_REPEATED else None
    options = "".join(_options(field))
    if entry is not None:
        key, value = entry.field
        yield f"map<{_type(key)}, {_type(value)}> {field.name} = {field.number}{options};"
    elif field.type == _FIELD.TYPE_GROUP:
        name = field.type_name.rpartition(".")[2]
        yield f"{label}group {name} = {field.number}{options} {{"
        yield from _indented(line for each in nested if each.name == name for line in _body(each, syntax))
        yield "}"
    else:
        yield f"{label}{_type(field)} {field.name} = {field.number}{options};"


def _type(field: pb.FieldDescriptorProto) -> str:
    return field.type_name or _FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()


def _options(field: pb.FieldDescriptorProto) -> Iterator[str]:
    found = []
    if field.HasField("default_value"):
        value = field.default_value
        if field.type == _FIELD.TYPE_STRING:
            value = _quoted(value)
        elif field.type == _FIELD.TYPE_BYTES:
            value = f'"{value}"'
        found.append(f"default = {value}")
    if field.HasField("json_name") and field.json_name != _json_name(field.name):
        found.append(f"json_name = {_quoted(field.json_name)}")
    if field.options.HasField("packed"):
        found.append(f"packed = {'true' if field.options.packed else 'false'}")
    if field.options.deprecated:
        found.append("deprecated = true")
    found += _features(field.options, "", "")
    if found:
        yield f" [{', '.join(found)}]"


def _features(options: object, before: str, after: str) -> Iterator[str]:
    for feature, value in options.features.ListFields():  # type: ignore[attr-defined]  # all options have features
        if feature.enum_type is not None:
            yield f"{before}features.{feature.name} = {feature.enum_type.values_by_number[value].name}{after}"


def _enum(enum: pb.EnumDescriptorProto) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    if enum.options.allow_alias:
        yield f"{_INDENT}option allow_alias = true;"
    yield from _indented(_features(enum.options, "option ", ";"))
    for value in enum.value:
        yield f"{_INDENT}{value.name} = {value.number};"
    for each in enum.reserved_range:
        yield f"{_INDENT}reserved {_range(each.start, each.end, _LAST_ENUM)};"
    for name in enum.reserved_name:
        yield f"{_INDENT}reserved {_quoted(name)};"
    yield "}"


def _extensions(
    fields: Iterable[pb.FieldDescriptorProto], nested: Iterable[pb.DescriptorProto], syntax: str
) -> Iterator[str]:
    for field in fields:
        yield f"extend {field.extendee} {{"
        yield from _indented(_field(field, {}, nested, syntax))
        yield "}"


def _range(start: int, end: int, last: int) -> str:
    if start == end:
        return str(start)
    return f"{start} to {'max' if end == last else end}"


def _json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (_INDENT + line for line in lines)
