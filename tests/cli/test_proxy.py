"""`kafkawire proxy` on real sockets: a client that is told only of the proxy, and the recording of it."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.cli.proxy import Printer, Proxy
from kafkawire.inspect.capture import read_captures
from kafkawire.inspect.sources.recording import Recording
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

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize("arguments", [["--listen", "x"], ["--listen", "99999"]])
def test_addresses_that_make_no_sense_are_usage_errors(arguments: list[str]) -> None:
    assert main(["proxy", "--upstream", "localhost:9092", *arguments]) == 2
    assert main(["proxy", "--upstream", "9092", "--listen", "9093"]) == 2
