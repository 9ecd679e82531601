"""The text of a .proto file as a FileDescriptorProto, because Python's protobuf has no parser of its own.

Rules:
- proto2, proto3 and editions are read. Services and custom options are checked for balance and left out, because they
  do not change the bytes of messages.
- Names of types stay as they are written; the pool of descriptors resolves them, and infers message or enum.
- The entries of maps come after the nested messages of the text, so that the indexes of messages count only those.
- A proto3 `optional` field has a oneof of its own, after the others, as protoc writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf import descriptor_pb2 as pb

from kafkawire.values._protobuf.tokens import END, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_DEPTH: Final = 60
_LAST_NUMBER: Final = 2**29
_LAST_ENUM: Final = 2**31 - 1
_FIELD: Final = pb.FieldDescriptorProto
_SCALARS: Final = {
    name: getattr(_FIELD, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
}
_LABELS: Final = {
    "optional": _FIELD.LABEL_OPTIONAL,
    "required": _FIELD.LABEL_REQUIRED,
    "repeated": _FIELD.LABEL_REPEATED,
}
_BALANCED: Final = {"{": "}", "[": "]", "<": ">", "(": ")"}
_FEATURES: Final = {
    *("field_presence", "enum_type", "repeated_field_encoding", "utf8_validation", "message_encoding", "json_format")
}


def parse_proto(text: str, name: str) -> pb.FileDescriptorProto:
    """Parse the text of a file; `name` is what other files import it by."""
    return _Parser(text, name).file()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._tokens = Tokens(text)
        self._file = pb.FileDescriptorProto(name=name)

    def file(self) -> pb.FileDescriptorProto:
        tokens, file = self._tokens, self._file
        if tokens.peek() in ("syntax", "edition"):
            self._syntax()
        while tokens.peek() != END:
            if tokens.take(";"):
                continue
            word = tokens.name()
            match word:
                case "package":
                    file.package = tokens.full_name()
                    tokens.expect(";")
                case "import":
                    self._import()
                case "option":
                    self._option(file.options)
                case "message":
                    self._message(file.message_type.add(), 1)
                case "enum":
                    self._enum(file.enum_type.add())
                case "extend":
                    self._extend(file.extension, file.message_type, 1)
                case "service":
                    tokens.name()
                    self._skip_block()
                case _:
                    raise tokens.error(f"unexpected {word!r}")
        return file

    def _syntax(self) -> None:
        tokens, file = self._tokens, self._file
        word = tokens.name()
        tokens.expect("=")
        value = tokens.string().decode(errors="replace")
        tokens.expect(";")
        if word == "edition":
            if f"EDITION_{value}" not in pb.Edition.DESCRIPTOR.values_by_name:
                raise tokens.error(f"edition {value!r} is not known")
            file.syntax, file.edition = "editions", pb.Edition.Value(f"EDITION_{value}")
        elif value == "proto3":
            file.syntax = value
        elif value != "proto2":
            raise tokens.error(f"syntax {value!r}: expected proto2 or proto3")

    def _import(self) -> None:
        tokens, file = self._tokens, self._file
        kind = tokens.next() if tokens.peek() in ("public", "weak", "option") else ""
        name = tokens.string().decode(errors="replace")
        tokens.expect(";")
        if kind == "option":
            return
        if kind == "public":
            file.public_dependency.append(len(file.dependency))
        file.dependency.append(name)

    def _message(self, message: pb.DescriptorProto, depth: int) -> None:
        message.name = self._tokens.name()
        self._body(message, depth)

    def _body(self, message: pb.DescriptorProto, depth: int) -> None:
        tokens = self._tokens
        if depth > _MAX_DEPTH:
            raise tokens.error(f"messages are nested deeper than {_MAX_DEPTH} levels")
        entries: list[pb.DescriptorProto] = []
        optionals: list[pb.FieldDescriptorProto] = []
        tokens.expect("{")
        while not tokens.take("}"):
            if tokens.take(";"):
                continue
            word = tokens.peek()
            if word == "message":
                tokens.next()
                self._message(message.nested_type.add(), depth + 1)
            elif word == "enum":
                tokens.next()
                self._enum(message.enum_type.add())
            elif word == "oneof":
                tokens.next()
                self._oneof(message, depth)
            elif word == "map" and tokens.peek(1) == "<":
                entries.append(self._map(message.field.add()))
            elif word in ("reserved", "extensions"):
                tokens.next()
                self._ranges(message, word)
            elif word == "option":
                tokens.next()
                self._option(message.options)
            elif word == "extend":
                tokens.next()
                self._extend(message.extension, message.nested_type, depth + 1)
            else:
                field = message.field.add()
                if self._field(field, message.nested_type, depth) and self._file.syntax == "proto3":
                    optionals.append(field)
        message.nested_type.extend(entries)
        for field in optionals:
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")

    def _field(self, field: pb.FieldDescriptorProto, nested: Any, depth: int, *, in_oneof: bool = False) -> bool:
        """Parse a field; returns whether it is marked `optional`."""
        tokens = self._tokens
        label = ""
        if not in_oneof and tokens.peek() in _LABELS:
            label = tokens.next()
        field.label = _LABELS.get(label, _FIELD.LABEL_OPTIONAL)
        if tokens.peek() == "group" and tokens.peek(2) == "=":
            tokens.next()
            self._group(field, nested, depth)
            return False
        kind = tokens.full_name()
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type_name = kind
        field.name = tokens.name()
        self._number_and_options(field)
        tokens.expect(";")
        return label == "optional"

    def _group(self, field: pb.FieldDescriptorProto, nested: Any, depth: int) -> None:
        name = self._tokens.name()
        field.name, field.type, field.type_name = name.lower(), _FIELD.TYPE_GROUP, name
        self._number_and_options(field)
        group = nested.add(name=name)
        self._body(group, depth + 1)

    def _number_and_options(self, field: pb.FieldDescriptorProto) -> None:
        tokens = self._tokens
        tokens.expect("=")
        number = tokens.integer()
        if not 0 < number < _LAST_NUMBER:
            raise tokens.error(f"field {field.name!r} has the number {number}, expected 1 to {_LAST_NUMBER - 1}")
        field.number = number
        for name, value in self._bracketed():
            match name, value:
                case "default", _:
                    field.default_value = _default(field, value)
                case "json_name", bytes():
                    field.json_name = value.decode(errors="replace")
                case "packed" | "deprecated", "true" | "false":
                    setattr(field.options, name, value == "true")
                case _:
                    _set_feature(field.options, name, value)

    def _map(self, field: pb.FieldDescriptorProto) -> pb.DescriptorProto:
        tokens = self._tokens
        tokens.next()
        tokens.expect("<")
        key = tokens.name()
        if key not in _SCALARS or key in ("double", "float", "bytes"):
            raise tokens.error(f"a map cannot have keys of type {key!r}")
        tokens.expect(",")
        kind = tokens.full_name()
        tokens.expect(">")
        field.name = tokens.name()
        field.label = _FIELD.LABEL_REPEATED
        self._number_and_options(field)
        tokens.expect(";")
        entry = pb.DescriptorProto(name=_entry_name(field.name))
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL, type=_SCALARS[key])
        value = entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL)
        if kind in _SCALARS:
            value.type = _SCALARS[kind]
        else:
            value.type_name = kind
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, entry.name
        return entry

    def _oneof(self, message: pb.DescriptorProto, depth: int) -> None:
        tokens = self._tokens
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=tokens.name())
        tokens.expect("{")
        while not tokens.take("}"):
            if tokens.take(";"):
                continue
            if tokens.peek() == "option":
                tokens.next()
                self._option(message.oneof_decl[index].options)
                continue
            field = message.field.add()
            self._field(field, message.nested_type, depth, in_oneof=True)
            field.oneof_index = index

    def _enum(self, enum: pb.EnumDescriptorProto) -> None:
        tokens = self._tokens
        enum.name = tokens.name()
        tokens.expect("{")
        while not tokens.take("}"):
            if tokens.take(";"):
                continue
            if tokens.peek() == "option" and tokens.peek(1) != "=":
                tokens.next()
                self._option(enum.options)
            elif tokens.peek() == "reserved" and tokens.peek(1) != "=":
                tokens.next()
                self._ranges(enum, "reserved")
            else:
                value = enum.value.add(name=tokens.name())
                tokens.expect("=")
                value.number = self._enum_number()
                list(self._bracketed())
                tokens.expect(";")

    def _enum_number(self) -> int:
        number = self._tokens.integer()
        if not -_LAST_ENUM - 1 <= number <= _LAST_ENUM:
            raise self._tokens.error(f"the number {number} of an enum has more than 32 bits")
        return number

    def _ranges(self, owner: Any, word: str) -> None:
        tokens = self._tokens
        while True:
            if tokens.is_string():
                owner.reserved_name.append(tokens.string().decode(errors="replace"))
            elif tokens.peek()[:1].isalpha():
                owner.reserved_name.append(tokens.name())
            else:
                self._range(owner, word)
            if not tokens.take(","):
                break
        list(self._bracketed())
        tokens.expect(";")

    def _range(self, owner: Any, word: str) -> None:
        tokens, is_enum = self._tokens, isinstance(owner, pb.EnumDescriptorProto)
        start = end = self._enum_number()
        if tokens.take("to"):
            most = _LAST_ENUM if is_enum else _LAST_NUMBER - 1
            end = most if tokens.take("max") else self._enum_number()
        found = (owner.extension_range if word == "extensions" else owner.reserved_range).add()
        found.start, found.end = start, end if is_enum else end + 1

    def _extend(self, extensions: Any, nested: Any, depth: int) -> None:
        tokens = self._tokens
        extendee = tokens.full_name()
        tokens.expect("{")
        while not tokens.take("}"):
            if not tokens.take(";"):
                field = extensions.add(extendee=extendee)
                if self._field(field, nested, depth) and self._file.syntax == "proto3":
                    field.proto3_optional = True

    def _option(self, options: Any) -> None:
        tokens = self._tokens
        name = self._option_name()
        tokens.expect("=")
        value = self._constant()
        tokens.expect(";")
        if name in ("java_package", "allow_alias", "deprecated", "message_set_wire_format", "java_multiple_files"):
            if name in options.DESCRIPTOR.fields_by_name:
                setattr(options, name, value.decode(errors="replace") if isinstance(value, bytes) else value == "true")
        else:
            _set_feature(options, name, value)

    def _option_name(self) -> str:
        tokens = self._tokens
        found = ""
        while True:
            if tokens.take("("):
                found += f"({tokens.full_name()})"
                tokens.expect(")")
            else:
                found += tokens.name()
            if not tokens.take("."):
                return found
            found += "."

    def _bracketed(self) -> Iterator[tuple[str, Any]]:
        tokens = self._tokens
        if not tokens.take("["):
            return
        while True:
            name = self._option_name()
            tokens.expect("=")
            yield name, self._constant()
            if not tokens.take(","):
                break
        tokens.expect("]")

    def _constant(self) -> Any:
        """A string as bytes, another constant as its text; a message is skipped."""
        tokens = self._tokens
        if tokens.is_string():
            return tokens.string()
        if tokens.peek() in ("{", "["):
            self._skip_block()
            return None
        sign = "-" if tokens.take("-") else ""
        tokens.take("+")
        return sign + tokens.next()

    def _skip_block(self) -> None:
        """Skip what stands in braces; strings cannot be mistaken for braces, because they are tokens."""
        tokens = self._tokens
        if tokens.peek() not in _BALANCED:
            raise tokens.error(f"expected '{{', found {tokens.peek() or 'the end'!r}")
        waiting = [_BALANCED[tokens.next()]]
        while waiting:
            token = tokens.next()
            if token == waiting[-1]:
                waiting.pop()
            elif token in _BALANCED:
                waiting.append(_BALANCED[token])


def _entry_name(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _default(field: pb.FieldDescriptorProto, value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    if field.type == _FIELD.TYPE_BYTES:
        return "".join(chr(byte) if 32 <= byte < 127 and byte not in b"\"'\\" else f"\\{byte:03o}" for byte in value)
    return value.decode(errors="replace")


def _set_feature(options: Any, name: str, value: Any) -> None:
    feature = name.removeprefix("features.")
    if name.startswith("features.") and feature in _FEATURES and isinstance(value, str):
        field = options.features.DESCRIPTOR.fields_by_name[feature]
        if value in field.enum_type.values_by_name:
            setattr(options.features, feature, field.enum_type.values_by_name[value].number)
