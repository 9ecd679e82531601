"""Clients that are closed, cancelled or left while something is on its way: nobody hangs, nothing stays behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.produced_log import ProducedLog
from tests.client.scripted_broker import SILENCE, ScriptedBroker

from kafkawire.client import (
    Admin,
    BufferFullError,
    ClosedError,
    Consumer,
    Producer,
    RecordMetadata,
    RequestTimeoutError,
    TopicPartition,
    UnknownPartitionError,
)
from kafkawire.messages import ListOffsetsResponse
from kafkawire.messages.errors import TopicAuthorizationFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("virtual_time")


async def idle() -> None:
    """Let everything that is ready run."""
    for _ in range(20):
        await asyncio.sleep(0)


def others() -> list[str]:
    """The tasks that still run besides the test and its broker."""
    current = asyncio.current_task()
    names = (task.get_coro().__qualname__ for task in asyncio.all_tasks() if task is not current)  # type: ignore[union-attr]
    return [name for name in names if "ScriptedBroker" not in name]


@pytest.mark.parametrize("silent", ["Metadata", "DescribeCluster"])
def test_a_caller_that_waits_while_a_client_is_closed_gets_an_error(silent: str) -> None:
    async def main() -> None:
        async with ScriptedBroker({"DescribeCluster": lambda request, version: SILENCE}) as broker:
            admin = Admin(bootstrap_servers=broker.bootstrap)
            await admin.start()
            broker.handlers[silent] = lambda request, version: SILENCE
            calls = [asyncio.create_task(call()) for call in (admin.describe_cluster, admin.list_topics)]
            await idle()
            await admin.stop()
            for error in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(error, ClosedError)
            assert others() == []

    asyncio.run(main())


def test_a_caller_that_waits_for_a_connection_while_a_client_is_closed_gets_an_error() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            admin = Admin(bootstrap_servers=broker.bootstrap)
            await admin.start()
            call = asyncio.create_task(admin.list_topics())
            await asyncio.sleep(0)
            await admin.stop()
            with pytest.raises(ClosedError, match="the client was closed meanwhile"):
                await call

    asyncio.run(main())


@pytest.mark.parametrize("make", [Producer, Consumer])
def test_a_client_that_found_nobody_may_try_again_but_one_that_stopped_is_spent(
    make: Callable[..., Producer | Consumer],
) -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as broker:
            client = make(bootstrap_servers=broker.bootstrap, connect_timeout_ms=100)
            greet, broker.handlers["ApiVersions"] = broker.handlers["ApiVersions"], lambda request, version: SILENCE
            with pytest.raises(ConnectionError):
                await client.start()
            broker.handlers["ApiVersions"] = greet
            await client.start()
            with pytest.raises(ClosedError, match="is started once; make another"):
                await client.start()
            await client.stop()
            with pytest.raises(ClosedError, match="is started once; make another"):
                await client.start()

    asyncio.run(main())


@pytest.mark.parametrize("make", [Producer, Consumer, Admin])
@pytest.mark.parametrize("turns", [1, 2, 5, 9])
def test_a_start_that_is_cancelled_leaves_nothing(make: Callable[..., Any], turns: int) -> None:
    async def main() -> None:
        async with ProducedLog().broker() as broker:
            client = make(bootstrap_servers=broker.bootstrap)
            starting = asyncio.create_task(client.start())
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            if not starting.cancelled():
                await client.stop()
            assert others() == []

    asyncio.run(main())


def test_a_producer_that_is_stopped_in_haste_gives_up_what_it_has() -> None:
    async def main() -> None:
        async with ProducedLog().broker() as broker:
            producer = Producer(bootstrap_servers=broker.bootstrap, max_batch_size=1)
            await producer.start()
            broker.handlers["Produce"] = lambda request, version: SILENCE
            futures = [await producer.send("t", b"x") for _ in range(3)]
            stopping = asyncio.create_task(producer.stop())
            await idle()
            stopping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stopping
            for future in futures:
                assert future.done()
                assert isinstance(future.exception(), ClosedError)
            assert others() == []

    asyncio.run(main())


def test_a_caller_that_waits_for_room_when_the_producer_stops_gets_an_error_and_accepted_records_are_sent() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with log.broker() as broker:
            producer = Producer(bootstrap_servers=broker.bootstrap, buffer_memory=10)
            await producer.start()
            broker.delay = 1.0
            taken = await producer.send("t", b"taken")
            waiting = asyncio.create_task(producer.send("t", b"too late"))
            await idle()
            await producer.stop()
            with pytest.raises(ClosedError, match="stopped before there was room"):
                await waiting
            assert (await taken).offset == 0
            assert log.values == [b"taken"]

    asyncio.run(main())


def test_room_that_one_leaves_is_for_the_next() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with (
            log.broker() as broker,
            Producer(bootstrap_servers=broker.bootstrap, buffer_memory=100, linger_ms=600_000) as producer,
        ):
            first = await producer.send("t", bytes(200))
            waiting = [asyncio.create_task(producer.send("t", b"%d" % number)) for number in range(10)]
            await idle()
            waiting[3].cancel()
            await first
            waiting[0].cancel()
            taken = await asyncio.gather(*waiting, return_exceptions=True)
            assert not any(isinstance(each, BufferFullError) for each in taken)
            await producer.flush()
            assert log.values[1:] == [b"%d" % number for number in range(10) if not waiting[number].cancelled()]

    asyncio.run(main())


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_consumer_whose_stop_is_cancelled_leaves_nothing(turns: int) -> None:
    async def main() -> None:
        async with ScriptedBroker({"Fetch": lambda request, version: SILENCE}) as broker:
            broker.topics["t"] = 1
            consumer = Consumer(bootstrap_servers=broker.bootstrap)
            await consumer.start()
            consumer.assign([("t", 0)])
            consumer.seek(TopicPartition("t", 0), 0)
            reading = asyncio.create_task(consumer.getone())
            await idle()
            stopping = asyncio.create_task(consumer.stop())
            for _ in range(turns):
                await asyncio.sleep(0)
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
            if turns:
                with pytest.raises(ClosedError):
                    await reading
            else:
                await consumer.stop()
                await asyncio.gather(reading, return_exceptions=True)
            await idle()
            assert others() == []

    asyncio.run(main())


def test_a_position_that_cannot_be_found_is_given_up_in_time() -> None:
    async def main() -> None:
        async with ScriptedBroker({"ListOffsets": lambda request, version: SILENCE}) as broker:
            broker.topics["t"] = 1
            async with Consumer(bootstrap_servers=broker.bootstrap, default_api_timeout_ms=3000) as consumer:
                consumer.assign([("t", 0)])
                with pytest.raises(RequestTimeoutError, match="t-0: no position found within 3 s"):
                    await consumer.position(TopicPartition("t", 0))
                with pytest.raises(RequestTimeoutError, match="t-0: no position found within 3 s"):
                    await consumer.seek_to_end()

    asyncio.run(main())


def test_a_partition_without_a_leader_keeps_no_other_waiting() -> None:
    def offsets(request: Any, version: int) -> ListOffsetsResponse:
        topics = []
        for topic in request.topics:
            entries = [
                ListOffsetsResponse.ListOffsetsPartitionResponse(
                    partition_index=each.partition_index, offset=7, error_code=29 if each.partition_index == 2 else 0
                )
                for each in topic.partitions
            ]
            topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=entries))
        return ListOffsetsResponse(topics=topics)

    async def main() -> None:
        async with ScriptedBroker({"ListOffsets": offsets}) as broker:
            broker.topics["t"] = 4
            broker.without_leader = {1}
            async with Consumer(bootstrap_servers=broker.bootstrap, default_api_timeout_ms=3000) as consumer:
                consumer.assign([("t", 0), ("t", 1), ("t", 2), ("t", 3), ("missing", 0)])
                assert await consumer.position(TopicPartition("t", 0)) == 7
                assert await consumer.position(TopicPartition("t", 3)) == 7
                with pytest.raises(TopicAuthorizationFailedError, match="t-2"):
                    await consumer.position(TopicPartition("t", 2))
                for place in (TopicPartition("t", 1), TopicPartition("missing", 0)):
                    with pytest.raises(RequestTimeoutError, match=f"{place}: no position found within 3 s"):
                        await consumer.position(place)
                broker.without_leader = set()
                broker.topics["missing"] = 1
                assert await consumer.position(TopicPartition("t", 1)) == 7
                assert await consumer.position(TopicPartition("missing", 0)) == 7
                with pytest.raises(UnknownPartitionError, match="t-9: the topic has 4 partitions"):
                    await consumer.end_offsets([TopicPartition("t", 9)])

    asyncio.run(main())


def test_missing_metadata_is_requested_before_anything_fails(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ScriptedBroker({"ListOffsets": lambda request, version: SILENCE}) as broker:
            broker.topics["t"] = 1
            async with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
                consumer.assign([("t", 0)])
                await idle()
                while "ListOffsets" not in broker.names():
                    await asyncio.sleep(0)
        assert caplog.records == []

    asyncio.run(main())


def test_a_client_that_is_forgotten_is_warned_of() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            async with Admin(bootstrap_servers=broker.bootstrap) as admin:
                with pytest.warns(ResourceWarning, match="a Kafka client was not stopped"):
                    admin._cluster.__del__()
            admin._cluster.__del__()

    asyncio.run(main())


def test_two_producers_of_one_loop_know_nothing_of_each_other() -> None:
    async def main() -> None:
        log = ProducedLog()
        async with (
            log.broker() as broker,
            Producer(bootstrap_servers=broker.bootstrap) as one,
            Producer(bootstrap_servers=broker.bootstrap) as other,
        ):
            for producer in (one, other, one):
                assert isinstance(await producer.send_and_wait("t", b"x"), RecordMetadata)
            await one.stop()
            assert (await other.send_and_wait("t", b"x")).offset == 3
            assert {identity for identity, _ in log.epochs} == {1001, 1002}

    asyncio.run(main())
