"""The consumer without a group, against our broker: positions, records, columns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.consumer import Consumer
from kafkawire.client.errors import ClientError, ClosedError, GroupError, NoOffsetError, UnknownPartitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.client.topics import Topics


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 3)


def consume(
    broker: Topics, work: Callable[[Consumer], Coroutine[Any, Any, None]], *topics: str, **options: Any
) -> None:
    async def main() -> None:
        settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **options}
        async with Consumer(*topics, bootstrap_servers=broker.bootstrap, **settings) as consumer:
            await work(consumer)

    asyncio.run(main())


async def take(consumer: Consumer, count: int) -> list[int]:
    return [int((await asyncio.wait_for(consumer.getone(), 60)).value) for _ in range(count)]


def test_an_assigned_partition_is_read_in_order(broker: Topics, topic: str) -> None:
    broker.fill(topic, 1000, partition=1, per_batch=64)

    async def work(consumer: Consumer) -> None:
        consumer.assign([(topic, 1)])
        assert consumer.assignment() == {TopicPartition(topic, 1)}
        first = await consumer.getone()
        assert first[:7] == (topic, 1, 0, 1_700_000_000_000, 0, b"k0", b"0000000000")
        assert first.leader_epoch == 0
        assert await take(consumer, 999) == list(range(1, 1000))
        assert await consumer.position(TopicPartition(topic, 1)) == 1000
        assert consumer.highwater(TopicPartition(topic, 1)) == 1000

    consume(broker, work)


def test_a_subscription_without_a_group_has_every_partition(broker: Topics, topic: str) -> None:
    for partition in range(3):
        broker.fill(topic, 50, partition=partition)

    async def work(consumer: Consumer) -> None:
        seen: dict[TopicPartition, list[int]] = {}
        async for record in consumer:
            seen.setdefault(TopicPartition(record.topic, record.partition), []).append(int(record.value))
            if sum(map(len, seen.values())) == 150:
                break
        assert seen == {TopicPartition(topic, partition): list(range(50)) for partition in range(3)}
        assert consumer.subscription() == {topic}

    consume(broker, work, topic)


def test_getmany_returns_available_records_and_waits_no_longer_than_its_timeout(broker: Topics, topic: str) -> None:
    broker.fill(topic, 300, partition=0)

    async def work(consumer: Consumer) -> None:
        place = TopicPartition(topic, 0)
        numbers: list[int] = []
        while len(numbers) < 300:
            found = await consumer.getmany(timeout_ms=60_000, max_records=70)
            assert sum(map(len, found.values())) <= 70
            numbers += [int(record.value) for record in found.get(place, ())]
        assert numbers == list(range(300))
        before = asyncio.get_running_loop().time()
        assert await consumer.getmany(timeout_ms=60) == {}
        assert 0.05 < asyncio.get_running_loop().time() - before < 30

    consume(broker, work, topic)


def test_new_records_arrive_while_one_waits(broker: Topics, topic: str) -> None:
    async def work(consumer: Consumer) -> None:
        waiting = asyncio.create_task(consumer.getone())
        await asyncio.sleep(0.1)
        await asyncio.get_running_loop().run_in_executor(None, broker.fill, topic, 1)
        assert (await asyncio.wait_for(waiting, 60)).value == b"0000000000"

    consume(broker, work, topic)


def test_a_topic_that_appears_later_is_read(broker: Topics, caplog: pytest.LogCaptureFixture) -> None:
    async def work(consumer: Consumer) -> None:
        waiting = asyncio.create_task(consumer.getone())
        await asyncio.sleep(0.05)

        def appear() -> None:
            broker.fill(broker.create_topic("appearing"), 1)

        await asyncio.get_running_loop().run_in_executor(None, appear)
        assert (await asyncio.wait_for(waiting, 60)).topic == "appearing"

    consume(broker, work, "appearing", retry_backoff_max_ms=30)
    missing = "topic 'appearing': UNKNOWN_TOPIC_OR_PARTITION; it is read as soon as it exists"
    assert caplog.messages.count(missing) == 1


def test_seeking_throws_away_what_was_fetched(broker: Topics, topic: str) -> None:
    broker.fill(topic, 500, partition=0)

    async def work(consumer: Consumer) -> None:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        assert await take(consumer, 3) == [0, 1, 2]
        consumer.seek(place, 450)
        assert await take(consumer, 2) == [450, 451]
        await consumer.seek_to_beginning(place)
        assert await take(consumer, 1) == [0]
        await consumer.seek_to_end()
        assert await consumer.position(place) == 500
        consumer.seek(place, 7)
        assert await take(consumer, 1) == [7]
        with pytest.raises(UnknownPartitionError, match="offset -1, expected 0 or more"):
            consumer.seek(place, -1)

    consume(broker, work)


def test_a_paused_partition_gives_nothing_until_it_is_resumed(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10, partition=0)
    broker.fill(topic, 10, partition=1)

    async def work(consumer: Consumer) -> None:
        one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
        consumer.assign([one, other])
        consumer.pause(one)
        assert consumer.paused() == {one}
        found = await consumer.getmany(timeout_ms=60_000)
        assert list(found) == [other]
        assert await consumer.getmany(timeout_ms=80) == {}
        consumer.resume(one)
        assert list(await consumer.getmany(timeout_ms=60_000)) == [one]

    consume(broker, work)


def test_one_partition_can_be_asked_for_while_another_is_full(broker: Topics, topic: str) -> None:
    broker.fill(topic, 2000, partition=0)

    async def work(consumer: Consumer) -> None:
        full, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
        consumer.assign([full, empty])
        await consumer.getone(full)
        waiting = asyncio.create_task(consumer.getone(empty))
        assert await consumer.getmany(empty, timeout_ms=10) == {}  # who gives up takes nothing from who still waits
        await asyncio.sleep(0.2)
        await asyncio.get_running_loop().run_in_executor(None, lambda: broker.fill(topic, 1, partition=1))
        assert (await asyncio.wait_for(waiting, 60)).partition == 1

    consume(broker, work, max_partition_fetch_bytes=2000)


def test_offsets_are_looked_up(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10, partition=0)

    async def work(consumer: Consumer) -> None:
        one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
        assert await consumer.beginning_offsets([one, other]) == {one: 0, other: 0}
        assert await consumer.end_offsets([one, other]) == {one: 10, other: 0}
        times = await consumer.offsets_for_times({one: 1_700_000_000_003, other: 0})
        found = times[one]
        assert found is not None
        assert found.offset == 3
        assert times[other] is None
        assert topic in await consumer.topics()
        assert await consumer.partitions_for_topic(topic) == {0, 1, 2}

    consume(broker, work)


def test_latest_begins_with_what_comes_next(broker: Topics, topic: str) -> None:
    broker.fill(topic, 5, partition=0)

    async def work(consumer: Consumer) -> None:
        consumer.assign([(topic, 0)])
        assert await consumer.position(TopicPartition(topic, 0)) == 5

    consume(broker, work, auto_offset_reset="latest")


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_an_offset_out_of_range_goes_where_the_option_says(broker: Topics, topic: str, reset: str) -> None:
    broker.fill(topic, 5, partition=0)

    async def work(consumer: Consumer) -> None:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, 99)
        if reset == "none":
            with pytest.raises(NoOffsetError, match=r"OFFSET_OUT_OF_RANGE .*at offset 99; auto_offset_reset is none"):
                await consumer.getone()
            with pytest.raises(NoOffsetError):
                await consumer.getone()
            consumer.seek(place, 4)
            assert await take(consumer, 1) == [4]
            return
        if reset == "earliest":
            assert await take(consumer, 1) == [0]
        else:
            assert await consumer.getmany(timeout_ms=300) == {}
            assert await consumer.position(place) == 5

    consume(broker, work, auto_offset_reset=reset)


def test_records_come_as_arrow_columns(broker: Topics, topic: str) -> None:
    broker.fill(topic, 100, partition=0)
    broker.fill(topic, 30, partition=2)

    async def work(consumer: Consumer) -> None:
        rows: list[dict[str, Any]] = []
        async for batch in consumer.arrow(["partition", "value", "topic"], timeout_ms=60_000):
            rows += batch.to_pylist()
            if len(rows) >= 130:
                break
        assert len(rows) == 130
        assert [batch async for batch in consumer.arrow(["value"], timeout_ms=60)] == []
        assert [int(row["value"]) for row in rows if row["partition"] == 2] == list(range(30))
        assert {row["topic"] for row in rows} == {topic}
        consumer.seek(TopicPartition(topic, 0), 95)
        batch = await anext(consumer.arrow(["offset"]))
        assert batch.column("offset").to_pylist() == [95, 96, 97, 98, 99]

    consume(broker, work, topic)


def test_records_and_columns_may_take_turns(broker: Topics, topic: str) -> None:
    broker.fill(topic, 100)

    async def work(consumer: Consumer) -> None:
        consumer.assign([TopicPartition(topic, 0)])
        assert await take(consumer, 10) == list(range(10))
        async for batch in consumer.arrow(["offset"], timeout_ms=60_000):
            assert batch.column("offset").to_pylist() == list(range(10, 100))
            break
        assert await consumer.position(TopicPartition(topic, 0)) == 100

    consume(broker, work)


def test_values_are_deserialized(broker: Topics, topic: str) -> None:
    broker.append(topic, 0, [(b"k", b"5"), (None, None)])

    async def work(consumer: Consumer) -> None:
        first, second = await consumer.getone(), await consumer.getone()
        assert (first.key, first.value) == ("k", 5)
        assert (second.key, second.value) == (None, None)

    consume(broker, work, topic, value_deserializer=int, key_deserializer=bytes.decode)


@pytest.mark.parametrize("at_once", [1, 1000])
def test_an_error_of_a_deserializer_is_raised_with_its_place_after_the_records_before(
    broker: Topics, topic: str, at_once: int
) -> None:
    broker.fill(topic, 100, per_batch=40)
    refused = {0, 57, 58}

    def number(data: bytes) -> int:
        if int(data) in refused:
            raise ValueError("not this one")
        return int(data)

    async def work() -> None:
        async with Consumer(
            bootstrap_servers=broker.bootstrap, value_deserializer=number, fetch_max_wait_ms=50
        ) as consumer:
            place = TopicPartition(topic, 0)
            consumer.assign([place])
            await consumer.seek_to_beginning()
            numbers: list[int] = []
            places: list[str] = []
            while len(numbers) < 97:
                try:
                    for records in (await consumer.getmany(timeout_ms=60_000, max_records=at_once)).values():
                        numbers += [record.value for record in records]
                except ValueError as error:
                    places += error.__notes__
                    consumer.seek(place, await consumer.position(place) + 1)
            assert numbers == [each for each in range(100) if each not in refused]
            assert places == [f"in the value of {place} at offset {each}" for each in sorted(refused)]

    asyncio.run(work())


def test_an_unassigned_partition_cannot_be_read(broker: Topics, topic: str) -> None:
    async def work(consumer: Consumer) -> None:
        with pytest.raises(UnknownPartitionError, match="is not assigned to this consumer"):
            consumer.seek(TopicPartition(topic, 0), 1)
        consumer.assign([(topic, 0)])
        with pytest.raises(ClientError, match="assigned by hand"):
            consumer.subscribe([topic])
        with pytest.raises(GroupError, match="needs a group_id"):
            await consumer.commit()

    consume(broker, work)


def test_a_stopped_consumer_ends_its_loop_and_refuses_more(broker: Topics, topic: str) -> None:
    async def main() -> None:
        consumer = Consumer(topic, bootstrap_servers=broker.bootstrap)
        with pytest.raises(ClosedError):
            await consumer.getone()
        await consumer.start()

        async def loop() -> list[Any]:
            return [record async for record in consumer]

        looping = asyncio.create_task(loop())
        await asyncio.sleep(0.05)
        await consumer.stop()
        assert await asyncio.wait_for(looping, 60) == []

    asyncio.run(main())
