"""The share consumer against a broker: acquiring, acknowledging, renewing, losing locks, leaving."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.conftest import STRICT, OurTopics
from tests.client.proxy import FaultyProxy
from tests.client.test_group import until

from kafkawire.broker import served_apis
from kafkawire.client import (
    AcknowledgeType,
    Admin,
    ClientError,
    ClosedError,
    ConfigResource,
    GroupError,
    OptionError,
    ResourceType,
    ShareConsumer,
    TopicPartition,
    blocking,
)
from kafkawire.client.options import parse_address
from kafkawire.messages import api
from kafkawire.messages.errors import InvalidRecordStateError, KafkaError, ShareSessionNotFoundError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.topics import Topics

    from kafkawire.client import ShareRecord

LOCK_MS = 2_000
QUICK_SHARES = {
    "group.share.min.heartbeat.interval.ms": "50",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
}
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


@pytest.fixture(scope="module")
def broker() -> Iterator[OurTopics]:
    if api("ShareFetch").key not in served_apis():
        pytest.skip("this broker does not serve share groups; tests/interop runs these tests on Apache Kafka")
    with RunningBroker(config=STRICT | QUICK_SHARES) as running:
        topics = OurTopics(running)
        yield topics
        topics.close()


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    name = broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 1)
    asyncio.run(configure(broker, name))
    return name


async def configure(broker: Topics, group: str, **changes: str) -> None:
    """Let a group begin at the first record, with a short lock."""
    settings: dict[str, str | None] = {
        "share.auto.offset.reset": "earliest",
        "share.record.lock.duration.ms": "30000",
        **{name.replace("_", "."): value for name, value in changes.items()},
    }
    async with Admin(bootstrap_servers=broker.bootstrap) as admin:
        await admin.alter_configs(ConfigResource(ResourceType.GROUP, group), settings)


def options(broker: Topics, changes: dict[str, Any]) -> dict[str, Any]:
    return {"bootstrap_servers": broker.bootstrap, "fetch_max_wait_ms": 100, "retry_backoff_ms": 10, **changes}


def sharer(broker: Topics, topic: str, **changes: Any) -> ShareConsumer:
    return ShareConsumer(topic, **options(broker, {"group_id": topic, **changes}))


def explicit(broker: Topics, topic: str, **changes: Any) -> ShareConsumer:
    return sharer(broker, topic, share_acknowledgement_mode="explicit", **changes)


async def some(consumer: ShareConsumer, count: int, kind: AcknowledgeType | None = None) -> list[ShareRecord]:
    """At least so many records, acknowledged in the same way."""
    found: list[ShareRecord] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            records = await consumer.poll(timeout_ms=1000)
            found += records
            if kind is not None:
                for record in records:
                    consumer.acknowledge(record, kind)
    return found


def numbers(records: list[ShareRecord]) -> list[int]:
    return sorted(int(record.value) for record in records)


def test_the_next_poll_accepts_the_records_of_the_last(broker: Topics, topic: str) -> None:
    asyncio.run(configure(broker, group := topic + "-both"))
    topic = broker.create_topic(group, 2)
    broker.fill(topic, 10, partition=0)
    broker.fill(topic, 10, partition=1)

    async def main() -> None:
        done: dict[TopicPartition, set[int]] = {}

        def note(partition: TopicPartition, offsets: set[int], error: Exception | None) -> None:
            assert error is None
            done.setdefault(partition, set()).update(offsets)

        async with sharer(broker, topic) as one:
            one.set_acknowledgement_callback(note)
            records = await some(one, 20)
            assert numbers(records) == sorted([*range(10)] * 2)
            assert {record.delivery_count for record in records} == {1}
            assert one.assignment() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
            assert one.acquisition_lock_timeout_ms == 30_000
            async with asyncio.timeout(60):
                while sum(map(len, done.values())) < 20:
                    assert await one.poll(timeout_ms=200) == []
        assert done == {TopicPartition(topic, number): set(range(10)) for number in range(2)}
        async with sharer(broker, topic) as other:
            assert await other.poll(timeout_ms=1500) == []

    asyncio.run(main())


def test_records_that_were_not_accepted_are_released_when_the_consumer_stops(broker: Topics, topic: str) -> None:
    broker.fill(topic, 5)

    async def main() -> None:
        async with sharer(broker, topic) as one:
            await some(one, 5)
        async with sharer(broker, topic) as other:
            records = await some(other, 5)
            assert numbers(records) == [0, 1, 2, 3, 4]
            assert {record.delivery_count for record in records} == {2}

    asyncio.run(main())


def test_each_result_has_its_effect(broker: Topics, topic: str) -> None:
    broker.fill(topic, 6)

    async def main() -> None:
        async with explicit(broker, topic) as one:
            for record, kind in zip(await some(one, 6), [ACCEPT, RELEASE, REJECT] * 2, strict=True):
                one.acknowledge(record, kind)
            assert await one.commit_sync() == {TopicPartition(topic, 0): None}
            assert await one.commit_sync() == {}
            again = await some(one, 2)
            assert [(record.offset, record.delivery_count) for record in again] == [(1, 2), (4, 2)]
            one.acknowledge_offset(TopicPartition(topic, 0), 1)
            one.acknowledge_offset(TopicPartition(topic, 0), 4, RELEASE)
            one.acknowledge_offset(TopicPartition(topic, 0), 4, ACCEPT)
            one.commit_async()
            assert await one.poll(timeout_ms=500) == []

    asyncio.run(main())


def test_explicit_mode_wants_a_word_on_every_record(broker: Topics, topic: str) -> None:
    broker.fill(topic, 3)

    async def main() -> None:
        async with explicit(broker, topic) as one:
            first, *rest = await some(one, 3)
            one.acknowledge(first)
            with pytest.raises(ClientError, match="2 records are not acknowledged"):
                await one.poll()
            await one.commit_sync()
            with pytest.raises(ClientError, match="is not in flight"):
                one.acknowledge(first)
            for record in rest:
                one.acknowledge(record, REJECT)
            assert await one.poll(timeout_ms=300) == []

    asyncio.run(main())


def test_implicit_mode_takes_no_word(broker: Topics, topic: str) -> None:
    broker.fill(topic, 1)

    async def main() -> None:
        async with sharer(broker, topic) as one:
            (record,) = await some(one, 1)
            with pytest.raises(ClientError, match="share_acknowledgement_mode=explicit"):
                one.acknowledge(record)

    asyncio.run(main())


def test_a_loop_accepts_each_record_when_the_next_is_asked_for(broker: Topics, topic: str) -> None:
    broker.fill(topic, 6)

    async def main() -> None:
        seen = []
        async with sharer(broker, topic) as one, asyncio.timeout(60):
            async for record in one:
                seen.append(int(record.value))
                if len(seen) == 4:
                    break
        assert seen == [0, 1, 2, 3]
        async with sharer(broker, topic) as other:
            assert [record.offset for record in await some(other, 3)] == [3, 4, 5]

    asyncio.run(main())


def test_a_renewed_record_comes_again_without_a_further_delivery(broker: Topics, topic: str) -> None:
    broker.fill(topic, 2)
    asyncio.run(configure(broker, topic, share_record_lock_duration_ms=str(LOCK_MS)))

    async def main() -> None:
        async with explicit(broker, topic) as one, sharer(broker, topic) as other:
            first, second = await some(one, 2)
            one.acknowledge(second)
            for _ in range(5):
                one.acknowledge(first, RENEW)
                (first,) = await some(one, 1)
                assert (first.offset, first.delivery_count) == (0, 1)
                await asyncio.sleep(LOCK_MS / 1000 / 2)
            assert await other.poll() == [], "the lock was renewed all the while"
            one.acknowledge(first)
            assert await one.commit_sync() == {TopicPartition(topic, 0): None}
            assert await other.poll(timeout_ms=LOCK_MS + 500) == []

    asyncio.run(main())


def test_an_acknowledgement_after_the_lock_was_lost_is_an_error_and_the_record_comes_again(
    broker: Topics, topic: str
) -> None:
    broker.fill(topic, 1)
    asyncio.run(configure(broker, topic, share_record_lock_duration_ms=str(LOCK_MS)))

    async def main() -> None:
        async with explicit(broker, topic) as one, sharer(broker, topic) as other:
            (record,) = await some(one, 1)
            (again,) = await some(other, 1)
            assert again.delivery_count == 2
            one.acknowledge(record)
            result = await one.commit_sync()
            assert isinstance(result[TopicPartition(topic, 0)], InvalidRecordStateError)
            await other.commit_sync()

    asyncio.run(main())


def test_a_record_is_delivered_as_often_as_the_group_allows(broker: Topics, topic: str) -> None:
    broker.fill(topic, 1)
    asyncio.run(configure(broker, topic, share_delivery_count_limit="3"))

    async def main() -> None:
        async with explicit(broker, topic) as one:
            counts = []
            for _ in range(3):
                (record,) = await some(one, 1, RELEASE)
                counts.append(record.delivery_count)
            assert counts == [1, 2, 3]
            assert await one.poll(timeout_ms=500) == []

    asyncio.run(main())


def test_members_share_a_partition_and_no_record_goes_to_both(broker: Topics, topic: str) -> None:
    broker.fill(topic, 400, per_batch=10)

    async def main() -> None:
        seen: list[int] = []

        async def work(one: ShareConsumer) -> None:
            while len(seen) < 400:
                seen.extend(int(record.value) for record in await one.poll(timeout_ms=100))

        async with (
            sharer(broker, topic, max_poll_records=10) as one,
            sharer(broker, topic, max_poll_records=10) as other,
            asyncio.timeout(60),
        ):
            await asyncio.gather(work(one), work(other))
        assert sorted(seen) == list(range(400))

    asyncio.run(main())


def test_at_most_so_many_records_come_with_the_limit_by_records(broker: Topics, topic: str) -> None:
    broker.fill(topic, 50, per_batch=50)

    async def main() -> None:
        async with sharer(broker, topic, share_acquire_mode="record_limit", max_poll_records=7) as one:
            assert [record.offset for record in await some(one, 1)] == list(range(7))

    asyncio.run(main())


def test_a_record_that_a_deserializer_refuses_is_released_and_the_others_are_delivered(
    broker: Topics, topic: str
) -> None:
    broker.append(topic, 0, [(None, b"1"), (None, b"2"), (None, b"x"), (None, b"4")])
    asyncio.run(configure(broker, topic, share_delivery_count_limit="2"))

    async def main() -> None:
        async with sharer(broker, topic, value_deserializer=int) as one:
            assert [record.value for record in await some(one, 2)] == [1, 2]
            for _ in range(2):
                with pytest.raises(ValueError, match="invalid literal") as refused:
                    await some(one, 4)
                assert refused.value.__notes__ == [f"in the value of {topic}-0 at offset 2"]
            assert await one.poll(timeout_ms=500) == []

    asyncio.run(main())


def test_topics_can_be_added_and_left(broker: Topics, topic: str) -> None:
    second = broker.create_topic(topic + "-second", 1)
    broker.fill(second, 2)

    async def main() -> None:
        async with sharer(broker, topic) as one:
            assert await one.poll(timeout_ms=300) == []
            one.subscribe([topic, second])
            assert {record.topic for record in await some(one, 2)} == {second}
            one.subscribe([second])
            await until(lambda: one.assignment() == {TopicPartition(second, 0)})
            await one.unsubscribe()
            assert (one.assignment(), one.subscription()) == (set(), frozenset())
            with pytest.raises(ClientError, match="no topic is subscribed to"):
                await one.poll()

    asyncio.run(main())


def test_a_member_that_does_not_poll_leaves_and_comes_back(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with sharer(broker, topic, max_poll_interval_ms=500) as one:
            await until(lambda: len(one.assignment()) == 1)
            await until(lambda: not one.assignment())
            await asyncio.to_thread(broker.fill, topic, 3)
            assert len(await some(one, 3)) == 3

    asyncio.run(main())


def test_a_connection_that_is_cut_releases_the_records_and_late_acknowledgements_fail(
    broker: Topics, topic: str
) -> None:
    broker.fill(topic, 4)

    async def main() -> None:
        async with (
            FaultyProxy(parse_address(broker.bootstrap)[1]) as proxy,
            explicit(broker, topic, bootstrap_servers=proxy.bootstrap, reconnect_backoff_ms=10) as one,
        ):
            first, second, *rest = await some(one, 4)
            one.acknowledge(first)
            assert await one.commit_sync() == {TopicPartition(topic, 0): None}
            proxy.cut()
            one.acknowledge(second)
            result = await one.commit_sync()
            assert isinstance(result[TopicPartition(topic, 0)], ShareSessionNotFoundError | ClientError)
            for record in rest:
                one.acknowledge(record)
            again = await some(one, 3)
            assert [(record.offset, record.delivery_count) for record in again] == [(1, 2), (2, 2), (3, 2)]
            for record in again:
                one.acknowledge(record)
            assert await one.commit_sync() == {TopicPartition(topic, 0): None}

    asyncio.run(main())


def test_a_group_of_another_type_is_an_error(broker: Topics, topic: str) -> None:
    async def main() -> None:
        from kafkawire.client import Consumer

        settings = options(broker, {"group_id": topic + "-taken", "group_protocol": "consumer"})
        async with Consumer(topic, **settings) as taken:
            await until(lambda: len(taken.assignment()) == 1)
            async with sharer(broker, topic, group_id=topic + "-taken") as one:
                with pytest.raises(KafkaError):
                    await one.poll(timeout_ms=60_000)

    asyncio.run(main())


def test_plain_calls_share_too(broker: Topics, topic: str) -> None:
    broker.fill(topic, 6)
    explicitly = options(broker, {"group_id": topic, "share_acknowledgement_mode": "explicit"})
    with blocking.ShareConsumer(topic, **explicitly) as one:
        records: list[ShareRecord] = []
        while not records:
            records = one.poll(timeout_ms=1000)
        for record in records:
            one.acknowledge(record, ACCEPT if record.offset < 4 else RELEASE)
        assert one.commit_sync() == {TopicPartition(topic, 0): None}
    with blocking.ShareConsumer(topic, **options(broker, {"group_id": topic})) as other:
        found = []
        for record in other:
            found.append(record.offset)
            if len(found) == 2:
                break
        assert found == [4, 5]
        other.commit_async()
    with pytest.raises(ClosedError):
        other.poll()


def test_a_group_is_needed_and_settings_of_the_group_are_no_options() -> None:
    with pytest.raises(GroupError, match="needs a group_id"):
        ShareConsumer("t")
    with pytest.raises(OptionError, match=r"share\.auto\.offset\.reset"):
        ShareConsumer("t", group_id="g", auto_offset_reset="earliest")
