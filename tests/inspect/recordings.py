"""Clients that talk to our broker through the proxy while it records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kafkawire.cli.commands.proxy import Printer
from kafkawire.inspect._proxy.recording import Recording
from kafkawire.inspect._proxy.server import Proxy
from kafkawire.testing import RecordedRequest, RunningBroker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    Client = Callable[[str], Awaitable[list[bytes]]]

VALUES = [b"value-%d" % number for number in range(12)]


class Recorded(NamedTuple):
    """The records that a client read, the requests that the broker received, and the port of the broker."""

    values: list[bytes]
    requests: Sequence[RecordedRequest]
    port: int


def record(path: Path, client: Client) -> Recorded:
    """Let a client write and read through a proxy, before our broker, that records into a file."""
    with RunningBroker() as broker:
        values = record_from(path, client, broker.bootstrap_servers)
        return Recorded(values, broker.requests, int(broker.bootstrap_servers.rpartition(":")[2]))


def record_from(path: Path, client: Client, address: str) -> list[bytes]:
    """Let a client write and read through a proxy that records; what it read."""
    host, _, port = address.rpartition(":")

    async def run(recording: Recording) -> list[bytes]:
        quiet = Printer(quiet=True, as_json=False)
        proxy = Proxy(("127.0.0.1", 0), (host, int(port)), "127.0.0.1", None, recording, quiet)
        await proxy.start()
        try:
            return await asyncio.wait_for(client(f"127.0.0.1:{proxy.port}"), 100)
        finally:
            await proxy.stop()

    with path.open("wb") as file:
        return asyncio.run(run(Recording(file)))


async def with_aiokafka(bootstrap: str) -> list[bytes]:
    aiokafka = pytest.importorskip("aiokafka")
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="them")
    await producer.start()
    for value in VALUES:
        await producer.send_and_wait("orders", value)
    await producer.stop()
    consumer = aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    found = [(await consumer.getone()).value for _ in VALUES]
    await consumer.stop()
    return found


async def with_confluent(bootstrap: str) -> list[bytes]:
    confluent = pytest.importorskip("confluent_kafka")

    def work() -> list[bytes]:
        producer = confluent.Producer({"bootstrap.servers": bootstrap, "client.id": "them"})
        for value in VALUES:
            producer.produce("orders", value)
        assert producer.flush(60) == 0
        consumer = confluent.Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "client.id": "them"})
        consumer.assign([confluent.TopicPartition("orders", 0, 0)])
        found: list[bytes] = []
        while len(found) < len(VALUES):
            message: Any = consumer.poll(60)
            assert message is not None
            found.append(message.value())
        consumer.close()
        return found

    return await asyncio.to_thread(work)


async def with_kafka_python(bootstrap: str) -> list[bytes]:
    kafka = pytest.importorskip("kafka")

    def work() -> list[bytes]:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, client_id="them", enable_idempotence=False)
        for value in VALUES:
            producer.send("orders", value).get(60)
        producer.close()
        consumer = kafka.KafkaConsumer(
            "orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=60_000
        )
        found = [next(consumer).value for _ in VALUES]
        consumer.close()
        return found

    return await asyncio.to_thread(work)
