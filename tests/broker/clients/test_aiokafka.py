"""aiokafka against the broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import CODECS, Sent, workload

aiokafka = pytest.importorskip("aiokafka")
pytest.importorskip("aiokafka.admin")

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


async def consume(broker: RunningBroker, topic: str, count: int) -> list[Sent]:
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    await consumer.start()
    partition = aiokafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    found: list[Sent] = []
    while len(found) < count:
        async with asyncio.timeout(60):
            record: Any = await consumer.getone()
        found.append(Sent(record.key, record.value, list(record.headers), record.timestamp))
    await consumer.stop()
    return found


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_produced_records_are_consumed(
    kafka_broker: RunningBroker, kafka_topic: str, codec: str, idempotent: bool
) -> None:
    async def scenario() -> list[Sent]:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=kafka_broker.bootstrap_servers, compression_type=codec, enable_idempotence=idempotent
        )
        await producer.start()
        pending = [
            await producer.send(
                kafka_topic, each.value, each.key, headers=each.headers, timestamp_ms=each.timestamp, partition=0
            )
            for each in workload()
        ]
        await asyncio.gather(*pending)
        await producer.stop()
        return await consume(kafka_broker, kafka_topic, len(pending))

    assert asyncio.run(scenario()) == workload()


def test_administration(kafka_broker: RunningBroker) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
        await admin.start()
        await admin.create_topics([aiokafka.admin.NewTopic("made", 2, 1)])
        made = await admin.list_topics()
        await admin.delete_topics(["made"])
        left = await admin.list_topics()
        await admin.close()
        return made, left

    assert asyncio.run(scenario()) == (["made"], [])
