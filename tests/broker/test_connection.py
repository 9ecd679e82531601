"""Connections: order, limits, and what happens to peers that do not keep the rules."""

from __future__ import annotations

import errno
import logging
import struct
import time
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer

from kafkawire.log.storage.memory import MemoryFile
from kafkawire.messages import ApiVersionsRequest, FetchRequest, MetadataRequest, ProduceRequest
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.testing import RunningBroker

GREETING = ApiVersionsRequest(client_software_name="peer", client_software_version="1")


def produce(topic: str, *records: bytes, acks: int = 1) -> ProduceRequest:
    data = [ProduceRequest.PartitionProduceData(index=0, records=each) for each in records]
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


def fetch(topic: str, offset: int = 0, *, max_wait_ms: int = 0) -> FetchRequest:
    asked = FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 26)
    topics = [FetchRequest.FetchTopic(topic=topic, partitions=[asked])]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 26, topics=topics)


def test_pipelined_requests_are_answered_in_order(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    with Peer(kafka_broker) as peer:
        sent = [peer.send(GREETING, 3)]
        sent.append(peer.send(fetch(kafka_topic, max_wait_ms=100), 12))
        sent += [peer.send(MetadataRequest(topics=None), version) for version in (1, 5, 12)]
        answers = [type(peer.receive(each)).__name__ for each in sent]
    assert answers == ["ApiVersionsResponse", "FetchResponse", *["MetadataResponse"] * 3]


def test_a_waiting_request_holds_up_its_own_connection_only(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    with Peer(kafka_broker) as waiting, Peer(kafka_broker) as other:
        polled = waiting.send(fetch(kafka_topic, max_wait_ms=60_000), 12)
        greeted = waiting.send(GREETING, 3)
        other.call(produce(kafka_topic, batch(b"a")), 9)
        found = waiting.receive(polled)
        assert values(found.responses[0].partitions[0].records) == [b"a"]
        assert waiting.receive(greeted).error_code == 0


@pytest.mark.parametrize("size", [1_000, 100_000, 900_000])
def test_requests_and_answers_of_any_size_pass_whole(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: object, size: int
) -> None:
    broker = kafka_broker_factory(tmp_path)
    broker.create_topic("big")
    with Peer(broker) as peer:
        for number in range(3):
            assert peer.call(produce("big", batch(bytes([number]) * size)), 9).responses[0].partition_responses
        found = peer.call(fetch("big"), 12).responses[0].partitions[0]
    assert values(found.records) == [bytes([number]) * size for number in range(3)]


def test_requests_that_come_in_crumbs_are_put_together(kafka_broker: RunningBroker) -> None:
    data = encode_request(GREETING, version=3, correlation_id=1, client_id="peer")
    with Peer(kafka_broker) as peer:
        for byte in data:
            peer.socket.sendall(bytes([byte]))
        assert peer.receive((18, 3, 1)).error_code == 0


def test_a_reader_that_does_not_read_is_not_served_and_gets_everything_later(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: object
) -> None:
    broker = kafka_broker_factory(tmp_path)
    broker.create_topic("big")
    with Peer(broker) as peer, Peer(broker) as slow:
        for _ in range(8):
            peer.call(produce("big", batch(b"x" * 900_000)), 9)
        sent = [slow.send(fetch("big"), 12) for _ in range(8)]
        time.sleep(0.1)
        served = sum(request.api == "Fetch" for request in broker.requests)
        assert served < 8
        sizes = {len(slow.receive(each).responses[0].partitions[0].records) for each in sent}
        assert sizes == {8 * len(batch(b"x" * 900_000))}


def test_small_and_large_answers_to_a_slow_reader_keep_their_order(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: object
) -> None:
    broker = kafka_broker_factory(tmp_path)
    broker.create_topic("big")
    small = encode_request(GREETING, version=3, correlation_id=1, client_id="peer") * 5000
    large = encode_request(fetch("big"), version=12, correlation_id=2, client_id="peer")
    with Peer(broker) as peer, Peer(broker) as slow:
        for _ in range(4):
            peer.call(produce("big", batch(b"x" * 900_000)), 9)
        sender = Thread(target=lambda: slow.socket.sendall((small + large) * 4))
        sender.start()
        time.sleep(0.2)
        for _ in range(4):
            for _ in range(5000):
                assert slow.read_frame()[4:8] == b"\0\0\0\1"
            assert slow.read_frame()[4:8] == b"\0\0\0\2"
        sender.join()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">i", -1), "negative frame size"),
        (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS on a plaintext port"),
        (b"GET / HTTP/1.1\r\n", "HTTP on a Kafka port"),
        (struct.pack(">i", 0), "expected a request header"),
        (struct.pack(">ihhi", 8, 999, 0, 1), "unknown API key 999"),
        (struct.pack(">ihhihb", 11, 3, 99, 1, -1, 0), "Metadata version 99"),
        (struct.pack(">ihhihi", 14, 3, 5, 1, -1, 2**31 - 1), "MetadataRequest v5"),
    ],
    ids=["negative", "huge", "tls", "http", "empty", "unknown api", "unknown version", "absurd array"],
)
def test_bytes_that_are_not_a_request_close_the_connection_with_a_reason(
    kafka_broker: RunningBroker, data: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Peer(kafka_broker) as good, caplog.at_level(logging.WARNING, "kafkawire.broker"):
        with Peer(kafka_broker) as bad:
            bad.socket.sendall(data)
            assert bad.is_closed()
        assert good.call(GREETING, 3).error_code == 0
    assert [reason in record.getMessage() for record in caplog.records] == [True]


def test_an_unknown_version_of_api_versions_is_answered(kafka_broker: RunningBroker) -> None:
    with Peer(kafka_broker) as peer:
        peer.socket.sendall(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0))
        answered = peer.receive((18, 0, 5))
        assert answered.error_code == 35
        assert [(each.api_key, each.max_version) for each in answered.api_keys] == [(18, 5)]
        assert peer.call(GREETING, 4).error_code == 0


