"""Peers that hold the broker's memory, and neighbours that are served all the same."""

from __future__ import annotations

import gc
import os
import socket
import struct
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer

from kafkawire.messages import ApiVersionsRequest, CreateTopicsRequest, FetchRequest, MetadataRequest, ProduceRequest
from kafkawire.testing import RunningBroker
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GREETING = ApiVersionsRequest(client_software_name="peer", client_software_version="1")
BUDGET = 16_000_000
READERS = 150


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with RunningBroker(config={"queued.max.request.bytes": str(BUDGET)}) as running:
        running.create_topic("orders")
        yield running


@pytest.fixture
def crowd(broker: RunningBroker) -> Iterator[Callable[[int], list[Peer]]]:
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(Peer(broker)) for _ in range(count)]


def produce(size: int) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=batch(os.urandom(size)))
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])


def fetch(size: int, offset: int = 0, max_wait_ms: int = 0) -> FetchRequest:
    asked = FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=size)
    topics = [FetchRequest.FetchTopic(topic="orders", partitions=[asked])]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=size, topics=topics)


class Pauses:
    """The time for which the machine did not run a thread of this process that only sleeps.

    Other work on the machine delays that thread as it delays a neighbour. A broker that keeps a neighbour waiting does
    not delay it.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._ended.wait(0.01):
            now = time.perf_counter()
            self.longest = max(self.longest, now - before - 0.01)
            before = now


def longest(peer: Peer, seconds: float) -> float:
    """The longest time that a produce request of 500 KB took meanwhile, without the longest pause of the machine."""
    end = time.monotonic() + seconds
    found = 0.0
    with Pauses() as pauses:
        while time.monotonic() < end:
            began = time.perf_counter()
            answered = peer.call(produce(500_000), 9)
            found = max(found, time.perf_counter() - began)
            assert answered.responses[0].partition_responses[0].error_code == 0
            time.sleep(0.01)
    return found - pauses.longest


def held(broker: RunningBroker) -> int:
    return broker.call(lambda: broker.broker.server.held)


def settled(broker: RunningBroker, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def closed(broker: RunningBroker, kind: str) -> int:
    return broker.call(lambda: broker.broker.metrics.refused.get(kind, 0))


class Dripping:
    """Connections that send most of a frame at once, and then a byte now and then."""

    def __init__(self, peers: list[Peer], total: int, at_once: int) -> None:
        self._start = struct.pack(">ihhi", total, 0, 9, 1) + bytes(at_once)
        self._peers = peers
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        sent = dict.fromkeys(self._peers, 0)
        for peer in sent:
            peer.socket.setblocking(False)
        while not self._ended.wait(0.02):
            for peer, count in sent.items():
                piece = self._start[count : count + 200_000] or b"x"
                with suppress(OSError):
                    sent[peer] += peer.socket.send(piece)


def test_slow_senders_of_large_frames_do_not_delay_a_neighbour(
    broker: RunningBroker, crowd: Callable[[int], list[Peer]], caplog: pytest.LogCaptureFixture
) -> None:
    with Peer(broker) as good:
        good.call(produce(500_000), 9)
        with Dripping(crowd(60), 1_000_000, 900_000):
            assert longest(good, 5) < 2
            assert closed(broker, "slow") > 0
    told = [each.getMessage() for each in caplog.records if "kind=slow" in each.getMessage()]
    assert any("bytes per second, expected 16384" in words for words in told) or any("overdue" in each for each in told)
    assert all("requests wait for memory, queued.max.request.bytes is 16000000" in words for words in told)


def test_a_neighbour_that_comes_late_is_served_beside_slow_senders(
    broker: RunningBroker, crowd: Callable[[int], list[Peer]]
) -> None:
    with Dripping(crowd(60), 1_000_000, 900_000):
        assert settled(broker, lambda: held(broker) > BUDGET // 2)
        with Peer(broker) as good:
            assert longest(good, 2) < 10


def test_a_slow_sender_on_a_quiet_broker_is_served(broker: RunningBroker) -> None:
    frame = encode_request(produce(300_000), version=9, correlation_id=1, client_id="slow")
    with Peer(broker) as slow:
        slow.socket.sendall(frame[:-5])
        for byte in frame[-5:]:
            time.sleep(0.5)
            slow.socket.sendall(bytes([byte]))
        assert slow.receive((0, 9, 1)).responses[0].partition_responses[0].error_code == 0


def test_many_frames_that_are_begun_take_no_more_than_the_budget(
    broker: RunningBroker, crowd: Callable[[int], list[Peer]]
) -> None:
    peers = crowd(400)
    for peer in peers:
        peer.socket.setblocking(False)
        with suppress(BlockingIOError):
            peer.socket.send(struct.pack(">ihhi", 130_000, 0, 9, 1) + bytes(127_000))
    with Peer(broker) as good:
        assert good.call(GREETING, 3).error_code == 0
        assert longest(good, 1) < 10
    assert held(broker) < BUDGET + 400 * 4096 + 130_000


def test_requests_behind_a_long_poll_take_no_more_than_the_budget(
    broker: RunningBroker, crowd: Callable[[int], list[Peer]]
) -> None:
    poll = encode_request(fetch(1000, max_wait_ms=2**31 - 1), version=12, correlation_id=1, client_id="parks")
    greeting = encode_request(GREETING, version=3, correlation_id=2, client_id="parks")
    for peer in crowd(100):
        peer.socket.setblocking(False)
        with suppress(BlockingIOError):
            peer.socket.send(poll + greeting * 10_000)
    assert settled(broker, lambda: held(broker) > BUDGET // 2)
    time.sleep(2)
    with Peer(broker) as good:
        assert good.call(GREETING, 3).error_code == 0
        assert held(broker) < BUDGET + 100 * 260_000
    assert settled(broker, lambda: held(broker) <= BUDGET)
    assert closed(broker, "slow") > 0


def test_answers_that_nobody_reads_take_no_more_than_the_budget() -> None:
    config = {"queued.max.request.bytes": str(BUDGET), "socket.send.buffer.bytes": "20000"}
    topics = [
        CreateTopicsRequest.CreatableTopic(name=f"{number:04}-{'n' * 200}", num_partitions=1, replication_factor=1)
        for number in range(2000)
    ]
    asked = [MetadataRequest.MetadataRequestTopic(name=topic.name) for topic in topics]
    with RunningBroker(config=config) as broker, Peer(broker) as good, ExitStack() as stack:
        good.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 4)
        for peer in [stack.enter_context(Peer(broker)) for _ in range(60)]:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(4):
                peer.send(MetadataRequest(topics=asked), 7)
        assert settled(broker, lambda: closed(broker, "slow") > 0)
        assert settled(broker, lambda: held(broker) <= BUDGET)
        assert good.call(GREETING, 3).error_code == 0


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_slow_readers_of_records_take_little_memory(where: str, tmp_path: Path) -> None:
    with RunningBroker(tmp_path if where == "disk" else None) as broker, Peer(broker) as good, ExitStack() as stack:
        broker.create_topic("orders")
        sent = produce(900_000)
        for _ in range(4):
            good.call(sent, 9)
        readers = [stack.enter_context(Peer(broker)) for _ in range(READERS)]
        before = resident()
        for peer in readers:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            for _ in range(3):
                peer.send(fetch(4_000_000), 12)
        assert longest(good, 2) < 5
        assert held(broker) < READERS * 70_000
        assert resident() - before < READERS * 140_000 + 200 * 600_000
        found = readers[7].receive((1, 12, 1)).responses[0].partitions[0]
        assert values(found.records)[:4] == values(sent.topic_data[0].partition_data[0].records) * 4


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_reader_that_takes_nothing_is_closed_as_idle() -> None:
    config = {"connections.max.idle.ms": "1500", "socket.send.buffer.bytes": "20000"}
    with RunningBroker(config=config) as broker, Peer(broker) as good, Peer(broker) as stuck, Peer(broker) as slow:
        broker.create_topic("orders")
        for _ in range(3):
            good.call(produce(900_000), 9)
        for peer in (stuck, slow):
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
            peer.send(fetch(3_000_000), 12)
        taken, end = 0, time.monotonic() + 60
        while closed(broker, "idle") < 2:
            assert time.monotonic() < end
            taken += len(slow.socket.recv(20_000))
            time.sleep(0.03)
        assert closed(broker, "idle") == 2
        assert taken > 100_000
        assert slow.socket.recv(60_000)
        with pytest.raises(EOFError):
            read_all(stuck)


def read_all(peer: Peer) -> Any:
    try:
        return peer.read_frame()
    except ConnectionError as error:
        raise EOFError from error


def test_bytes_one_at_a_time_from_many_connections_do_not_delay_a_neighbour(
    broker: RunningBroker, crowd: Callable[[int], list[Peer]]
) -> None:
    peers, ended = crowd(300), Event()
    frame = encode_request(GREETING, version=3, correlation_id=1, client_id="crumbs" * 10)

    def drip() -> None:
        for byte in frame:
            for peer in peers:
                peer.socket.send(bytes([byte]))
            if ended.is_set():
                return

    thread = Thread(target=drip)
    with Peer(broker) as good:
        thread.start()
        assert longest(good, 2) < 2
        thread.join()
        for peer in peers:
            assert peer.receive((18, 3, 1)).error_code == 0
    ended.set()


def test_many_idle_connections_are_closed_in_pieces(caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(config={"connections.max.idle.ms": "1500"}) as broker, ExitStack() as stack:
        peers = [stack.enter_context(Peer(broker)) for _ in range(300)]
        assert all(peer.is_closed() for peer in peers)
        assert closed(broker, "idle") == 300
    assert sum("silent for" in each.getMessage() for each in caplog.records) == 300
