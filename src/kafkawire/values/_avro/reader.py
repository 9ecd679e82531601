"""Avro values, read by fastavro.

Rules:
- A value is resolved to the reader's schema. Without one, the schema of the writer is the reader's.
- All bytes belong to the value; bytes that are left mean another schema, and are an error.
"""

from __future__ import annotations

import io
import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import fastavro
from fastavro.read import SchemaResolutionError

from kafkawire.values._avro.guard import guard_of
from kafkawire.values._avro.schema import parse_avro
from kafkawire.values._plain import plain
from kafkawire.values._reading import naming_malformed
from kafkawire.values.errors import MalformedValueError

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkawire.values._avro.columns import Convert
    from kafkawire.values._avro.schema import Parsed
    from kafkawire.values.schemas import Schema

_ERRORS: Final = (
    *(EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, ArithmeticError, struct.error),
    *(MemoryError, SchemaResolutionError, AssertionError),
)


class AvroReader:
    """Reads values of one writer's schema."""

    def __init__(self, writer: Schema, reader: Schema | None = None, *, plain_times: bool = False) -> None:
        self._plain_times = plain_times
        self._writer = parse_avro(writer)
        self._reader = None if reader is None or reader == writer else parse_avro(reader)
        self._guard = guard_of(self._writer)

    def value(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        return self._read(payload, self._writer, self._reader)

    def plain(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        return plain(self.value(payload))

    def cell(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        writer, reader, convert = self._stripped
        found = self._read(payload, writer, reader, return_named_type=True)
        if convert is None or found is None:
            return found
        with naming_malformed("a value of the Avro schema", *_ERRORS):
            return convert(found)

    @property
    def arrow_type(self) -> pa.DataType:
        from kafkawire.values._avro.columns import column_of

        return column_of(self._writer if self._reader is None else self._reader, plain_times=self._plain_times)[0]

    @cached_property
    def _stripped(self) -> tuple[Parsed, Parsed | None, Convert]:
        """Both schemas without logical types, and how decoded values become cells."""
        from kafkawire.values._avro.columns import column_of, without_logical_types

        convert = column_of(self._writer if self._reader is None else self._reader, plain_times=self._plain_times)[1]
        writer = fastavro.parse_schema(without_logical_types(self._writer))
        reader = None if self._reader is None else fastavro.parse_schema(without_logical_types(self._reader))
        return writer, reader, convert

    def _read(self, payload: bytes | memoryview, writer: Parsed, reader: Parsed | None, **how: bool) -> Any:
        if self._guard is not None:
            self._guard.check(payload)
        source = io.BytesIO(payload)
        with naming_malformed("a value of the Avro schema", *_ERRORS):
            found = fastavro.schemaless_reader(source, writer, reader, **how)  # type: ignore[arg-type]
        left = len(payload) - source.tell()
        if left:
            raise MalformedValueError(f"the bytes are not a value of the Avro schema: {left} bytes are left after it")
        return found


def write_avro(value: Any, schema: Schema) -> bytes:
    """The bytes of a value."""
    target = io.BytesIO()
    with naming_malformed("writable with the Avro schema", *_ERRORS):
        fastavro.schemaless_writer(target, parse_avro(schema), value)
    return target.getvalue()
