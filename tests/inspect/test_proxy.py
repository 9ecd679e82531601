"""The middle of the proxy: clients stay on it, nothing else changes, and what passes can be read back."""

from __future__ import annotations

import asyncio
import gc
import io
import socket
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.inspect.sample_messages import batch, produce, produced

from kafkawire.cli.commands.proxy import Printer
from kafkawire.inspect._capture.connections import index_capture
from kafkawire.inspect._capture.packets import read_packets
from kafkawire.inspect._proxy.recording import Recording
from kafkawire.inspect._proxy.relay import Relay, rewrite_addresses
from kafkawire.inspect._proxy.server import Proxy
from kafkawire.inspect._tables.read import read_captures
from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterResponse,
    FetchResponse,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafkawire.wire import decode_response, encode_request, encode_response

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

NOW = 1_700_000_000_000_000_000


def advertise(host: str, port: int) -> tuple[str, int]:
    return "proxy", port + 10_000


def metadata() -> MetadataResponse:
    return MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="b1", port=9092)])


@pytest.mark.parametrize(
    ("response", "version"),
    [
        (metadata(), 12),
        (FindCoordinatorResponse(node_id=1, host="b1", port=9092), 2),
        (FindCoordinatorResponse(coordinators=[FindCoordinatorResponse.Coordinator(key="g", host="b1", port=9092)]), 4),
        (DescribeClusterResponse(brokers=[DescribeClusterResponse.DescribeClusterBroker(host="b1", port=9092)]), 1),
        (FetchResponse(node_endpoints=[FetchResponse.NodeEndpoint(node_id=1, host="b1", port=9092)]), 16),
        (ProduceResponse(node_endpoints=[ProduceResponse.NodeEndpoint(node_id=1, host="b1", port=9092)]), 10),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else str(value),
)
def test_every_address_of_a_broker_becomes_the_proxys(response: Message, version: int) -> None:
    assert rewrite_addresses(response, advertise)
    encoded = response.encode(version)
    assert b"proxy" in encoded
    assert (19092).to_bytes(4, "big") in encoded
    assert b"b1" not in encoded


def test_a_coordinator_that_is_not_available_stays_without_an_address() -> None:
    response = FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1)
    assert not rewrite_addresses(response, advertise)
    assert (response.host, response.port) == ("", -1)


def test_metadata_passes_rewritten_in_whatever_pieces_it_comes() -> None:
    relay = Relay(advertise)
    relay.from_client(encode_request(MetadataRequest(topics=[]), version=12, correlation_id=5, client_id="me"), NOW)
    frame = encode_response(metadata(), api_key=3, version=12, correlation_id=5)
    steps = [relay.from_broker(frame[index : index + 1], NOW + 7) for index in range(len(frame))]
    passed, seen = b"".join(out for out, _ in steps), [each for _, done in steps for each in done]
    _, read = decode_response(passed, api_key=3, version=12, correlation_id=5)
    assert isinstance(read, MetadataResponse)
    assert (read.brokers[0].host, read.brokers[0].port) == ("proxy", 19092)
    assert [(each.asked.client_id, each.size, each.at - each.asked.at) for each in seen] == [("me", len(frame), 7)]


def test_other_responses_pass_byte_for_byte() -> None:
    relay = Relay(advertise)
    relay.from_client(encode_request(HeartbeatRequest(group_id="g"), version=4, correlation_id=1), NOW)
    frame = encode_response(HeartbeatResponse(error_code=27), api_key=12, version=4, correlation_id=1)
    passed, (seen,) = relay.from_broker(frame, NOW)
    assert passed == frame
    assert isinstance(seen.response, HeartbeatResponse)
    assert seen.response.error_code == 27


def test_a_produce_without_acks_is_over_at_once_and_does_not_shift_the_rest() -> None:
    relay = Relay(advertise)
    quiet = encode_request(produce(batch(b"a"), acks=0), version=9, correlation_id=1)
    asked = encode_request(MetadataRequest(topics=[]), version=12, correlation_id=2)
    assert [each.size for each in relay.from_client(quiet + asked, NOW)] == [0]
    passed, seen = relay.from_broker(encode_response(metadata(), api_key=3, version=12, correlation_id=2), NOW)
    assert b"proxy" in passed
    assert len(seen) == 1


def test_an_api_versions_refusal_is_read_as_version_0() -> None:
    relay = Relay(advertise)
    relay.from_client(encode_request(ApiVersionsRequest(), version=4, correlation_id=1), NOW)
    frame = encode_response(ApiVersionsResponse(error_code=35), api_key=18, version=0, correlation_id=1)
    passed, (seen,) = relay.from_broker(frame, NOW)
    assert passed == frame
    assert isinstance(seen.response, ApiVersionsResponse)


def test_raw_tokens_pass_and_what_follows_is_still_rewritten() -> None:
    relay = Relay(advertise)
    relay.from_client(encode_request(SaslHandshakeRequest(mechanism="PLAIN"), version=0, correlation_id=1), NOW)
    relay.from_broker(encode_response(SaslHandshakeResponse(), api_key=17, version=0, correlation_id=1), NOW)
    relay.from_client(b"\0\0\0\x0c\0user\0secret", NOW)
    assert relay.from_broker(bytes(4), NOW)[0] == bytes(4)
    relay.from_client(encode_request(MetadataRequest(topics=[]), version=12, correlation_id=2), NOW)
    assert b"proxy" in relay.from_broker(encode_response(metadata(), api_key=3, version=12, correlation_id=2), NOW)[0]


