"""Confluent's own serialisers against our Schema Registry, and our decoder on their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from kafkawire.values import Decoder, SchemaRegistry
from kafkawire.values._protobuf.parser import parse_proto

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.testing import RunningRegistry

pytestmark = pytest.mark.filterwarnings("ignore")  # of the other libraries

ORDER = """{"type": "record", "name": "Order", "namespace": "shop", "fields": [
  {"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"], "default": null}]}"""
JSON_ORDER = """{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
  "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
  "required": ["id"]}"""
PROTO = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
  message Other { string name = 1; }
  message Order { int32 id = 1; optional string note = 2; google.protobuf.Timestamp at = 3;
    message Line { string sku = 1; } repeated Line lines = 4; }"""


@pytest.fixture
def client(schema_registry: RunningRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": schema_registry.url}) as made:
        yield made


@pytest.fixture
def ours(schema_registry: RunningRegistry) -> Iterator[SchemaRegistry]:
    with SchemaRegistry(schema_registry.url) as made:
        yield made


def context(topic: str = "orders") -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE, [])


def message_class(name: str) -> Any:
    pool = DescriptorPool()
    pool.AddSerializedFile(Timestamp.DESCRIPTOR.file.serialized_pb)
    pool.AddSerializedFile(parse_proto(PROTO, "orders.proto").SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))


def test_avro_values_of_theirs_are_read_by_theirs_and_ours(client: SchemaRegistryClient, ours: SchemaRegistry) -> None:
    data = AvroSerializer(client, ORDER)({"id": 7, "note": "a"}, context())
    assert data is not None
    assert AvroDeserializer(client)(data, context()) == {"id": 7, "note": "a"}
    assert Decoder("avro", registry=ours)(data) == {"id": 7, "note": "a"}
    assert client.get_latest_version("orders-value").version == 1


def test_an_evolved_avro_schema_is_registered_and_resolved(client: SchemaRegistryClient, ours: SchemaRegistry) -> None:
    old = AvroSerializer(client, ORDER)({"id": 7, "note": "a"}, context())
    wider = ORDER.replace('"int"', '"long"').replace("]}", ', {"name": "paid", "type": "boolean", "default": false}]}')
    AvroSerializer(client, wider)({"id": 2**40, "note": None, "paid": True}, context())
    reader = ours.latest("orders-value").schema
    assert Decoder("avro", registry=ours, schema=reader)(old) == {"id": 7, "note": "a", "paid": False}


def test_an_incompatible_avro_schema_is_refused(client: SchemaRegistryClient) -> None:
    AvroSerializer(client, ORDER)({"id": 7, "note": "a"}, context())
    worse = ORDER.replace("]}", ', {"name": "paid", "type": "boolean"}]}')
    with pytest.raises(Exception, match=r"READER_FIELD_MISSING_DEFAULT_VALUE.*paid"):
        AvroSerializer(client, worse)({"id": 7, "note": None, "paid": True}, context())


@pytest.mark.parametrize("name", ["Order", "Other", "Order.Line"])
def test_protobuf_messages_of_theirs_are_read_by_theirs_and_ours(
    client: SchemaRegistryClient, ours: SchemaRegistry, name: str
) -> None:
    kind = message_class(name)
    parts: Any = {"Order": {"id": 7, "lines": [{"sku": "s"}]}, "Other": {"name": "n"}, "Order.Line": {"sku": "s"}}
    value = kind(**parts[name])
    data = ProtobufSerializer(kind, client)(value, context())
    assert data is not None
    theirs = ProtobufDeserializer(kind, {"use.deprecated.format": False}, client)(data, context())
    assert theirs.SerializeToString() == value.SerializeToString()
    expected = {
        "Order": {"id": 7, "note": None, "at": None, "lines": [{"sku": "s"}]},
        "Other": {"name": "n"},
        "Order.Line": {"sku": "s"},
    }
    assert Decoder("protobuf", registry=ours)(data) == expected[name]


def test_json_documents_of_theirs_are_read_by_theirs_and_ours(
    client: SchemaRegistryClient, ours: SchemaRegistry
) -> None:
    data = JSONSerializer(JSON_ORDER, client)({"id": 7, "tags": ["a"]}, context())
    assert data is not None
    assert JSONDeserializer(None, schema_registry_client=client)(data, context()) == {"id": 7, "tags": ["a"]}
    assert Decoder("json", registry=ours)(data) == {"id": 7, "tags": ["a"]}


@pytest.mark.parametrize("kind", ["avro", "protobuf", "json"])
def test_schema_ids_in_headers_are_guids_of_the_registry(
    client: SchemaRegistryClient, ours: SchemaRegistry, kind: str
) -> None:
    how = {"schema.id.serializer": header_schema_id_serializer}
    order = message_class("Order")
    serialise: Any = {
        "avro": lambda: AvroSerializer(client, ORDER, conf=how),
        "protobuf": lambda: ProtobufSerializer(order, client, conf=how),
        "json": lambda: JSONSerializer(JSON_ORDER, client, conf=how),
    }[kind]()
    ctx: Any = context()
    value = order(id=7) if kind == "protobuf" else {"id": 7}
    data = serialise(value, ctx)
    assert [name for name, _ in ctx.headers] == ["__value_schema_id"]
    assert Decoder(kind, registry=ours)(data, ctx.headers)["id"] == 7


def test_references_are_resolved(client: SchemaRegistryClient, ours: SchemaRegistry) -> None:
    line = '{"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}'
    client.register_schema("line", TheirSchema(line, "AVRO"))
    text = '{"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "line", "type": "shop.Line"}]}'
    schema = TheirSchema(text, "AVRO", [SchemaReference("shop.Line", "line", 1)])
    data = AvroSerializer(client, schema)({"line": {"sku": "s"}}, context())
    assert Decoder("avro", registry=ours)(data) == {"line": {"sku": "s"}}
    with pytest.raises(Exception, match="42206"):
        client.delete_version("line", 1)


def test_subjects_are_deleted_first_softly_and_then_for_ever(client: SchemaRegistryClient) -> None:
    number = client.register_schema("s", TheirSchema(ORDER, "AVRO"))
    assert client.delete_subject("s") == [1]
    assert client.get_subjects() == []
    assert client.get_subjects(deleted=True) == ["s"]
    assert client.get_schema(number).schema_str
    assert client.delete_subject("s", permanent=True) == [1]
    assert client.get_subjects(deleted=True) == []


def test_levels_and_checks(client: SchemaRegistryClient) -> None:
    client.register_schema("s", TheirSchema(ORDER, "AVRO"))
    worse = TheirSchema(ORDER.replace("]}", ', {"name": "paid", "type": "boolean"}]}'), "AVRO")
    assert client.get_compatibility() == "BACKWARD"
    assert not client.test_compatibility("s", worse)
    client.set_compatibility("s", "FORWARD")
    assert client.get_compatibility("s") == "FORWARD"
    assert client.test_compatibility("s", worse)
    assert client.register_schema("s", worse) == 2
