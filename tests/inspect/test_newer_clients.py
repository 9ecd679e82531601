"""Clients that are newer than the schemas: their frames are exchanges, with the columns of headers."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import Conversation, write_pcap
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.cli.main import main
from kafkawire.inspect import find_incidents, read_captures
from kafkawire.messages import ApiVersionsResponse, MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.inspect import Reading

NEW = 60  # a version that no API has


def frame(key: int, version: int, correlation: int, body: bytes = b"\1\2\3", client: bytes | None = b"app") -> bytes:
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    head = struct.pack(">hhi", key, version, correlation) + name + b"\0"
    return struct.pack(">i", len(head + body)) + head + body


def answer(correlation: int, body: bytes = b"\0\0\0\0") -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation) + body


def newer(talk: Conversation, key: int, version: int = NEW, reply: bytes | None = b"\0\0\0\0") -> Conversation:
    """An exchange in a version that the schemas do not have."""
    talk.correlation += 1
    talk.send(frame(key, version, talk.correlation)).wait(1)
    if reply is not None:
        talk.send(answer(talk.correlation, reply), from_client=False)
    return talk.wait(1)


def read(tmp_path: Path, talk: Conversation, skipping: int = 0) -> Reading:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(talk.packets[skipping:], nanoseconds=True))
    return read_captures([path])


@pytest.mark.parametrize("key", [0, 3, 18, 93, 500])
def test_a_first_frame_in_an_unknown_version_does_not_hide_the_connection(tmp_path: Path, key: int) -> None:
    talk = newer(Conversation().open(), key)
    talk.exchange(produce(batch(b"a")), produced(5), 9)
    newer(talk, key)
    talk.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 9, b"")), 11)
    reading = read(tmp_path, talk)
    rows = reading.tables["exchanges"].to_pylist()
    assert [row["api_key"] for row in rows] == [key, 0, key, 1]
    assert [row["version"] for row in rows] == [NEW, 9, NEW, 11]
    assert [row["client_id"] for row in rows] == ["app"] * 4
    assert [row["state"] for row in rows] == ["undecoded", "matched", "undecoded", "matched"]
    assert all(row["fault"] for row in rows[::2])
    (connection,) = reading.tables["connections"].to_pylist()
    assert (connection["kind"], connection["skipped_bytes"], connection["undecoded"]) == ("kafka", 0, 2)


def test_every_frame_may_be_of_an_unknown_version(tmp_path: Path) -> None:
    talk = Conversation().open()
    for key in (18, 3, 1, 1, 1):
        newer(talk, key)
    assert [row["state"] for row in read(tmp_path, talk).tables["exchanges"].to_pylist()] == ["undecoded"] * 5


def test_the_answer_to_api_versions_says_what_the_connection_may_use(tmp_path: Path) -> None:
    one = ApiVersionsResponse.ApiVersion(api_key=1, min_version=4, max_version=12)
    for reply in (
        ApiVersionsResponse(error_code=35, api_keys=[one]).encode(0),
        ApiVersionsResponse(api_keys=[one]).encode(4),
        ApiVersionsResponse(api_keys=[one]).encode(4)[:-1] + b"\1\x20\2\0\0",  # a tag that is not known
    ):
        (row,) = read(tmp_path, newer(Conversation().open(), 18, reply=reply)).tables["exchanges"].to_pylist()
        assert row["api_versions"] == [{"api_key": 1, "min": 4, "max": 12}]
        assert row["state"] == "undecoded"


def test_an_unknown_version_after_a_gap_and_in_mid_stream_is_found(tmp_path: Path) -> None:
    talk = Conversation().open()
    for _ in range(6):
        newer(talk, 3)
    rows = read(tmp_path, talk, skipping=5).tables["exchanges"].to_pylist()
    assert [row["state"] for row in rows if row["api_key"] == 3] == ["undecoded"] * 5


@pytest.mark.parametrize(
    "start",
    [
        bytes(40),
        b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(30),
        b"SSH-2.0-OpenSSH_9.6\r\n",
        struct.pack(">ihhih", 30, 3, NEW, 1, 3) + b"a\x00\xff" + bytes(30),
        struct.pack(">ihhih", 30, 3, NEW, -1, 3) + b"app" + bytes(30),
        struct.pack(">ihhih", 12, 3, NEW, 1, 30) + b"app" + bytes(30),
    ],
)
def test_bytes_that_are_not_a_header_are_not_a_request(tmp_path: Path, start: bytes) -> None:
    reading = read(tmp_path, Conversation().open().send(start))
    assert len(reading.tables["exchanges"]) == 0
    assert reading.tables["connections"]["kind"][0].as_py() != "kafka"


def test_a_malformed_first_request_is_an_exchange(tmp_path: Path) -> None:
    talk = Conversation().open().send(frame(3, 12, 1, b"\xff\xff\xff"))
    (row,) = read(tmp_path, talk).tables["exchanges"].to_pylist()
    assert (row["api"], row["version"], row["state"]) == ("Metadata", 12, "unanswered")
    assert row["fault"]


def test_a_client_that_is_too_new_is_diagnosed(tmp_path: Path) -> None:
    talk = newer(Conversation().open(), 18, reply=ApiVersionsResponse(error_code=35).encode(0))
    talk.exchange(MetadataRequest(topics=[]), MetadataResponse(), 9)
    assert not [each for each in find_incidents(read(tmp_path, talk).tables) if each.level == "error"]
    newer(talk, 3, reply=None).close("broker")
    assert "closed-unsupported-version" in {each.rule for each in find_incidents(read(tmp_path, talk).tables)}


def test_the_tree_of_an_exchange_has_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, newer(Conversation().open(), 3))
    assert main(["inspect", str(tmp_path / "x.pcap"), "--tree", "0/0"]) == 0
    text = capsys.readouterr().out
    assert "Metadata" in text
    assert "correlation_id" in text
    assert '"app"' in text


def test_the_lines_of_the_proxy_have_the_header() -> None:
    from kafkawire.inspect._proxy.relay import Relay

    relay = Relay(lambda host, port: (host, port))
    relay.from_client(frame(3, NEW, 7) + frame(500, 0, 8), 0)
    passed, seen = relay.from_broker(answer(7) + answer(8), 1_000_000)
    assert passed == answer(7) + answer(8)
    assert [(each.asked.key, each.asked.version, each.asked.client_id) for each in seen] == [
        (3, NEW, "app"),
        (500, 0, "app"),
    ]


def test_the_proxy_prints_names_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    from kafkawire.cli.commands.proxy import Printer
    from kafkawire.inspect._proxy.relay import Relay

    relay = Relay(lambda host, port: (host, port))
    relay.from_client(frame(3, NEW, 7) + frame(500, 0, 8), 0)
    _, seen = relay.from_broker(answer(7) + answer(8), 1_000_000)
    for each in seen:
        Printer(quiet=False, as_json=True).exchange(("10.0.0.1", 50_000), each)
    named, numbered = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (named["api"], named["version"], named["client"]) == ("Metadata", NEW, "app")
    assert (numbered["api"], numbered["version"]) == ("500", 0)


def test_bytes_after_a_request_are_marked_and_are_not_a_fault(tmp_path: Path) -> None:
    """As librdkafka sends Metadata v12."""
    talk = Conversation().open()
    talk.correlation += 1
    body = MetadataRequest(topics=[]).encode(12)
    talk.send(frame(3, 12, 1, body + bytes(3))).wait(1)
    talk.respond(MetadataResponse(), 12)
    reading = read(tmp_path, talk)
    (row,) = reading.tables["exchanges"].to_pylist()
    assert (row["state"], row["fault"], row["trailing_bytes"]) == ("matched", None, 3)
    assert reading.tables["connections"]["undecoded"][0].as_py() == 0
