"""Protobuf messages as structs: the types of Arrow, and the parts of a message as Python objects or cells.

Rules:
- A field with presence (optional, oneof, message) is null where it is not set. Another field has its default value.
- Enums are names; a number without a name is its digits. uint32 is a long, uint64 a decimal of 20 digits.
- Timestamp is a timestamp, Duration an interval; wrappers are their values. Struct, Value, ListValue, FieldMask, and
  messages that are recursive or empty, are JSON.
- As Python objects, values of JSON are dicts and lists, and times are those of `datetime`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from google.protobuf import descriptor_pb2 as pb
from google.protobuf import json_format

from kafkawire.values._nesting import ColumnCount
from kafkawire.values._plain import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.descriptor import Descriptor, FieldDescriptor

    Convert = Callable[[Any], Any]

_FIELD: Final = pb.FieldDescriptorProto
_TYPES: Final[dict[int, pa.DataType]] = {
    _FIELD.TYPE_DOUBLE: pa.float64(),
    _FIELD.TYPE_FLOAT: pa.float32(),
    _FIELD.TYPE_BOOL: pa.bool_(),
    _FIELD.TYPE_STRING: pa.string(),
    _FIELD.TYPE_BYTES: pa.binary(),
    _FIELD.TYPE_ENUM: pa.string(),
    **dict.fromkeys((_FIELD.TYPE_INT32, _FIELD.TYPE_SINT32, _FIELD.TYPE_SFIXED32), pa.int32()),
    **dict.fromkeys((_FIELD.TYPE_INT64, _FIELD.TYPE_SINT64, _FIELD.TYPE_SFIXED64), pa.int64()),
    **dict.fromkeys((_FIELD.TYPE_UINT32, _FIELD.TYPE_FIXED32), pa.int64()),
    **dict.fromkeys((_FIELD.TYPE_UINT64, _FIELD.TYPE_FIXED64), pa.decimal128(20, 0)),
}
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_JSON: Final = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "FieldMask"))
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Shape(NamedTuple):
    """The type of a column, and how a part of a message becomes an object or a cell."""

    type: pa.DataType
    convert: Convert | None


def message_shape(message: Descriptor, *, as_cells: bool) -> Shape:
    """The shape of a message: for columns, or for objects of Python."""
    return _Shapes(as_cells=as_cells).of(message, ())


class _Shapes:
    def __init__(self, *, as_cells: bool) -> None:
        self._as_cells = as_cells
        self._columns = ColumnCount()
        self._objects: dict[str, Shape] = {}
        """The shapes of messages as objects, which do not depend on the place of the message."""

    def of(self, message: Descriptor, above: tuple[str, ...]) -> Shape:
        as_cells, name = self._as_cells, message.full_name
        if name == _TIMESTAMP:
            return Shape(pa.timestamp("us", "UTC"), _micros if as_cells else _moment)
        if name == _DURATION:
            return Shape(pa.duration("us"), _micros if as_cells else _span)
        if name in _WRAPPERS:
            kind, convert = self._single(message.fields_by_name["value"], above)
            return Shape(kind, (lambda found: found.value) if convert is None else (lambda found: convert(found.value)))
        if name in _JSON or (as_cells and (name in above or not message.fields)):
            return Shape(pa.string(), _as_text if as_cells else as_json)
        if as_cells:
            return self._message(message, above)
        if name in above:
            return Shape(pa.string(), lambda found: self._objects[name].convert(found))  # type: ignore[misc]
        if name not in self._objects:
            self._objects[name] = self._message(message, above)
        return self._objects[name]

    def _message(self, message: Descriptor, above: tuple[str, ...]) -> Shape:
        fields = [(field, self._field(field, (*above, message.full_name))) for field in message.fields]
        parts = [(field.name, field.has_presence, shape.convert) for field, shape in fields]

        def convert_message(found: Any) -> dict[str, Any]:
            row: dict[str, Any] = {}
            for label, has_presence, convert in parts:
                if has_presence and not found.HasField(label):
                    row[label] = None
                else:
                    value = getattr(found, label)
                    row[label] = value if convert is None else convert(value)
            return row

        return Shape(pa.struct([pa.field(field.name, shape.type) for field, shape in fields]), convert_message)

    def _field(self, field: FieldDescriptor, above: tuple[str, ...]) -> Shape:
        self._columns.add()
        as_cells = self._as_cells
        if not field.is_repeated:
            return self._single(field, above)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            of_key = self._single(field.message_type.fields_by_name["key"], above)
            of_value = self._single(field.message_type.fields_by_name["value"], above)
            convert = of_value.convert

            def convert_map(found: Any) -> Any:
                values = {key: found[key] if convert is None else convert(found[key]) for key in found}
                return list(values.items()) if as_cells else values

            return Shape(pa.map_(of_key.type, of_value.type), convert_map)
        one = self._single(field, above)
        many = list if one.convert is None else lambda found: [one.convert(each) for each in found]  # type: ignore[misc]
        return Shape(pa.list_(pa.field("element", one.type)), many)

    def _single(self, field: FieldDescriptor, above: tuple[str, ...]) -> Shape:
        if field.message_type is not None:
            return self.of(field.message_type, above)
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            return Shape(_TYPES[_FIELD.TYPE_ENUM], lambda number: names.get(number, str(number)))
        return Shape(_TYPES[field.type], None)


def _span(found: Any) -> timedelta:
    return timedelta(microseconds=_micros(found))


def _micros(found: Any) -> int:
    """Microseconds, rounded down."""
    return int(found.seconds) * 1_000_000 + int(found.nanos) // 1000


def _moment(found: Any) -> datetime:
    return _EPOCH + timedelta(microseconds=_micros(found))


def as_json(found: Any) -> Any:
    """A message as the JSON of Protobuf, with the names of the schema and with fields that have their default."""
    return json_format.MessageToDict(
        found,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
        descriptor_pool=found.DESCRIPTOR.file.pool,  # an Any may have the types that the schema defines or imports
    )


def _as_text(found: Any) -> str:
    return json_text(as_json(found))
