"""`kafkawire proxy` on real sockets: a client that knows only the proxy, and its recording."""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
from pathlib import Path

import pytest

from kafkawire.cli.commands.proxy import Printer
from kafkawire.cli.main import main
from kafkawire.inspect._proxy.recording import Recording
from kafkawire.inspect._proxy.server import Proxy
from kafkawire.inspect._tables.read import read_captures
from kafkawire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
)
from kafkawire.wire import decode_response, encode_request, encode_response

CERTIFICATE = Path(__file__).with_name("localhost.pem")  # signed by itself, for localhost and 127.0.0.1


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: Message, key: int, version: int
) -> Message:
    writer.write(encode_request(message, version=version, correlation_id=1, client_id="me"))
    head = await reader.readexactly(4)
    frame = head + await reader.readexactly(struct.unpack(">i", head)[0])
    return decode_response(frame, api_key=key, version=version, correlation_id=1)[1]


def broker(name: str, other: list[int]) -> object:
    """A broker that answers what the test asks; `other` is the port that it says a second broker has."""
    answers: dict[int, tuple[Message, int]] = {
        3: (MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(host="127.0.0.1", port=1)]), 12),
        10: (FindCoordinatorResponse(host="127.0.0.1", port=1), 2),
        12: (HeartbeatResponse(error_code=0 if name == "first" else 27), 4),
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(4):
            body = await reader.readexactly(struct.unpack(">i", head)[0])
            key = struct.unpack_from(">h", body)[0]
            message, version = answers[key]
            if isinstance(message, FindCoordinatorResponse):
                message.port = other[0]
            writer.write(encode_response(message, api_key=key, version=version, correlation_id=1))
        writer.close()

    return serve


async def through_the_proxy(recording: Recording) -> tuple[int, int, int, int]:
    ports: list[int] = []
    first = await asyncio.start_server(broker("first", ports), "127.0.0.1", 0)  # type: ignore[arg-type]
    second = await asyncio.start_server(broker("second", ports), "127.0.0.1", 0)  # type: ignore[arg-type]
    ports.append(second.sockets[0].getsockname()[1])
    upstream = ("127.0.0.1", first.sockets[0].getsockname()[1])
    proxy = Proxy(("127.0.0.1", 0), upstream, None, None, recording, Printer(quiet=False, as_json=True))
    await proxy.start()
    streams = await asyncio.open_connection("127.0.0.1", proxy.port)
    await ask(*streams, MetadataRequest(topics=[]), 3, 12)
    found = await ask(*streams, FindCoordinatorRequest(key="g"), 10, 2)
    assert isinstance(found, FindCoordinatorResponse)
    beat = await ask(*streams, HeartbeatRequest(group_id="g"), 12, 4)
    others = await asyncio.open_connection(found.host, found.port)
    other_beat = await ask(*others, HeartbeatRequest(group_id="g"), 12, 4)
    assert isinstance(beat, HeartbeatResponse)
    assert isinstance(other_beat, HeartbeatResponse)
    for _, writer in (streams, others):
        writer.close()
        await writer.wait_closed()
    await asyncio.sleep(0.05)
    await proxy.stop()
    for server in (first, second):
        server.close()
    return found.port, ports[0], beat.error_code, other_beat.error_code


def test_a_client_reaches_every_broker_through_the_proxy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.pcapng"
    with path.open("wb") as file:
        told, real, first, second = asyncio.run(through_the_proxy(Recording(file)))
    assert told != real
    assert (first, second) == (0, 27)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert '"REBALANCE_IN_PROGRESS"' in lines[-1]
    exchanges = read_captures([path]).tables["exchanges"]
    assert exchanges["api"].to_pylist() == ["Metadata", "FindCoordinator", "Heartbeat", "Heartbeat"]
    assert exchanges["state"].to_pylist() == ["matched"] * 4


async def hung_up_on(*, by_client: bool) -> None:
    """A request of a version that nothing knows, and a broker that closes without an answer; or a client that does."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(17)
        if by_client:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    upstream = ("127.0.0.1", server.sockets[0].getsockname()[1])
    proxy = Proxy(("127.0.0.1", 0), upstream, None, None, None, Printer(quiet=False, as_json=True))
    await proxy.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(struct.pack(">ihhih2sb", 13, 3, 99, 1, 2, b"me", 0))
    await writer.drain()
    if not by_client:
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    await asyncio.sleep(0.05)
    await proxy.stop()
    server.close()


def test_a_request_that_the_broker_hangs_up_on_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(hung_up_on(by_client=False))
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    shown = {name: line[name] for name in ("client", "api", "version", "request", "response", "state")}
    assert shown == {
        "client": "me",
        "api": "Metadata",
        "version": 99,
        "request": 17,
        "response": None,
        "state": "unanswered",
    }


def test_a_client_that_leaves_before_the_answer_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(hung_up_on(by_client=True))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["--listen", "x"], ["--listen", "99999"]])
def test_addresses_that_make_no_sense_are_usage_errors(arguments: list[str]) -> None:
    assert main(["proxy", "--upstream", "localhost:9092", *arguments]) == 2
    assert main(["proxy", "--upstream", "9092", "--listen", "9093"]) == 2


async def behind_tls(recording: Recording, trusted: Path | None) -> Message | None:
    """A heartbeat, in plaintext, through a proxy to a broker that speaks TLS; None where the proxy hangs up."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(CERTIFICATE)
    server = await asyncio.start_server(broker("first", []), "127.0.0.1", 0, ssl=served)  # type: ignore[arg-type]
    upstream = ("127.0.0.1", server.sockets[0].getsockname()[1])
    context = ssl.create_default_context(cafile=trusted)
    proxy = Proxy(("127.0.0.1", 0), upstream, None, context, recording, Printer(quiet=True, as_json=False))
    await proxy.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        return await asyncio.wait_for(ask(reader, writer, HeartbeatRequest(group_id="g"), 12, 4), 10)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        writer.close()
        await asyncio.sleep(0.05)
        await proxy.stop()
        server.close()


def test_tls_to_the_broker_is_plaintext_to_the_client_and_in_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    with path.open("wb") as file:
        assert asyncio.run(behind_tls(Recording(file), CERTIFICATE)) == HeartbeatResponse()
    tables = read_captures([path]).tables
    assert tables["connections"]["kind"].to_pylist() == ["kafka"]
    assert tables["exchanges"]["api"].to_pylist() == ["Heartbeat"]
    assert tables["exchanges"]["state"].to_pylist() == ["matched"]


def test_an_untrusted_broker_is_reported_and_gets_no_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.pcapng"
    with path.open("wb") as file:
        assert asyncio.run(behind_tls(Recording(file), None)) is None
    assert "certificate verify failed" in capsys.readouterr().err
    assert len(read_captures([path]).tables["connections"]) == 0


def test_a_missing_certificate_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "ca.pem")
    assert main(["proxy", "--listen", "0", "--upstream", "localhost:9092", "--tls", "--cafile", missing]) == 2
    assert missing in capsys.readouterr().err