def test_tls_passes_through_untouched() -> None:
    relay = Relay(advertise)
    relay.from_client(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", NOW)
    passed = relay.from_broker(b"\x16\x03", NOW)[0] + relay.from_broker(b"\x03\x00\x7a" + bytes(40), NOW)[0]
    assert passed == b"\x16\x03\x03\x00\x7a" + bytes(40)


def test_an_unreadable_response_passes_as_it_is() -> None:
    relay = Relay(advertise)
    relay.from_client(encode_request(MetadataRequest(topics=[]), version=12, correlation_id=2), NOW)
    frame = b"\0\0\0\x06\0\0\0\x02\xff\xff"
    passed, (seen,) = relay.from_broker(frame, NOW)
    assert (passed, seen.response) == (frame, None)


@pytest.mark.parametrize("client", [("10.0.0.1", 50_000), ("::1", 50_000)])
def test_a_recording_reads_back_as_what_was_sent(tmp_path: Path, client: tuple[str, int]) -> None:
    file = io.BytesIO()
    recorded = Recording(file).connection(client, ("10.0.0.9", 9092))
    recorded.open(NOW)
    large = batch(bytes(200_000))
    recorded.sent(
        encode_request(produce(large), version=9, correlation_id=1, client_id="me"), NOW + 1, from_client=True
    )
    answer = encode_response(produced(5), api_key=0, version=9, correlation_id=1)
    recorded.sent(answer, NOW + 5_000_000, from_client=False)
    recorded.close(NOW + 6_000_000, by_client=True)
    path = tmp_path / "x.pcapng"
    path.write_bytes(file.getvalue())
    tables = read_captures([path]).tables
    (connection,) = tables["connections"].to_pylist()
    (exchange,) = tables["exchanges"].to_pylist()
    assert (connection["kind"], connection["closed_by"], connection["gaps"]) == ("kafka", "client", 0)
    assert (exchange["api"], exchange["client_id"], exchange["state"]) == ("Produce", "me", "matched")
    assert exchange["wait_us"] == 4999
    assert tables["batches"]["crc_ok"].to_pylist() == [True]


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    with path.open("wb") as file:
        recording = Recording(file)
        for number, sent in enumerate((encode_request(MetadataRequest(), version=9, correlation_id=1), b"GET / HTTP")):
            recorded = recording.connection(("10.0.0.1", 50_000), ("10.0.0.9", 9092))
            recorded.open(NOW + 10 * number)
            recorded.sent(sent, NOW + 10 * number + 1, from_client=True)
            recorded.close(NOW + 10 * number + 2, by_client=False)
    assert read_captures([path]).tables["connections"]["kind"].to_pylist() == ["kafka", "http"]


def test_ip_headers_of_a_recording_have_a_good_checksum() -> None:
    file = io.BytesIO()
    Recording(file).connection(("10.0.0.1", 1), ("10.0.0.9", 2)).open(NOW)
    data = np.frombuffer(file.getvalue(), np.uint8)
    index = index_capture(data)
    assert len(read_packets(data, index)) == 3
    head = data[index.offset[0] : index.offset[0] + 20].view(">u2").astype(int)
    total = int(head.sum())
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def warnings_of(work: Coroutine[None, None, None]) -> list[str]:
    """The warning about connections that nobody closed; those that earlier tests left are not counted."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gc.collect()
        seen.clear()
        asyncio.run(work)
        gc.collect()
    return [str(warning.message) for warning in seen]


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_taken_while_the_proxy_stops_is_closed(turns: int) -> None:
    async def stop_soon() -> None:
        quiet = Printer(quiet=True, as_json=False)
        proxy = Proxy(("127.0.0.1", 0), ("127.0.0.1", 1), "127.0.0.1", None, None, quiet)
        await proxy.start()
        await asyncio.sleep(0.01)
        with socket.create_connection(("127.0.0.1", proxy.port)):
            for _ in range(turns):
                await asyncio.sleep(0)
            await proxy.stop()

    assert warnings_of(stop_soon()) == []


@pytest.mark.parametrize("turns", range(8))
def test_a_connection_that_ends_while_the_proxy_stops_is_closed(turns: int) -> None:
    async def stop_soon() -> None:
        heard, heard_out = asyncio.Event(), asyncio.Event()

        async def hear_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.set()
            await reader.read()
            writer.close()
            await writer.wait_closed()
            heard_out.set()

        quiet = Printer(quiet=True, as_json=False)
        broker = await asyncio.start_server(hear_out, "127.0.0.1", 0)
        proxy = Proxy(("127.0.0.1", 0), broker.sockets[0].getsockname(), "127.0.0.1", None, None, quiet)
        await proxy.start()
        await asyncio.sleep(0.01)
        with socket.create_connection(("127.0.0.1", proxy.port)):
            await heard.wait()
            await asyncio.sleep(0.01)
        for _ in range(turns):
            await asyncio.sleep(0)
        await proxy.stop()
        await heard_out.wait()
        broker.close()

    assert warnings_of(stop_soon()) == []