def test_bytes_after_a_whole_request_are_ignored(kafka_broker: RunningBroker) -> None:
    data = encode_request(MetadataRequest(topics=None), version=5, correlation_id=1)[4:] + b"more"
    with Peer(kafka_broker) as peer:
        peer.socket.sendall(struct.pack(">i", len(data)) + data)
        assert peer.receive((3, 5, 1)).brokers


def test_acks_zero_is_followed_by_the_next_answer(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    with Peer(kafka_broker) as peer:
        peer.send(produce(kafka_topic, batch(b"a"), acks=0), 9)
        assert peer.call(GREETING, 3).error_code == 0
        assert values(peer.call(fetch(kafka_topic), 12).responses[0].partitions[0].records) == [b"a"]


def test_silent_connections_are_closed(kafka_broker_factory: Callable[..., RunningBroker]) -> None:
    broker = kafka_broker_factory(config={"connections.max.idle.ms": "100"})
    with Peer(broker) as peer:
        assert peer.is_closed()


@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip"])
def test_one_connection_too_many_is_closed(kafka_broker_factory: Callable[..., RunningBroker], name: str) -> None:
    broker = kafka_broker_factory(config={name: "2"})
    with Peer(broker) as first, Peer(broker) as second:
        assert first.call(GREETING, 3).error_code == second.call(GREETING, 3).error_code == 0
        with Peer(broker) as third:
            assert third.is_closed()
        assert first.call(GREETING, 3).error_code == 0


def test_frames_wait_for_memory_and_all_of_them_come_through(
    kafka_broker_factory: Callable[..., RunningBroker],
) -> None:
    broker = kafka_broker_factory(config={"queued.max.request.bytes": "400000", "message.max.bytes": "2000000"})
    broker.create_topic("big")
    peers = [Peer(broker) for _ in range(5)]
    request = encode_request(produce("big", batch(b"x" * 1_000_000)), version=9, correlation_id=1)
    for peer in peers:
        peer.socket.sendall(request[:500_000])
    for peer in reversed(peers):
        peer.socket.setblocking(True)
    for peer in peers:
        peer.socket.sendall(request[500_000:])
    for peer in peers:
        with peer:
            assert peer.receive((0, 9, 1)).responses[0].partition_responses[0].error_code == 0
    assert broker.call(lambda: broker.broker.server.held) == 0


def pipelined(topic: str, *records: bytes) -> bytes:
    """Produce requests that arrive together."""
    numbered = enumerate(produce(topic, each) for each in records)
    return b"".join(encode_request(each, version=9, correlation_id=number) for number, each in numbered)


def test_records_of_requests_that_came_together_are_kept_and_answered_one_by_one(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    with Peer(kafka_broker) as peer:
        peer.socket.sendall(pipelined(kafka_topic, batch(b"a"), b"not a batch", batch(b"b"), batch(b"c")))
        answers = [peer.receive((0, 9, number)) for number in range(4)]
        found = peer.call(fetch(kafka_topic), 12).responses[0].partitions[0]
    told = [each.responses[0].partition_responses[0] for each in answers]
    assert [each.base_offset for each in told] == [0, -1, 1, 2]
    assert [each.error_code for each in told] == [0, 87, 0, 0]
    assert values(found.records) == [b"a", b"b", b"c"]


def test_records_that_came_together_and_could_not_be_written_are_all_refused(
    kafka_broker: RunningBroker, kafka_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with Peer(kafka_broker) as peer, monkeypatch.context() as patch:
        peer.call(produce(kafka_topic, batch(b"kept")), 9)
        patch.setattr(MemoryFile, "write", full)
        peer.socket.sendall(pipelined(kafka_topic, batch(b"a"), batch(b"b")))
        for number in range(2):
            refused = peer.receive((0, 9, number)).responses[0].partition_responses[0]
            assert (refused.error_code, refused.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    with Peer(kafka_broker) as peer:
        told = peer.call(produce(kafka_topic, batch(b"again")), 9).responses[0].partition_responses[0]
        found = peer.call(fetch(kafka_topic), 12).responses[0].partitions[0]
    assert (told.error_code, told.base_offset) == (0, 1)
    assert values(found.records) == [b"kept", b"again"]
