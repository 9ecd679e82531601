"""Protobuf values, read by Google's library, which limits the depth of messages itself.

Rules:
- The path in the frame names the message in the schema of the writer; without a path it is the first, or the one that
  the caller names.
- With a schema of the reader, the message of the same name there reads the bytes, because fields are known by their
  numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kafkawire.values._protobuf.schema import compile_protobuf
from kafkawire.values._reading import naming_malformed
from kafkawire.values.errors import MalformedValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from kafkawire.values.schemas import Schema

_ERRORS = (DecodeError, ValueError, TypeError, KeyError, OverflowError, json_format.Error)


class ProtobufReader:
    """Reads values of one writer's schema."""

    def __init__(self, writer: Schema, reader: Schema | None = None, message: str = "") -> None:
        self._writer = compile_protobuf(writer)
        self._reader = None if reader is None else compile_protobuf(reader)
        self._wanted = (self._reader or self._writer).message_named(message) if reader or message else None
        self._classes: dict[tuple[int, ...], Any] = {}
        self._shapes: dict[tuple[str, bool], Callable[[Any], Any]] = {}

    def value(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        return self._converted(payload, indexes, as_cells=False)

    def cell(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        return self._converted(payload, indexes, as_cells=True)

    def plain(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        from kafkawire.values._protobuf.columns import as_json

        with naming_malformed("a message of the Protobuf schema", *_ERRORS):
            return as_json(self._parse(payload, indexes))

    @property
    def arrow_type(self) -> pa.DataType:
        from kafkawire.values._protobuf.columns import message_shape

        return message_shape(self._column, as_cells=True).type

    @property
    def _column(self) -> Any:
        """The message that columns are made of."""
        return self._wanted or self._writer.message_named("")

    def _converted(self, payload: bytes | memoryview, indexes: tuple[int, ...], *, as_cells: bool) -> Any:
        from kafkawire.values._protobuf.columns import message_shape

        with naming_malformed("a message of the Protobuf schema", *_ERRORS):
            found = self._parse(payload, indexes)
            if as_cells and found.DESCRIPTOR.full_name != self._column.full_name:
                raise MalformedValueError(
                    f"the message is {found.DESCRIPTOR.full_name}, expected {self._column.full_name}"
                )
            key = found.DESCRIPTOR.full_name, as_cells
            convert = self._shapes.get(key)
            if convert is None:
                shape = message_shape(found.DESCRIPTOR, as_cells=as_cells)
                assert shape.convert is not None
                convert = self._shapes[key] = shape.convert
            return convert(found)

    def _parse(self, payload: bytes | memoryview, indexes: tuple[int, ...]) -> Any:
        kind = self._classes.get(indexes)
        if kind is None:
            kind = self._classes[indexes] = GetMessageClass(self._message(indexes))
        return kind.FromString(bytes(payload))

    def _message(self, indexes: tuple[int, ...]) -> Any:
        if not indexes:
            return self._wanted or self._writer.message_named("")
        written = self._writer.message_at(indexes)
        if self._wanted is None:
            return written
        if self._wanted.full_name != written.full_name:
            raise MalformedValueError(f"the message is {written.full_name}, expected {self._wanted.full_name}")
        return self._wanted
