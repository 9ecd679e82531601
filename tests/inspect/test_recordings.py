"""What the proxy records of real clients is what they sent and what they were given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.broker.broker import Broker
from kafkawire.cli.proxy import Printer, Proxy
from kafkawire.inspect.capture import read_captures
from kafkawire.inspect.diagnose import diagnose
from kafkawire.inspect.sources.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

VALUES = [b"value-%d" % number for number in range(12)]


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
        assert producer.flush(20) == 0
        consumer = confluent.Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "client.id": "them"})
        consumer.assign([confluent.TopicPartition("orders", 0, 0)])
        found: list[bytes] = []
        while len(found) < len(VALUES):
            message: Any = consumer.poll(5)
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
            producer.send("orders", value).get(20)
        producer.close()
        consumer = kafka.KafkaConsumer(
            "orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=5000
        )
        found = [next(consumer).value for _ in VALUES]
        consumer.close()
        return found

    return await asyncio.to_thread(work)


@pytest.mark.parametrize("client", [with_aiokafka, with_confluent, with_kafka_python])
def test_a_recording_holds_what_passed(tmp_path: Path, client: Callable[[str], Awaitable[list[bytes]]]) -> None:
    path = tmp_path / "x.pcapng"

    async def run() -> list[bytes]:
        with path.open("wb") as file:
            async with Broker() as broker:
                host, _, port = broker.bootstrap.rpartition(":")
                quiet = Printer(quiet=True, as_json=False)
                proxy = Proxy(("127.0.0.1", 0), (host, int(port)), "127.0.0.1", None, Recording(file), quiet)
                await proxy.start()
                try:
                    return await asyncio.wait_for(client(f"127.0.0.1:{proxy.port}"), 40)
                finally:
                    await proxy.stop()

    assert asyncio.run(run()) == VALUES
    reading = read_captures([path], values=True)
    records = reading.tables["records"].to_pylist()
    assert [row["value"] for row in records if row["source"] == "request"] == VALUES
    assert {row["offset"]: row["value"] for row in records if row["source"] == "response"} == dict(enumerate(VALUES))
    assert all(reading.tables["batches"]["crc_ok"].to_pylist())
    states = set(reading.tables["exchanges"]["state"].to_pylist())
    assert states <= {"matched", "unanswered"}
    assert [
        each.rule for each in diagnose(reading.tables) if each.level == "error" and each.rule != "closed-pending"
    ] == []
