"""Peers that do everything wrong, while one that does nothing wrong is served throughout."""

from __future__ import annotations

import os
import resource
import struct
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer

from kafkawire.messages import ApiVersionsRequest, FetchRequest, ProduceRequest
from kafkawire.testing import RunningBroker
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

GREETING = ApiVersionsRequest(client_software_name="peer", client_software_version="1")


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with RunningBroker(config={"queued.max.request.bytes": "20000000"}) as running:
        running.create_topic("orders")
        yield running


class WellBehaved:
    """A client that writes and reads back."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._count = 0

    def check(self) -> None:
        value = b"%d" % self._count * 300_000
        data = ProduceRequest.PartitionProduceData(index=0, records=batch(value))
        topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
        answered = self._peer.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
        assert answered.responses[0].partition_responses[0].base_offset == self._count
        asked = FetchRequest.FetchPartition(fetch_offset=self._count, partition_max_bytes=1 << 20)
        fetched = self._peer.call(
            FetchRequest(topics=[FetchRequest.FetchTopic(topic="orders", partitions=[asked])]), 11
        )
        assert values(fetched.responses[0].partitions[0].records) == [value]
        self._count += 1


@pytest.fixture
def good(broker: RunningBroker) -> Iterator[WellBehaved]:
    with Peer(broker) as peer:
        yield WellBehaved(peer)


def test_random_bytes_close_only_their_own_connection(broker: RunningBroker, good: WellBehaved) -> None:
    dice = Random(1)
    for number in range(150):
        with Peer(broker) as bad:
            size = dice.choice((0, 1, 7, 8, 60, 4000))
            body = dice.randbytes(size)
            if number % 2:
                body = struct.pack(">hhi", dice.randrange(100), dice.randrange(20), number) + body
            bad.socket.sendall(struct.pack(">i", len(body)) + body)
        if number % 10 == 0:
            good.check()
    good.check()


def test_promised_frames_take_no_memory(broker: RunningBroker, good: WellBehaved) -> None:
    good.check()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    promising = [Peer(broker) for _ in range(100)]
    for peer in promising:
        peer.socket.sendall(struct.pack(">ihhi", 100_000_000, 0, 9, 1) + os.urandom(1000))
    good.check()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    for peer in promising:
        peer.socket.close()


def test_slow_senders_and_half_open_connections_hold_up_nobody(broker: RunningBroker, good: WellBehaved) -> None:
    frame = encode_request(GREETING, version=3, correlation_id=1, client_id="slow")
    slow = [Peer(broker) for _ in range(20)]
    half = [Peer(broker) for _ in range(20)]
    for peer in half:
        peer.send(GREETING, 3)
        peer.socket.shutdown(1)
    for byte in frame:
        for peer in slow:
            peer.socket.sendall(bytes([byte]))
    good.check()
    for peer in slow:
        assert peer.receive((18, 3, 1)).error_code == 0
        peer.socket.close()
    for peer in half:
        assert peer.receive((18, 3, 1)).error_code == 0
        assert peer.is_closed()
        peer.socket.close()


def test_large_frames_that_never_end_do_not_starve_the_others(broker: RunningBroker, good: WellBehaved) -> None:
    greedy = [Peer(broker) for _ in range(6)]
    for peer in greedy:
        peer.socket.settimeout(0.2)
        try:
            peer.socket.sendall(struct.pack(">i", 90_000_000) + bytes(8_000_000))
        except TimeoutError:
            continue
    good.check()
    held = broker.call(lambda: broker.broker.server.held)
    assert held < 20_000_000 + 90_000_000
    for peer in greedy:
        peer.socket.close()
