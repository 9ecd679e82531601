"""Decoded keys and values of topics on Spark: columns, evolution, records that cannot be decoded, and wrong options."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from tests.spark.filled_broker import FilledBroker
from tests.spark.output_tables import read_table, rows_in_order

from kafkawire.cli.main import main
from kafkawire.spark._topics.values import parse_values, value_types
from kafkawire.spark.errors import SourceOptionError
from kafkawire.testing import RunningRegistry
from kafkawire.values import Schema, SchemaRegistry, SchemaType
from kafkawire.values._framing import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
}
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "int"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "lines", "type": {"type": "array", "items": LINE}},
    {"name": "tags", "type": {"type": "map", "values": ["null", "string"]}},
    {"name": "any", "type": ["null", "int", "string"]},
]
NEW_FIELDS = [{"name": "id", "type": "long"}, *FIELDS[1:], {"name": "paid", "type": "boolean", "default": False}]
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ORDER: dict[str, Any] = {
    "id": 7,
    "price": Decimal("1.50"),
    "day": date(2026, 1, 2),
    "at": MOMENT,
    "clock": time(1, 2, 3),
    "lines": [{"sku": "s", "count": 2}],
    "tags": {"a": None, "b": "x"},
    "any": "text",
}
PROTO = 'syntax = "proto3"; message Order { int32 id = 1; repeated string tags = 2; }'


def avro(fields: list[dict[str, Any]]) -> Schema:
    return Schema(json.dumps({"type": "record", "name": "Order", "fields": fields}))


def avro_bytes(schema: Schema, value: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(schema.text)), value)
    return target.getvalue()


@pytest.fixture(scope="module")
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def url(broker: FilledBroker) -> Iterator[str]:
    """A registry with two versions of orders, and a topic with records of both, a tombstone, and one that is none."""
    old, new = avro(FIELDS), avro(NEW_FIELDS)
    with RunningRegistry(broker) as running:
        with SchemaRegistry(running.url) as registry:
            heads = [frame_of(registry.register("orders-value", schema)) for schema in (old, new)]
        broker.create_topic("orders")
        values = [
            heads[0] + avro_bytes(old, ORDER),
            heads[1] + avro_bytes(new, {**ORDER, "id": 2**40, "any": 5, "paid": True}),
            None,
            heads[0] + b"\x01",
            frame_of(99) + b"x",
        ]
        broker.append("orders", 0, [(b"\x08\x05", value, 0, ()) for value in values])
        yield running.url


def options(broker: FilledBroker, url: str, **more: str) -> dict[str, str]:
    own = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "orders", "value.format": "avro"}
    return {**own, "schema.registry.url": url, **{name.replace("_", "."): text for name, text in more.items()}}


def test_columns_are_nested_and_of_the_last_schema(spark: SparkSession, broker: FilledBroker, url: str) -> None:
    given = options(broker, url, mode="PERMISSIVE", key_format="protobuf", key_schema=PROTO, key_framing="none")
    frame = spark.read.format("kafkawire").options(**given).load()
    kind = dict(frame.dtypes)["value"]
    assert kind == (
        "struct<id:bigint,price:decimal(10,2),day:date,at:timestamp,clock:bigint,lines:array<struct<sku:string,count:int>>,"
        "tags:map<string,string>,any:struct<member0:int,member1:string>,paid:boolean>"
    )
    rows = frame.orderBy("offset").collect()
    first, second = (row["value"].asDict(recursive=True) for row in rows[:2])
    expected = {**ORDER, "clock": 3_723_000_000, "paid": False, "any": {"member0": None, "member1": "text"}}
    assert {**first, "at": first["at"].replace(tzinfo=UTC)} == expected
    assert (second["id"], second["any"], second["paid"]) == (2**40, {"member0": 5, "member1": None}, True)
    assert [row["value"] is None for row in rows] == [False, False, True, True, True]
    assert [bool(row["value_fault"]) for row in rows] == [False, False, False, True, True]
    assert [row["value_bytes"] is not None for row in rows] == [False, False, False, True, True]
    assert rows[0]["key"].asDict() == {"id": 5, "tags": []}


def test_a_bad_record_fails_the_query_or_is_dropped_by_choice(
    spark: SparkSession, broker: FilledBroker, url: str
) -> None:
    dropped = spark.read.format("kafkawire").options(**options(broker, url, mode="DROPMALFORMED")).load()
    assert dropped.select("value.id").count() == 3
    strict = spark.read.format("kafkawire").options(**options(broker, url)).load()
    with pytest.raises(Exception, match="orders-0 at offset 3, value: the bytes are not a value of the Avro schema"):
        strict.collect()


def test_a_schema_of_the_user_selects_columns_and_a_stream_has_them_too(
    spark: SparkSession, broker: FilledBroker, url: str, tmp_path: Path
) -> None:
    given = options(broker, url, mode="PERMISSIVE", value_column="decoded", startingOffsets="earliest")
    schema = "decoded struct<id int>, value binary, offset bigint"
    pinned = {**given, "value.schema": avro([FIELDS[0]]).text}
    query = (
        spark.readStream.format("kafkawire").options(**pinned).schema(schema).load()
        .writeStream.format("parquet").option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    assert query.awaitTermination(60)
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("offset").collect()
    assert [row["decoded"] and row["decoded"]["id"] for row in rows] == [7, None, None, None, None]
    assert [row["value"] is None for row in rows] == [False, False, True, False, False]


WRONG: list[tuple[dict[str, str], str]] = [
    ({"value.format": "xml"}, "expected avro, protobuf, json"),
    ({"value.format": "avro"}, "expected schema.registry.url or value.schema"),
    ({"value.format": "avro", "value.schema": "no-such.avsc"}, "neither a schema nor a file"),
    ({"value.format": "avro", "value.schema": "{"}, "is not JSON"),
    ({"value.schema": "{}"}, "value.schema: needs value.format"),
    ({"schema.registry.url": "http://x"}, "needs value.format or key.format"),
    ({"value.format": "json", "mode": "SOME"}, "expected FAILFAST, PERMISSIVE, DROPMALFORMED"),
    ({"value.format": "json", "table": "batches"}, "only for the table records"),
    ({"value.format": "avro", "schema.registry.url": "x"}, "is not the URL of a Schema Registry"),
    ({"value.format": "avro", "schema.registry.url": "http://x", "subscribe": "a,b"}, "expected value.subject"),
    ({"value.format": "avro", "schema.registry.url": "http://x", "schema.registry.foo": "1"}, "unknown option 'foo'"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_wrong_options_name_what_is_expected(given: dict[str, str], words: str) -> None:
    with pytest.raises(SourceOptionError, match=words):
        parse_values({"subscribe": "orders", **given})


def test_a_schema_may_be_a_file_and_json_needs_none(tmp_path: Path) -> None:
    file = tmp_path / "orders.proto"
    file.write_text(PROTO)
    found = parse_values({"Value.Format": "protobuf", "value.schema": str(file), "key.format": "json"})
    assert found is not None
    assert {name: kind.simpleString() for name, kind in value_types(found).items()} == {
        "key": "string",
        "value": "struct<id:int,tags:array<string>>",
    }
    assert found.value is not None
    assert found.value.schema == Schema(PROTO, SchemaType.PROTOBUF)


@pytest.mark.usefixtures("spark")
def test_a_pipeline_adds_decoded_columns_beside_the_bytes(broker: FilledBroker, url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    servers = broker.bootstrap_servers
    arguments = ["pipeline", "run", "--source", "topic", "orders", "-b", servers, "--out", str(out), "--json"]
    secret = url.replace("http://", "http://ann:secret@")
    assert main([*arguments, "-s", "value=avro", "-r", secret]) in (0, 1)
    rows = rows_in_order(read_table(out, "records"))
    assert [row["decoded_value"] and row["decoded_value"]["id"] for row in rows] == [7, 2**40, None, None, None]
    assert [bool(row["value_fault"]) for row in rows] == [False, False, False, True, True]
    assert [row["value"] is None for row in rows] == [False, False, True, False, False]
    assert "secret" not in (out / "manifest.json").read_text() + (out / "report.html").read_text()
