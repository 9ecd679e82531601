"""`kafkawire produce`: lines, keys, headers, files."""

from __future__ import annotations

import argparse
import io
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.main import main
from kafkawire.client._bulk.reader import BulkReader

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.topics import Topics


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 1)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def rows(broker: Topics, topic: str) -> list[dict[str, Any]]:
    with BulkReader(broker.bootstrap) as reader:
        return [row for batch in reader.read(topic, 0, 0) for row in batch.to_pylist()]


def pairs(broker: Topics, topic: str) -> list[tuple[Any, Any]]:
    return [(row["key"], row["value"]) for row in rows(broker, topic)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_each_line_is_a_record(broker: Topics, topic: str, stdin: Any, codec: str) -> None:
    stdin(b"one\ntwo\n\nfour")
    assert main(["produce", topic, "-b", broker.bootstrap, "-z", codec]) == 0
    assert pairs(broker, topic) == [(None, b"one"), (None, b"two"), (None, b""), (None, b"four")]


def test_a_key_stands_before_its_delimiter(broker: Topics, topic: str, stdin: Any) -> None:
    stdin(b"k1:v:1\nno delimiter\n:empty\nk2:\n")
    assert main(["produce", "-b", broker.bootstrap, "-t", topic, "-K:", "-Z"]) == 0
    assert pairs(broker, topic) == [(b"k1", b"v:1"), (None, b"no delimiter"), (None, b"empty"), (b"k2", None)]


def test_a_fixed_key_headers_and_another_delimiter(broker: Topics, topic: str, stdin: Any) -> None:
    stdin(b"a\tb")
    assert main(["produce", topic, "-b", broker.bootstrap, "-k", "K", "-H", "h=1", "-H", "g=x=y", "-D", "\\t"]) == 0
    assert pairs(broker, topic) == [(b"K", b"a"), (b"K", b"b")]
    assert rows(broker, topic)[0]["headers"] == [{"key": "h", "value": b"1"}, {"key": "g", "value": b"x=y"}]


def test_a_file_is_one_record_or_its_lines(broker: Topics, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"line 1\nline 2\n")
    assert main(["produce", topic, str(path), "-b", broker.bootstrap]) == 0
    assert main(["produce", topic, str(path), "-b", broker.bootstrap, "-l"]) == 0
    assert [value for _, value in pairs(broker, topic)] == [b"line 1\nline 2\n", b"line 1", b"line 2"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ([], {"linger_ms": 5, "bootstrap_servers": "k:1"}),
        (["-X", "linger.ms=7"], {"linger_ms": "7"}),
        (["-X", "queue.buffering.max.ms=8", "-X", "linger_ms=9"], {"linger_ms": "9"}),
        (["-X", "bootstrap.servers=other:1"], {"bootstrap_servers": "other:1"}),
        (["-F"], {"linger_ms": "3", "acks": "1"}),
        (["-X", "linger_ms=4", "-F"], {"linger_ms": "4", "acks": "1"}),
        (["-X", "acsk=1"], {"acsk": "1"}),
    ],
)
def test_an_option_has_one_value_whatever_it_is_called(
    typed: list[str], meant: dict[str, object], tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("linger.ms=3\nacks = 1\n")
    parser = argparse.ArgumentParser()
    add_client_options(parser)
    arguments = [*typed, str(properties)] if "-F" in typed else typed
    config = client_config(parser.parse_args(["-b", "k:1", *arguments]), linger_ms=5)
    assert {name: config[name] for name in meant} == meant


def test_any_option_of_the_client_may_be_given(broker: Topics, topic: str, stdin: Any, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(f"# where\nbootstrap.servers = {broker.bootstrap}\nacks=1\n")
    stdin(b"x")
    assert main(["produce", topic, "-F", str(properties), "-X", "client.id=mine"]) == 0
    assert pairs(broker, topic) == [(None, b"x")]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["produce"], 2, "no topic: expected kafkawire produce TOPIC"),
        (["produce", "t", "-X", "acsk=1"], 1, "no option 'acsk' for the producer; did you mean 'acks'?"),
        (["produce", "t", "-X", "acks"], 2, "-X 'acks': expected NAME=VALUE"),
        (["produce", "t", "-H", "x"], 2, "-H 'x': expected NAME=VALUE"),
        (["produce", "t", "-b", "127.0.0.1:1"], 1, "no broker answers: 127.0.0.1:1"),
        (["produce", "t", "-b", "host:port"], 1, "bootstrap server 'host:port': expected host:port"),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], code: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert complaint in capsys.readouterr().err


def test_a_record_that_is_refused_is_a_failure(
    broker: Topics, topic: str, stdin: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin(b"x")
    assert main(["produce", topic, "-b", broker.bootstrap, "-p", "7"]) == 1
    assert "-7: the topic has 1 partitions" in capsys.readouterr().err
