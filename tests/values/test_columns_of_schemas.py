"""Columns of unusual schemas: types within types, unions of numbers, and messages of any type."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

from kafkawire.values import Decoder, Schema, SchemaError, SchemaType
from kafkawire.values._avro.reader import write_avro
from kafkawire.values._nesting import MOST_COLUMNS


def avro_levels(levels: int) -> Schema:
    """A record with two fields of a record with two fields, and so on."""
    found: dict[str, Any] = {"type": "record", "name": f"M{levels}", "fields": [{"name": "x", "type": "int"}]}
    for level in reversed(range(levels)):
        fields = [{"name": "a", "type": found}, {"name": "b", "type": f"M{level + 1}"}]
        found = {"type": "record", "name": f"M{level}", "fields": fields}
    return Schema(json.dumps(found))


def protobuf_levels(levels: int) -> Schema:
    outer = "".join(f"message M{level} {{ M{level + 1} a = 1; M{level + 1} b = 2; }}" for level in range(levels))
    return Schema(f'syntax = "proto3"; {outer} message M{levels} {{ int32 x = 1; }}', SchemaType.PROTOBUF)


def json_levels(levels: int) -> Schema:
    named: dict[str, Any] = {f"M{levels}": {"type": "integer"}}
    for level in range(levels):
        inner = {"$ref": f"#/definitions/M{level + 1}"}
        named[f"M{level}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    return Schema(json.dumps({"$ref": "#/definitions/M0", "definitions": named}), SchemaType.JSON)


LEVELS = {"avro": avro_levels, "protobuf": protobuf_levels, "json": json_levels}


@pytest.mark.parametrize("kind", LEVELS)
def test_types_within_types_are_bounded(kind: str) -> None:
    assert Decoder(kind, schema=LEVELS[kind](8)).arrow_type.num_fields == 2
    with pytest.raises(SchemaError, match=f"more than {MOST_COLUMNS} columns"):
        _ = Decoder(kind, schema=LEVELS[kind](60)).arrow_type


def test_a_protobuf_message_of_many_types_is_an_object_all_the_same() -> None:
    decoder = Decoder("protobuf", schema=protobuf_levels(50))
    assert decoder(b"\x0a\x02\x12\x00") == {"a": {"a": None, "b": {"a": None, "b": None}}, "b": None}


@pytest.mark.parametrize("branches", [["float", "long"], ["null", "double", "int", "string"], ["long", "float"]])
def test_a_whole_number_keeps_its_branch_beside_a_fraction(branches: list[str]) -> None:
    schema = Schema(json.dumps(branches))
    whole = next(each for each in branches if each in ("int", "long"))
    fraction = next(each for each in branches if each in ("float", "double"))
    largest = 2**53 + 1 if whole == "long" else 2**31 - 1
    data = [write_avro((whole, largest), schema), write_avro((fraction, 5.0), schema)]
    found = Decoder("avro", schema=schema).column(data)
    members = [each for each in branches if each != "null"]
    rows: list[Any] = found.values.to_pylist()
    assert rows[0][f"member{members.index(whole)}"] == largest
    assert rows[1][f"member{members.index(fraction)}"] == 5.0
    assert [sum(each is not None for each in row.values()) for row in rows] == [1, 1]


def test_an_any_message_has_the_types_of_its_schema() -> None:
    schema = Schema(
        'syntax = "proto3"; package shop; import "google/protobuf/any.proto";'
        " message Box { google.protobuf.Any what = 1; } message Toy { int32 id = 1; }",
        SchemaType.PROTOBUF,
    )
    decoder = Decoder("protobuf", schema=schema, message="Box")
    inner = AnyMessage(type_url="type.googleapis.com/shop.Toy", value=b"\x08\x07").SerializeToString()
    data = b"\x0a" + bytes([len(inner)]) + inner
    assert decoder.plain(data) == {"what": {"@type": "type.googleapis.com/shop.Toy", "id": 7}}
    assert decoder(data) == {"what": {"type_url": "type.googleapis.com/shop.Toy", "value": b"\x08\x07"}}
