"""A page with everything on it: captures, log directories, a run, a broker with groups of every type, live traffic."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.web.page_client import RunningPage

from kafkawire.client.blocking import Consumer, Producer, ShareConsumer
from kafkawire.messages import MetadataRequest, ProduceRequest, StreamsGroupHeartbeatRequest
from kafkawire.records import BatchBuilder
from kafkawire.testing import FaultCalls, RunningBroker
from kafkawire.web import (
    BrokerSource,
    BrokerWatch,
    CaptureSource,
    LiveSource,
    LogSource,
    PageOptions,
    RunSource,
    Workspace,
)
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NASTY = "<img src=x onerror=alert(1)>"
LONG = "a-topic-with-a-name-that-is-as-long-as-names-of-teams-and-regions-make-it.eu-central-1.orders.v2"
Topic = MetadataRequest.MetadataRequestTopic
Subtopology = StreamsGroupHeartbeatRequest.Subtopology
WAIT_SECONDS = 15


def metadata(*names: str) -> str:
    request = MetadataRequest(topics=[Topic(name=name) for name in names])
    return bytes(encode_request(request, version=8, correlation_id=1, client_id="shop")).hex()


def produced(codec: str = "lz4") -> str:
    batch = BatchBuilder(compression=codec)
    for number in range(40):
        value = json.dumps({"order": number, "user": {"id": 2**53 + number}, "paid": number % 3 == 0}).encode()
        batch.append(b"user-%d" % number, value, headers=[("trace", b"4f2a")])
    partition = ProduceRequest.PartitionProduceData(index=0, records=batch.build())
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    return bytes(encode_request(ProduceRequest(acks=-1, topic_data=[topic]), version=9, correlation_id=7)).hex()


def fill(broker: RunningBroker) -> None:
    """Topics of every kind, and records with keys, headers, bytes that are not text, and nulls."""
    servers = broker.bootstrap_servers
    broker.create_topic("orders", partitions=6, configs={"retention.ms": "86400000", "compression.type": "lz4"})
    broker.create_topic("customers", partitions=3, configs={"cleanup.policy": "compact"})
    for name in ("empty", "shares", "streams-in", LONG, *(f"service-{number:02}.events" for number in range(24))):
        broker.create_topic(name)
    with Producer(bootstrap_servers=servers, client_id="shop", compression_type="lz4") as producer:
        for number in range(600):
            value = {
                "order": number,
                "user": {"id": 2**53 + 1 + number, "name": f"user {number % 17}"},
                "items": [{"sku": f"sku-{number * 7 % 50}", "count": number % 4 + 1}],
                "note": NASTY if number % 50 == 3 else "",
            }
            key, trace = b"user-%d" % (number % 17), [("trace", b"4f2a%04x" % number)]
            producer.send("orders", json.dumps(value).encode(), key=key, partition=number % 6, headers=trace)
            if number % 4 == 0:
                producer.send("customers", b"\xff\xfe not text" if number % 40 == 0 else b"row %d" % number, key=key)
        producer.send("customers", None, key=b"user-1")
        producer.send("shares", b"work")
        producer.send(LONG, b"x" * 40_000, key=NASTY.encode())
        producer.flush()


@contextmanager
def members(broker: RunningBroker) -> Iterator[None]:
    """Groups of every type with members, and one without."""
    servers: Any = {"bootstrap_servers": broker.bootstrap_servers}
    with ExitStack() as stack:
        first: Any = {"auto_offset_reset": "earliest", **servers}
        for group, protocol in (("billing", "classic"), ("shipping", "consumer")):
            made = Consumer("orders", group_id=group, group_protocol=protocol, client_id=f"{group}-1", **first)
            consumer = stack.enter_context(made)
            for _ in range(10):
                consumer.getone()
            consumer.commit()
        with Consumer("customers", group_id="left-behind", **first) as gone:
            gone.getone()
            gone.commit()
        share = stack.enter_context(ShareConsumer("shares", group_id="workers", client_id="worker-1", **servers))
        working = threading.Event()
        thread = threading.Thread(target=lambda: _poll(share, working))
        thread.start()
        stack.callback(thread.join)
        stack.callback(working.set)
        stack.enter_context(_streams_member(broker))
        time.sleep(1)
        yield


def _poll(consumer: Any, done: threading.Event) -> None:
    while not done.is_set():
        consumer.poll(0.2)


@contextmanager
def _streams_member(broker: RunningBroker) -> Iterator[None]:
    host, _, port = broker.bootstrap_servers.partition(":")
    topology = StreamsGroupHeartbeatRequest.Topology(
        epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=["streams-in"])]
    )
    common: Any = {"group_id": "enrichment", "member_id": "m-1", "rebalance_timeout_ms": 30_000, "process_id": "p-1"}
    tasks: Any = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    first = StreamsGroupHeartbeatRequest(member_epoch=0, topology=topology, client_tags=[], **tasks, **common)
    done = threading.Event()

    def beat() -> None:
        with socket.create_connection((host, int(port)), WAIT_SECONDS) as connection:
            again = first
            while not done.wait(0.5):
                connection.sendall(bytes(encode_request(again, version=0, correlation_id=1, client_id="enricher")))
                answered = connection.recv(65536)
                if not answered:
                    return
                made = decode_response(answered, request=StreamsGroupHeartbeatRequest, version=0)[1]
                again = StreamsGroupHeartbeatRequest(member_epoch=made.member_epoch, **tasks, **common)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def stage(folder: Path, demo: Path | None = None) -> Iterator[tuple[RunningPage, RunningBroker]]:
    """The page with c1 (a capture), d1 (log directories), b1 (a broker), p1 (live traffic) and, with a demo, r1."""
    shown, quiet = folder / "incidents.pcap", folder / "nothing.pcap"
    shown.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows()), nanoseconds=True))
    quiet.write_bytes(write_pcap([]))
    faults = FaultCalls()
    source = LiveSource("requests", faults=faults)
    with ExitStack() as stack:
        broker = stack.enter_context(RunningBroker(folder / "data"))

        def watch() -> None:
            faults.attach(broker.broker)
            BrokerWatch(source, broker.broker)

        broker.call(watch)
        fill(broker)
        stack.enter_context(members(broker))
        copied = folder / "copied"
        shutil.copytree(folder / "data", copied, ignore_dangling_symlinks=True)
        _damage(copied)
        workspace = Workspace(PageOptions(write=True))
        workspace.add_source(CaptureSource([demo / "traffic.pcapng" if demo else shown]))
        workspace.add_source(CaptureSource([quiet]))
        workspace.add_source(LogSource([copied]))
        workspace.add_source(BrokerSource({"bootstrap_servers": broker.bootstrap_servers}))
        workspace.add_source(BrokerSource({"bootstrap_servers": "127.0.0.1:1", "default_api_timeout_ms": 300}))
        workspace.add_source(source)
        workspace.add_source(LiveSource("nothing yet", faults=FaultCalls()))
        if demo:
            workspace.add_source(RunSource(demo / "capture"))
        yield stack.enter_context(RunningPage(workspace)), broker


def _damage(folder: Path) -> None:
    """Flip a byte in the middle of a segment."""
    largest = max(folder.rglob("*-2/*.log"), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
