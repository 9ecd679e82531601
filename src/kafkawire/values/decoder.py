"""A decoder of keys or values: bytes in, Python objects, JSON or columns out.

Rules:
- With a registry, or a directory in its place, values are framed: each names the schema that wrote it. A schema given
  besides is that of the reader, to which values are resolved. `framed` says otherwise.
- Without a registry the given schema is that of writer and reader, and values are bare unless `framed`.
- A null stays null. A value that cannot be decoded raises; as part of a column it is null, with its fault.
- An unreachable registry is never a fault of a value: it always raises.
- Avro's times of day are times; with `plain_times`, columns have their numbers, for readers without such a type.
- Importing this module imports no library of a format; making a decoder does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire._extras import naming_extras
from kafkawire.values._framing import parse_frame
from kafkawire.values.errors import FramingError, MalformedValueError, SchemaError, UnknownSchemaError
from kafkawire.values.files import SchemaFiles, read_schema_file
from kafkawire.values.registry import SchemaRegistry
from kafkawire.values.schemas import Schema, SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    import pyarrow as pa

    from kafkawire.values._framing import Frame, Headers
    from kafkawire.values._reading import Reader

FORMATS: Final = {"avro": SchemaType.AVRO, "protobuf": SchemaType.PROTOBUF, "json": SchemaType.JSON}
_MOST_READERS: Final = 1000
FAULTS: Final = (FramingError, MalformedValueError, SchemaError, UnknownSchemaError)
"""The errors that are those of one value."""


class Column(NamedTuple):
    """Decoded values, and the faults of those that could not be decoded, by row."""

    values: pa.Array[Any]
    faults: dict[int, str]


@dataclass
class Decoder:
    """Decodes the values of one format; call it with bytes.

    >>> orders = Schema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}')
    >>> Decoder("avro", schema=orders)(b"\\x0e")
    {'id': 7}
    """

    format: str = "avro"
    registry: SchemaRegistry | SchemaFiles | str | None = None
    schema: Schema | str | Path | None = None
    framed: bool | None = None
    message: str = ""
    is_key: bool = False
    plain_times: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SchemaError(f"format {self.format!r}: expected {', '.join(FORMATS)}")
        if isinstance(self.registry, str):
            is_url = self.registry.startswith(("http://", "https://"))
            self.registry = SchemaRegistry(self.registry) if is_url else SchemaFiles(self.registry)
        if isinstance(self.schema, (str, Path)):
            self.schema = read_schema_file(self.schema)
        self._type = FORMATS[self.format]
        if self.schema is not None and self.schema.type is not self._type:
            raise SchemaError(f"the format is {self.format}, but the schema is of type {self.schema.type}")
        if self.registry is None and self.schema is None and self.format != "json":
            raise SchemaError(f"{self.format} needs a Schema Registry or a schema")
        self._framed = self.registry is not None if self.framed is None else self.framed
        self._readers: dict[int | UUID | None, Reader] = {}
        if self.registry is None:
            self._reader(None)  # a wrong schema, or a missing library, fails here and not at the first value

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_readers": {}}

    def __call__(self, data: bytes | None, headers: Headers = ()) -> Any:
        """A value as Python has it."""
        if data is None:
            return None
        frame = self._frame(data, headers)
        return self._reader(frame.schema).value(frame.payload, frame.indexes)

    def plain(self, data: bytes | None, headers: Headers = ()) -> Any:
        """A value as JSON has it."""
        if data is None:
            return None
        frame = self._frame(data, headers)
        return self._reader(frame.schema).plain(frame.payload, frame.indexes)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column, which the schema of the reader gives."""
        if self.schema is None and (self.registry is not None or self.format != "json"):
            raise SchemaError("columns need the schema of the reader")
        with naming_extras("a column of values"):
            return self._columns_reader().arrow_type

    def column(self, data: Sequence[bytes | None], headers: Iterable[Headers | None] | None = None) -> Column:
        """A column of values; the faults are those of rows that could not be decoded and are null."""
        import pyarrow as pa

        kind = self.arrow_type
        cells: list[Any] = []
        faults: dict[int, str] = {}
        every = iter(headers) if headers is not None else None
        for row, each in enumerate(data):
            found = (next(every) if every is not None else None) or ()
            try:
                cells.append(None if each is None else self._cell(each, found))
            except FAULTS as error:
                cells.append(None)
                faults[row] = str(error)
        try:
            return Column(pa.array(cells, kind), faults)
        except _CELL_ERRORS:
            for row, cell in enumerate(cells):
                try:
                    pa.array([cell], kind)
                except _CELL_ERRORS as error:
                    cells[row], faults[row] = None, f"the value does not fit its column: {error}"
            return Column(pa.array(cells, kind), dict(sorted(faults.items())))

    def _cell(self, data: bytes, headers: Headers) -> Any:
        frame = self._frame(data, headers)
        return self._reader(frame.schema).cell(frame.payload, frame.indexes)

    def _frame(self, data: bytes, headers: Headers) -> Frame:
        from kafkawire.values._framing import Frame

        if not self._framed:
            return Frame(_BARE, (), data)
        return parse_frame(data, headers, is_key=self.is_key, has_indexes=self._type is SchemaType.PROTOBUF)

    def _reader(self, schema: int | UUID | None) -> Reader:
        key = None if self.registry is None else schema
        reader = self._readers.get(key)
        if reader is None:
            if len(self._readers) >= _MOST_READERS:
                self._readers.clear()
            reader = self._readers[key] = self._made(key)
        return reader

    def _made(self, key: int | UUID | None) -> Reader:
        if self.registry is None or key is None or key == _BARE:
            return self._columns_reader()
        assert not isinstance(self.registry, str)
        writer = self.registry.schema(key)
        if writer.type is not self._type:
            raise SchemaError(f"schema {key} is of type {writer.type}, expected {self._type}")
        assert self.schema is None or isinstance(self.schema, Schema)
        return _reader_of(writer, self.schema, self.message, self.plain_times)

    def _columns_reader(self) -> Reader:
        """The reader of values that the schema of the reader wrote."""
        assert self.schema is None or isinstance(self.schema, Schema)
        if self.schema is not None:
            return _reader_of(self.schema, None, self.message, self.plain_times)
        if self.format != "json":
            raise SchemaError(f"bare values of {self.format} need a schema")
        from kafkawire.values._json.reader import JsonReader

        return JsonReader(None)


_BARE: Final = -1
_CELL_ERRORS: Final = (ValueError, OverflowError, TypeError, ArithmeticError)


def _reader_of(writer: Schema, reader: Schema | None, message: str, plain_times: bool) -> Reader:
    with naming_extras(f"values of type {writer.type}"):
        match writer.type:
            case SchemaType.AVRO:
                from kafkawire.values._avro.reader import AvroReader

                return AvroReader(writer, reader, plain_times=plain_times)
            case SchemaType.PROTOBUF:
                from kafkawire.values._protobuf.reader import ProtobufReader

                return ProtobufReader(writer, reader, message)
            case SchemaType.JSON:
                from kafkawire.values._json.reader import JsonReader

                return JsonReader(reader or writer)
