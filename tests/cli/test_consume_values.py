"""`kafkawire consume -s`: keys and values with schemas, from a registry or files, as text, JSON and Parquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from kafkawire.cli.main import main
from kafkawire.values import Schema, SchemaRegistry
from kafkawire.values._framing import frame_of

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.testing import RunningBroker, RunningRegistry

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},{"name":"note","type":"string"}]}'


@pytest.fixture
def url(kafka_broker: RunningBroker, schema_registry: RunningRegistry) -> str:
    """The registry, beside a topic with two orders, a tombstone and a value that is none."""
    with SchemaRegistry(schema_registry.url) as registry:
        head = frame_of(registry.register("orders-value", Schema(ORDER)))
    kafka_broker.create_topic("orders")
    kafka_broker.produce("orders", head + b"\x0e\x04hi", b"\x00\x00\x00\x05")
    kafka_broker.produce("orders", head[:0] + b"\x10\x02x", b"\x00\x00\x00\x06", headers=[("__value_schema_id", head)])
    kafka_broker.produce("orders", None, b"\x00\x00\x00\x07")
    kafka_broker.produce("orders", head + b"\xff", b"\x00\x00\x00\x08")
    return schema_registry.url


def consume(broker: RunningBroker, *arguments: str) -> int:
    return main(["consume", "-b", broker.bootstrap_servers, "orders", "-e", *arguments])


def test_json_has_the_values_themselves(
    kafka_broker: RunningBroker, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert consume(kafka_broker, "-c", "3", "-J", "-s", "value=avro", "-s", "key=i", "-r", url) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["payload"] for each in found] == [{"id": 7, "note": "hi"}, {"id": 8, "note": "x"}, None]
    assert [each["key"] for each in found] == [5, 6, 7]


def test_text_has_json(kafka_broker: RunningBroker, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["-c", "2", "-K", ":", "-s", "avro", "-s", "key=i", "-X", f"schema.registry.url={url}"]
    assert consume(kafka_broker, *options) == 0
    assert capsys.readouterr().out == '5:{"id": 7, "note": "hi"}\n6:{"id": 8, "note": "x"}\n'


@pytest.mark.parametrize(("bad", "rows"), [("bytes", 4), ("skip", 3)])
def test_a_bad_value_is_printed_or_skipped_by_choice(
    kafka_broker: RunningBroker, url: str, bad: str, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert consume(kafka_broker, "-J", "-s", "value=avro", "-r", url, "--bad-values", bad) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == rows
    assert ["fault" in each for each in found] == [False, False, False, True][:rows]


def test_a_bad_value_ends_the_command_with_its_place(
    kafka_broker: RunningBroker, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert consume(kafka_broker, "-s", "value=avro", "-r", url) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert "orders-0 at offset 3, value: the bytes are not a value of the Avro schema" in err
    assert "--bad-values bytes" in err


@pytest.mark.parametrize("bad", ["bytes", "skip"])
def test_parquet_has_typed_columns(kafka_broker: RunningBroker, url: str, bad: str, tmp_path: Path) -> None:
    file = tmp_path / "orders.parquet"
    assert consume(kafka_broker, "-o", str(file), "-s", "value=avro", "-r", url, "--bad-values", bad) == 0
    table = parquet.read_table(file)
    rows = [{"id": 7, "note": "hi"}, {"id": 8, "note": "x"}, None, None]
    assert table["value"].to_pylist() == rows[: 4 if bad == "bytes" else 3]
    assert ("value_fault" in table.column_names) == (bad == "bytes")
    if bad == "bytes":
        assert table["value_bytes"].to_pylist()[:3] == [None] * 3
        assert table["value_bytes"][3].as_py().endswith(b"\xff")


def test_bare_values_have_the_schema_of_a_file(
    kafka_broker: RunningBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "order.proto").write_text('syntax = "proto3"; message A {} message Order { int32 id = 1; }')
    kafka_broker.create_topic("orders")
    kafka_broker.produce("orders", b"\x08\x07")
    assert consume(kafka_broker, "-s", f"value=protobuf:{tmp_path / 'order.proto'}#Order") == 0
    assert json.loads(capsys.readouterr().out) == {"id": 7}


@pytest.mark.parametrize("options", [["-K", " "], ["-J"]])
def test_half_of_a_surrogate_pair_is_printed_escaped(
    kafka_broker: RunningBroker, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_broker.create_topic("orders")
    kafka_broker.produce("orders", b'{"s": "\\ud800"}', b'"\\ud800"')
    assert consume(kafka_broker, "-s", "json", *options) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)["payload"] if "-J" in options else json.loads(line.removeprefix("\\ud800 "))
    assert found == {"s": "\ud800"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-s", "value=avro"], "expected a registry (-r URL) or a schema"),
        (["-s", "body=avro", "-r", "http://x"], "expected key=FORMAT or value=FORMAT"),
        (["-s", "value=xml", "-r", "http://x"], "expected avro, protobuf, json or characters"),
        (["-r", "http://x"], "-r needs -s"),
        (["-s", "avro", "-r", "nowhere"], "nowhere is not a directory"),
        (["-s", "avro", "-r", "http://x", "-X", "schema.registry.foo=1"], "unknown option 'foo'"),
    ],
)
def test_wrong_options_say_what_is_expected(
    kafka_broker: RunningBroker, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_broker.create_topic("orders")
    assert consume(kafka_broker, *options) != 0
    assert words in capsys.readouterr().err
