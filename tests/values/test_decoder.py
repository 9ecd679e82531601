"""Decoding values: framing, types as Python objects and as columns, evolution, faults and hostile bytes."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from kafkawire.values import (
    Decoder,
    FramingError,
    MalformedValueError,
    RegistryError,
    Schema,
    SchemaError,
    SchemaFiles,
    SchemaType,
    UnknownSchemaError,
    read_schema_file,
)
from kafkawire.values._framing import frame_of, parse_frame
from kafkawire.values._protobuf.schema import compile_protobuf

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.testing import RunningRegistry

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-567812345678")


def avro(fields: list[Any], name: str = "R") -> Schema:
    return Schema(json.dumps({"type": "record", "name": name, "fields": fields}))


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def avro_bytes(schema: Schema, value: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(schema.text)), value)
    return target.getvalue()


LINE = {
    "type": "record",
    "name": "Line",
    "fields": [field("sku", "string"), field("at", {"type": "int", "logicalType": "date"})],
}
TYPES: dict[str, tuple[Any, Any, pa.DataType, Any]] = {
    "boolean": ("boolean", True, pa.bool_(), True),
    "int": ("int", -5, pa.int32(), -5),
    "long": ("long", 2**40, pa.int64(), 2**40),
    "double": ("double", 1.5, pa.float64(), 1.5),
    "bytes": ("bytes", b"\x00\xff", pa.binary(), b"\x00\xff"),
    "fixed": ({"type": "fixed", "name": "F", "size": 2}, b"ab", pa.binary(), b"ab"),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", pa.string(), "B"),
    "null": ("null", None, pa.string(), None),
    "array": (
        {"type": "array", "items": ["null", "int"]},
        [1, None],
        pa.list_(pa.field("element", pa.int32())),
        [1, None],
    ),
    "map": ({"type": "map", "values": "long"}, {"a": 1}, pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    "optional": (["null", "string"], None, pa.string(), None),
    "numbers": (["int", "long"], 2**40, pa.int64(), 2**40),
    "union of records": (
        ["null", LINE, "string", "boolean"],
        {"sku": "s", "at": date(2026, 1, 2)},
        pa.struct(
            [
                ("member0", pa.struct([("sku", pa.string()), ("at", pa.date32())])),
                ("member1", pa.string()),
                ("member2", pa.bool_()),
            ]
        ),
        {"member0": {"sku": "s", "at": date(2026, 1, 2)}, "member1": None, "member2": None},
    ),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        Decimal("-123.45"),
        pa.decimal128(10, 2),
        Decimal("-123.45"),
    ),
    "large decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 1},
        Decimal("1" * 50 + ".5"),
        pa.string(),
        "1" * 50 + ".5",
    ),
    "timestamp-millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        MOMENT,
        pa.timestamp("us", "UTC"),
        MOMENT,
    ),
    "timestamp-micros": (
        {"type": "long", "logicalType": "timestamp-micros"},
        MOMENT,
        pa.timestamp("us", "UTC"),
        MOMENT,
    ),
    "local-timestamp": (
        {"type": "long", "logicalType": "local-timestamp-millis"},
        MOMENT.replace(tzinfo=None),
        pa.timestamp("us"),
        MOMENT.replace(tzinfo=None),
    ),
    "time-millis": ({"type": "int", "logicalType": "time-millis"}, time(1, 2, 3), pa.time64("ns"), time(1, 2, 3)),
    "uuid": ({"type": "string", "logicalType": "uuid"}, ID, pa.string(), str(ID)),
    "uuid of bytes": (
        {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
        ID.bytes,
        pa.string(),
        str(ID),
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_an_avro_type_is_an_object_and_a_cell_of_its_type(name: str) -> None:
    kind, value, arrow, cell = TYPES[name]
    schema = avro([field("a", kind)])
    data = avro_bytes(schema, {"a": value})
    decoder = Decoder("avro", schema=schema)
    assert decoder(data)["a"] == value
    column = decoder.column([data, None])
    assert column.faults == {}
    assert column.values.type == pa.struct([("a", arrow)])
    assert column.values.to_pylist() == [{"a": cell}, None]


def test_nested_records_arrays_and_maps_become_nested_columns() -> None:
    schema = avro([field("lines", {"type": "map", "values": {"type": "array", "items": LINE}})])
    value = {"lines": {"x": [{"sku": "s", "at": date(2026, 1, 2)}]}}
    column = Decoder("avro", schema=schema).column([avro_bytes(schema, value)])
    assert column.values.to_pylist() == [{"lines": [("x", value["lines"]["x"])]}]


def test_a_recursive_record_is_json_within_itself() -> None:
    schema = avro([field("n", "int"), field("next", ["null", "R"])])
    data = avro_bytes(schema, {"n": 1, "next": {"n": 2, "next": {"n": 3, "next": None}}})
    column = Decoder("avro", schema=schema).column([data])
    assert column.values.to_pylist() == [{"n": 1, "next": '{"n":2,"next":{"n":3,"next":null}}'}]


def test_values_are_resolved_to_the_schema_of_the_reader(tmp_path: Path) -> None:
    old = avro(
        [
            field("id", "int"),
            field("gone", "string"),
            field("kind", {"type": "enum", "name": "K", "symbols": ["A", "B"]}),
        ]
    )
    new = avro(
        [
            field("number", "long", aliases=["id"]),
            field("kind", {"type": "enum", "name": "K", "symbols": ["A", "OTHER"], "default": "OTHER"}),
            field("paid", "boolean", default=True),
        ]
    )
    (tmp_path / "3.avsc").write_text(old.text)
    decoder = Decoder("avro", registry=SchemaFiles(tmp_path), schema=new)
    data = frame_of(3) + avro_bytes(old, {"id": 7, "gone": "x", "kind": "B"})
    assert decoder(data) == {"number": 7, "kind": "OTHER", "paid": True}
    assert decoder.column([data]).values.to_pylist() == [{"number": 7, "kind": "OTHER", "paid": True}]


PROTO = Schema(
    """syntax = "proto3"; package shop;
    import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
    import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto";
    message Other { int32 a = 1; }
    message Order {
      int32 id = 1; optional string note = 2; repeated Line lines = 3; map<int32, Line> by_number = 4;
      oneof pay { string card = 5; int64 cash = 6; }
      google.protobuf.Timestamp at = 7; google.protobuf.Duration took = 8; google.protobuf.Int64Value maybe = 9;
      google.protobuf.Struct more = 10; State state = 11; uint64 big = 12; Order parent = 13; Empty empty = 14;
      message Line { string sku = 1; uint32 count = 2; } message Empty {}
    }
    enum State { UNKNOWN = 0; OPEN = 1; }""",
    SchemaType.PROTOBUF,
)


def proto_bytes(value: dict[str, Any], name: str = "Order", schema: Schema = PROTO) -> bytes:
    message = GetMessageClass(compile_protobuf(schema).message_named(name))()
    data: bytes = ParseDict(value, message).SerializeToString()
    return data


def test_a_protobuf_message_is_an_object_and_a_cell() -> None:
    data = proto_bytes(
        {
            "id": 7, "lines": [{"sku": "s", "count": 2**32 - 1}], "byNumber": {"1": {"sku": "t"}}, "cash": "0",
            "at": "2026-01-02T03:04:05.678Z", "took": "1.5s", "maybe": "0", "more": {"a": [1, None]}, "state": "OPEN",
            "big": str(2**64 - 1), "parent": {"id": 8}, "empty": {},
        }
    )  # fmt: skip
    decoder = Decoder("protobuf", schema=PROTO, message="Order")
    line = {"sku": "s", "count": 2**32 - 1}
    expected = {
        "id": 7, "note": None, "lines": [line], "by_number": {1: {"sku": "t", "count": 0}}, "card": None, "cash": 0,
        "at": MOMENT, "took": timedelta(seconds=1.5), "maybe": 0, "more": {"a": [1.0, None]}, "state": "OPEN",
        "big": 2**64 - 1, "empty": {},
    }  # fmt: skip
    found = decoder(data)
    assert found.pop("parent")["id"] == 8
    assert found == expected
    cell: Any
    (cell,) = decoder.column([data]).values.to_pylist()
    assert json.loads(cell.pop("parent"))["id"] == 8
    assert cell == expected | {
        "by_number": [(1, {"sku": "t", "count": 0})],
        "more": '{"a":[1.0,null]}',
        "empty": "{}",
        "big": Decimal(2**64 - 1),
    }
    bare: Any
    (bare,) = decoder.column([b""]).values.to_pylist()
    assert (bare["id"], bare["note"], bare["at"], bare["lines"], bare["state"]) == (0, None, None, [], "UNKNOWN")


def test_a_path_names_a_nested_message_and_columns_are_of_one_message(tmp_path: Path) -> None:
    (tmp_path / "5.proto").write_text(PROTO.text)
    line = frame_of(5, [1, 0]) + proto_bytes({"sku": "s"}, "Order.Line")
    order = frame_of(5, [1]) + proto_bytes({"id": 7})
    decoder = Decoder("protobuf", registry=SchemaFiles(tmp_path))
    assert decoder(line) == {"sku": "s", "count": 0}
    assert decoder(order)["id"] == 7
    columns = Decoder("protobuf", registry=SchemaFiles(tmp_path), schema=PROTO, message="Order.Line")
    found = columns.column([line, order])
    assert found.values.to_pylist() == [{"sku": "s", "count": 0}, None]
    assert found.faults == {1: "the message is shop.Order, expected shop.Order.Line"}


JSON_SCHEMA = Schema(
    json.dumps(
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "price": {"type": "number"},
                "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
                "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}},
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "any": {},
                "tree": {"$ref": "#"},
            },
            "required": ["id"],
            "definitions": {"tag": {"type": "object", "properties": {"name": {"type": "string"}}}},
        }
    ),
    SchemaType.JSON,
)


def test_a_json_document_becomes_a_struct_and_is_checked() -> None:
    decoder = Decoder("json", schema=JSON_SCHEMA)
    value = {"id": 7, "price": 2, "tags": [{"name": "a", "x": 1}], "counts": {"a": 1}, "any": [1], "tree": {"id": 8}}
    found = decoder.column([json.dumps(value).encode(), b'{"id": "x"}', b'{"price": 1}', b"{", b"[" * 100_000])
    assert found.values.to_pylist()[0] == {
        "id": 7, "price": 2.0, "note": None, "tags": [{"name": "a"}], "counts": [("a", 1)], "any": "[1]",
        "tree": '{"id":8}',
    }  # fmt: skip
    assert sorted(found.faults) == [1, 2, 3, 4]
    assert "at id: 'x' is not of type 'integer'" in found.faults[1]


def test_json_needs_no_schema_and_opens_no_urls() -> None:
    assert Decoder("json")(b'{"a": [1]}') == {"a": [1]}
    remote = Schema('{"$ref": "http://127.0.0.1:9/x.json"}', SchemaType.JSON)
    with pytest.raises(MalformedValueError):
        Decoder("json", schema=remote)(b"{}")


SMALL = avro([field("a", "int"), field("b", "string")])
GOOD = avro_bytes(SMALL, {"a": 1, "b": "xy"})


@pytest.mark.parametrize("data", [GOOD[:-1], GOOD + b"\x00", b"", b"\xff" * 20, b"\x02\x7f", b"\x02\x02\xff"])
def test_bytes_that_do_not_fit_are_a_fault_and_never_a_value(data: bytes) -> None:
    decoder = Decoder("avro", schema=SMALL)
    with pytest.raises(MalformedValueError):
        decoder(data)
    assert list(decoder.column([GOOD, data]).faults) == [1]


def test_every_cut_and_every_changed_byte_is_a_value_or_a_fault() -> None:
    schema = avro(
        [
            field(name.replace(" ", "_").replace("-", "_"), kind)
            for name, (kind, *_) in TYPES.items()
            if "record" not in name and name != "uuid of bytes"
        ]
    )
    row = {name.replace(" ", "_").replace("-", "_"): value for name, (_, value, *_) in TYPES.items()}
    data = avro_bytes(schema, row)
    decoder = Decoder("avro", schema=schema)
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        for each in (data[:at], damaged):
            found = decoder.column([each])
            assert (found.values[0].as_py() is None) == bool(found.faults)


def test_a_value_nested_too_deep_is_a_fault_and_does_not_crash() -> None:
    linked = avro([field("next", ["null", "R"])])
    with pytest.raises(MalformedValueError, match="nested deeper than 200"):
        Decoder("avro", schema=linked)(b"\x02" * 1_000_000 + b"\x00")
    with pytest.raises(MalformedValueError):
        Decoder("protobuf", schema=PROTO, message="Order")(b"\x6a\x04" * 300)


@pytest.mark.parametrize(
    "item", ["null", {"type": "record", "name": "E", "fields": []}, {"type": "fixed", "name": "Z", "size": 0}]
)
def test_an_array_of_elements_without_bytes_is_bounded(item: Any) -> None:
    schema = avro([field("a", {"type": "array", "items": item})])
    with pytest.raises(MalformedValueError, match="without bytes"):
        Decoder("avro", schema=schema)(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00")


def test_a_number_that_no_column_can_hold_is_a_fault_of_its_row() -> None:
    schema = avro([field("a", {"type": "long", "logicalType": "timestamp-millis"})])
    rows = [avro_bytes(schema, {"a": each}) for each in (1, 2**62, 3)]
    found = Decoder("avro", schema=schema).column(rows)
    assert list(found.faults) == [1]
    assert found.values.null_count == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\x00\x00\x00", "has 3 bytes, expected at least 5"),
        (b"\x01abc", "expected at least 17"),
        (b"{}", "begins with byte 0x7b"),
        (b"\x00\x00\x00\x00\x05\xce\x01", "103 indexes"),
        (b"\x00\x00\x00\x00\x05\x02", "ends within the path"),
        (b"\x00\x00\x00\x00\x05\x02\x01", "index -1"),
        (b"\x00\x00\x00\x00\x05\xff\xff\xff\xff\xff\x01", "more than 32 bits"),
    ],
)
def test_a_wrong_frame_says_what_was_expected(data: bytes, words: str) -> None:
    with pytest.raises(FramingError, match=words):
        parse_frame(data, has_indexes=True)


def test_a_header_counts_before_the_bytes_and_the_last_one_counts() -> None:
    headers = [
        ("__value_schema_id", frame_of(1)),
        ("x", b""),
        ("__value_schema_id", frame_of(ID)),
        ("__key_schema_id", b""),
    ]
    assert parse_frame(b"\x00abc", headers) == (ID, (), b"\x00abc")
    assert parse_frame(frame_of(9) + b"k", [("__value_schema_id", frame_of(1))], is_key=True) == (9, (), b"k")


def test_ids_that_nobody_knows_are_faults_but_a_dead_registry_is_an_error(schema_registry: RunningRegistry) -> None:
    decoder = Decoder("avro", registry=schema_registry.url, schema=SMALL)
    with pytest.raises(UnknownSchemaError, match="99"):
        decoder(frame_of(99))
    assert list(decoder.column([frame_of(99)]).faults) == [0]
    schema_registry.stop()
    with pytest.raises(RegistryError, match="does not answer"):
        decoder.column([frame_of(98)])
    schema_registry.start()
    assert not isinstance(decoder.registry, (str, SchemaFiles))
    assert decoder.registry is not None
    decoder.registry.close()


def test_a_decoder_is_pickled_without_its_connection(schema_registry: RunningRegistry) -> None:
    decoder = Decoder("avro", registry=schema_registry.url, schema=SMALL)
    again = pickle.loads(pickle.dumps(decoder))
    assert again.arrow_type == decoder.arrow_type


def test_schema_files_refer_to_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "shop.Line.avsc").write_text('{"type":"record","name":"Line","namespace":"shop","fields":[]}')
    (tmp_path / "order.avsc").write_text(
        '{"type":"record","name":"O","fields":[{"name":"l","type":["null","shop.Line"]}]}'
    )
    (tmp_path / "line.proto").write_text('syntax = "proto3"; message Line { string sku = 1; }')
    (tmp_path / "order.proto").write_text('syntax = "proto3"; import "line.proto"; message O { Line line = 1; }')
    (tmp_path / "line.json").write_text('{"type": "integer"}')
    (tmp_path / "order.json").write_text('{"type": "object", "properties": {"l": {"$ref": "line.json"}}}')
    assert Decoder("avro", schema=tmp_path / "order.avsc")(b"\x02") == {"l": {}}
    assert Decoder("protobuf", schema=tmp_path / "order.proto")(b"\x0a\x03\x0a\x01s") == {"line": {"sku": "s"}}
    assert Decoder("json", schema=tmp_path / "order.json").arrow_type == pa.struct([("l", pa.int64())])
    with pytest.raises(SchemaError, match=r"no-such\.avsc"):
        read_schema_file(tmp_path / "no-such.avsc")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"format": "xml"}, "expected avro, protobuf, json"),
        ({"format": "avro"}, "needs a Schema Registry or a schema"),
        ({"format": "protobuf", "schema": SMALL}, "but the schema is of type AVRO"),
        ({"format": "protobuf", "schema": PROTO, "message": "Nope"}, "no message 'Nope'; it has Other, Order"),
        ({"format": "avro", "registry": "ftp://x"}, "not a directory"),
    ],
)
def test_a_wrong_decoder_fails_when_it_is_made(how: dict[str, Any], words: str) -> None:
    with pytest.raises((SchemaError, RegistryError), match=words):
        Decoder(**how)


def test_a_decimal_of_too_many_digits_is_a_fault_and_never_rounded() -> None:
    schema = avro([field("a", {"type": "bytes", "logicalType": "decimal", "precision": 60})])
    rows = [b"\x02\x07", b"\x80\x10" + b"\x7f" * 1024]
    found = Decoder("avro", schema=schema).column(rows)
    assert found.values.to_pylist() == [{"a": "7"}, None]
    assert found.faults == {1: "a decimal has more than 60 digits"}


def test_columns_of_framed_json_need_a_schema(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"type": "object", "properties": {"a": {"type": "integer"}}}')
    decoder = Decoder("json", registry=SchemaFiles(tmp_path))
    assert decoder(frame_of(1) + b'{"a": 1}') == {"a": 1}
    with pytest.raises(SchemaError, match="columns need the schema of the reader"):
        decoder.column([frame_of(1) + b'{"a": 1}'])


@pytest.mark.parametrize(("kind", "library"), [("avro", "fastavro"), ("protobuf", "protobuf"), ("json", "jsonschema")])
def test_a_missing_library_names_the_extra(kind: str, library: str) -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('fastavro', 'google', 'google.protobuf', 'jsonschema',"
        " 'referencing')))\n"
        "from kafkawire.values import Decoder, Schema, SchemaType\n"
        "kind = sys.argv[1]\n"
        "try: Decoder(kind, schema=Schema('{}', SchemaType[kind.upper()]))\n"
        "except ImportError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", program, kind], capture_output=True, text=True, check=True)
    assert f"needs the library {library}, which is not installed: pip install 'kafkawire[values]'" in found.stdout
