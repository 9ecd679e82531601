"""Groups of aiokafka: sharing, moving on, committing, coming back, administration."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

aiokafka = pytest.importorskip("aiokafka")
from aiokafka.admin import AIOKafkaAdminClient  # noqa: E402 - optional
from aiokafka.structs import OffsetAndMetadata, TopicPartition  # noqa: E402 - optional

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.testing import RunningBroker

GROUP = "readers"
PATIENCE = 60.0


async def consumer(broker: RunningBroker, **settings: Any) -> Any:
    made = aiokafka.AIOKafkaConsumer(
        "orders",
        bootstrap_servers=broker.bootstrap_servers,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=30_000,
        heartbeat_interval_ms=100,
        retry_backoff_ms=50,
        metadata_max_age_ms=1_000,
        **settings,
    )
    await made.start()
    return made


async def produce(broker: RunningBroker, values: range, partitions: int = 1) -> None:
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in values:
            await producer.send_and_wait("orders", b"%d" % number, partition=number % partitions)


async def consume(consumer: Any, count: int) -> list[int]:
    async with asyncio.timeout(PATIENCE):
        return [int((await consumer.getone()).value) for _ in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


def parts(*consumers: Any) -> list[set[int]]:
    return [{place.partition for place in each.assignment()} for each in consumers]


def test_two_members_share_and_the_one_that_stays_takes_over(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 4)

    async def play() -> None:
        first = await consumer(kafka_broker)
        await until(lambda: parts(first) == [{0, 1, 2, 3}])
        second = await consumer(kafka_broker)
        await until(lambda: [len(part) for part in parts(first, second)] == [2, 2])
        assert set.union(*parts(first, second)) == {0, 1, 2, 3}
        await produce(kafka_broker, range(20), partitions=4)
        assert sorted(await consume(first, 10) + await consume(second, 10)) == list(range(20))
        await first.stop()
        await until(lambda: parts(second) == [{0, 1, 2, 3}])
        await second.stop()

    asyncio.run(play())


def test_a_group_resumes_where_it_committed_even_after_the_broker_restarted(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)
    place = TopicPartition("orders", 0)

    async def before() -> None:
        await produce(broker, range(10))
        member = await consumer(broker)
        assert await consume(member, 6) == [0, 1, 2, 3, 4, 5]
        await member.commit({place: OffsetAndMetadata(6, "half-way")})
        await member.stop()

    async def after() -> None:
        member = await consumer(broker)
        assert await consume(member, 4) == [6, 7, 8, 9]
        assert await member.committed(place) == 6
        await member.stop()

    asyncio.run(before())
    broker.restart()
    asyncio.run(after())


def test_a_member_carries_on_through_a_restart_of_the_broker(
    kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)

    async def play() -> None:
        await produce(broker, range(5))
        member = await consumer(broker)
        assert await consume(member, 5) == [0, 1, 2, 3, 4]
        await asyncio.to_thread(broker.restart)
        await produce(broker, range(5, 8))
        assert await consume(member, 3) == [5, 6, 7]
        await member.commit()
        assert await member.committed(TopicPartition("orders", 0)) == 8
        await member.stop()

    asyncio.run(play())


def test_administrators_see_groups_their_members_and_offsets(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 1)

    async def play() -> None:
        await produce(kafka_broker, range(3))
        member = await consumer(kafka_broker, client_id="me")
        await consume(member, 3)
        await member.commit()
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
        await admin.start()
        try:
            assert await admin.list_consumer_groups() == [(GROUP, "consumer")]
            (described,) = await admin.describe_consumer_groups([GROUP])
            ((_, group_id, state, kind, _, members, *_),) = described.groups
            assert (group_id, state, kind) == (GROUP, "Stable", "consumer")
            assert [each[1] for each in members] == ["me"]
            offsets = await admin.list_consumer_group_offsets(GROUP)
            assert offsets[TopicPartition("orders", 0)].offset == 3
        finally:
            await admin.close()
            await member.stop()

    asyncio.run(play())
