"""Transactions of aiokafka against the broker: version 0 of every API."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

aiokafka = pytest.importorskip("aiokafka")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kafkawire.testing import RunningBroker


class UnexpectedError(Exception):
    """An error of the application."""


@asynccontextmanager
async def producer_of(broker: RunningBroker, name: str) -> AsyncIterator[Any]:
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def read(broker: RunningBroker, topic: str, count: int, isolation: str = "read_committed") -> list[bytes]:
    """The first values of a topic's first partition."""
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, isolation_level=isolation)
    await consumer.start()
    partition = aiokafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    try:
        return [(await asyncio.wait_for(consumer.getone(), 60)).value for _ in range(count)]
    finally:
        await consumer.stop()


def test_readers_of_committed_records_see_whole_transactions_only(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    async def main() -> None:
        expected = []
        async with producer_of(kafka_broker, "writer") as producer:
            for number in range(9):
                values = [f"{number}-{each}".encode() for each in range(20)]
                try:
                    async with producer.transaction():
                        for value in values:
                            await producer.send_and_wait(kafka_topic, value, partition=0)
                        if number % 3 == 0:
                            raise UnexpectedError
                except UnexpectedError:
                    continue
                expected += values
        assert await read(kafka_broker, kafka_topic, len(expected)) == expected

    asyncio.run(main())


def test_a_second_producer_of_an_id_fences_the_first(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    async def main() -> None:
        async with producer_of(kafka_broker, "fenced") as first:
            await first.begin_transaction()
            await first.send_and_wait(kafka_topic, b"lost", partition=0)
            async with producer_of(kafka_broker, "fenced") as second, second.transaction():
                await second.send_and_wait(kafka_topic, b"kept", partition=0)
            with pytest.raises(aiokafka.errors.ProducerFenced):
                await first.commit_transaction()
        assert await read(kafka_broker, kafka_topic, 1) == [b"kept"]
        assert await read(kafka_broker, kafka_topic, 2, "read_uncommitted") == [b"lost", b"kept"]

    asyncio.run(main())


def test_offsets_are_committed_with_the_records(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    async def main() -> None:
        partition = aiokafka.TopicPartition(kafka_topic, 0)
        async with producer_of(kafka_broker, "copier") as producer:
            for offset, commits in ((1, True), (2, False), (3, True)):
                await producer.begin_transaction()
                await producer.send_and_wait(kafka_topic, b"value", partition=0)
                await producer.send_offsets_to_transaction({partition: offset}, "copier")
                if commits:
                    await producer.commit_transaction()
                else:
                    await producer.abort_transaction()
                await until_committed(partition, offset if commits else offset - 1)

    async def until_committed(partition: Any, offset: int) -> None:
        # aiokafka does not ask for stable offsets, and a broker may answer EndTxn before it writes the markers.
        async with asyncio.timeout(60):
            while await committed(partition) != offset:
                await asyncio.sleep(0.05)

    async def committed(partition: Any) -> int | None:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=kafka_broker.bootstrap_servers, group_id="copier")
        await consumer.start()
        consumer.assign([partition])
        try:
            return await consumer.committed(partition)  # type: ignore[no-any-return]  # untyped library
        finally:
            await consumer.stop()

    asyncio.run(main())
