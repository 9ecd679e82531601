"""Clients over connections that are cut, slow or dead, and a broker that restarts."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.proxy import FaultyProxy

from kafkawire.client import Admin, Consumer, NewTopic, Producer, RequestTimeoutError, TopicPartition
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client.errors import ConnectionLostError
from kafkawire.client.options import parse_address
from kafkawire.messages import ProduceRequest, ProduceResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from tests.client.topics import Topics

    from kafkawire.client import RecordFuture
    from kafkawire.testing import RunningBroker

QUICK: dict[str, Any] = {
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 20,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 20,
}


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 1)


def port_of(broker: Topics) -> int:
    return parse_address(broker.bootstrap)[1]


async def started(client: Producer | Admin) -> None:
    """Start a client whose patience is short; a slow machine may need more than one attempt."""
    while True:
        with contextlib.suppress(ConnectionLostError):
            return await client.start()


def stored(broker: Topics, topic: str) -> list[int]:
    with BulkReader(broker.bootstrap) as reader:
        return [int(value or 0) for batch in reader.read(topic, 0, 0) for value in batch.column("value").to_pylist()]


@pytest.mark.parametrize("seed", range(3))
def test_cut_connections_neither_lose_nor_double_nor_reorder(broker: Topics, topic: str, seed: int) -> None:
    dice = random.Random(seed)

    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            async with Producer(bootstrap_servers=proxy.bootstrap, max_batch_size=400, **QUICK) as producer:
                futures: list[RecordFuture] = []
                while len(futures) < 1500 or proxy.cuts < 4:
                    futures.append(await producer.send(topic, b"%d" % len(futures)))
                    if len(futures) % 40 == 0:
                        await asyncio.sleep(0.002)
                        if proxy.cut_after is None:
                            proxy.cut_after = dice.randint(1, 6000)
                proxy.cut_after = None
                places = await asyncio.wait_for(asyncio.gather(*futures), 60)
            assert [place.offset for place in places] == list(range(len(futures)))
            assert await asyncio.to_thread(stored, broker, topic) == list(range(len(futures)))

    asyncio.run(asyncio.wait_for(main(), 90))


def test_a_consumer_reads_everything_once_over_connections_that_are_cut(broker: Topics, topic: str) -> None:
    broker.fill(topic, 4000, per_batch=50)

    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            settings: dict[str, Any] = {
                "bootstrap_servers": proxy.bootstrap,
                "auto_offset_reset": "earliest",
                "max_partition_fetch_bytes": 4000,
                **QUICK,
            }
            async with Consumer(topic, **settings) as consumer:
                numbers: list[int] = []
                while len(numbers) < 4000:
                    if proxy.cut_after is None and len(numbers) < 3500:
                        proxy.cut_after = 10_000
                    for records in (await consumer.getmany(timeout_ms=5000)).values():
                        numbers += [int(record.value) for record in records]
                assert proxy.cuts > 2
                assert numbers == list(range(4000))

    asyncio.run(asyncio.wait_for(main(), 90))


def test_a_slow_connection_is_only_slow(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            proxy.delay = 0.02
            async with Producer(bootstrap_servers=proxy.bootstrap, **QUICK) as producer:
                futures = [await producer.send(topic, b"%d" % number) for number in range(100)]
                assert [place.offset for place in await asyncio.gather(*futures)] == list(range(100))

    asyncio.run(main())


def test_answers_that_never_come_end_in_time_and_the_next_ones_count(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            settings: dict[str, Any] = {"request_timeout_ms": 100, "connect_timeout_ms": 100, **QUICK}
            producer = Producer(bootstrap_servers=proxy.bootstrap, delivery_timeout_ms=60_000, **settings)
            await started(producer)
            await producer.send_and_wait(topic, b"0")
            proxy.swallows_answers = True
            waiting = await producer.send(topic, b"1")
            await asyncio.sleep(0.3)
            assert not waiting.done()
            proxy.swallows_answers = False
            assert (await asyncio.wait_for(waiting, 60)).offset == 1
            await producer.stop()

    asyncio.run(main())
    assert stored(broker, topic) == [0, 1]


def test_an_admin_call_to_a_dead_broker_ends_in_time(broker: Topics) -> None:
    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            settings: dict[str, Any] = {"request_timeout_ms": 50, "connect_timeout_ms": 50, **QUICK}
            admin = Admin(bootstrap_servers=proxy.bootstrap, default_api_timeout_ms=300, **settings)
            await started(admin)
            proxy.swallows_answers = True
            with pytest.raises(RequestTimeoutError, match=r"given up after 0\.3 s"):
                await asyncio.wait_for(admin.describe_topics(), 30)
            await admin.stop()

    asyncio.run(main())


@pytest.mark.parametrize("silent_from_the_start", [True, False])
def test_calls_end_by_their_own_timeout_however_patient_requests_are(
    broker: Topics, topic: str, silent_from_the_start: bool
) -> None:
    """Requests have 40 seconds by default; a call that has less does not wait for them."""

    async def main() -> None:
        loop, silent = asyncio.get_running_loop(), threading.Event()
        async with FaultyProxy(port_of(broker)) as proxy:
            async with Admin(bootstrap_servers=proxy.bootstrap, default_api_timeout_ms=300) as admin:
                proxy.swallows_answers = True
                before = loop.time()
                with pytest.raises(RequestTimeoutError, match=r"given up after 0\.3 s"):
                    await admin.describe_topics()
                assert loop.time() - before < 30
            proxy.swallows_answers = silent_from_the_start

            def known(reader: BulkReader) -> bool:
                with contextlib.suppress(RequestTimeoutError):
                    return len(reader.partitions(topic)) == 1
                return False

            def read() -> None:
                with BulkReader(proxy.bootstrap, default_api_timeout_ms=300) as reader:
                    if not silent_from_the_start:
                        while not known(reader):
                            continue
                        loop.call_soon_threadsafe(setattr, proxy, "swallows_answers", True)
                        loop.call_soon_threadsafe(silent.set)
                        silent.wait()
                    with pytest.raises(RequestTimeoutError, match=r"0\.3 s"):
                        list(reader.read(topic, 0, 0, 5))
                    with pytest.raises(RequestTimeoutError, match=r"given up after 0\.3 s"):
                        reader.latest(topic)

            before = loop.time()
            await asyncio.to_thread(read)
            assert loop.time() - before < 30

    asyncio.run(main())


def test_a_request_that_arrives_after_its_own_retry_changes_nothing(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            settings: dict[str, Any] = {"request_timeout_ms": 200, "delivery_timeout_ms": 60_000, **QUICK}
            producer = Producer(bootstrap_servers=proxy.bootstrap, **settings)
            await started(producer)
            await producer.send_and_wait(topic, b"0")
            proxy.hold()
            assert (await producer.send_and_wait(topic, b"1")).offset == 1
            proxy.release()
            await asyncio.sleep(0.1)
            assert (await producer.send_and_wait(topic, b"2")).offset == 2
            await producer.stop()

    asyncio.run(asyncio.wait_for(main(), 90))
    assert stored(broker, topic) == [0, 1, 2]


def test_a_group_member_survives_cuts(broker: Topics, topic: str) -> None:
    broker.fill(topic, 300)

    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:
            settings: dict[str, Any] = {
                "bootstrap_servers": proxy.bootstrap,
                "group_id": "survivor",
                "auto_offset_reset": "earliest",
                "heartbeat_interval_ms": 20,
                "max_poll_records": 20,
                **QUICK,
            }
            async with Consumer(topic, **settings) as consumer:
                seen: set[int] = set()
                async with asyncio.timeout(90):
                    while len(seen) < 300:
                        for records in (await consumer.getmany(timeout_ms=1000)).values():
                            seen |= {int(record.value) for record in records}
                        if proxy.cuts < 5:
                            proxy.cut()
                            await asyncio.sleep(0.02)
                    await consumer.commit()
                    assert await consumer.committed(TopicPartition(topic, 0)) == 300

    asyncio.run(main())


def test_bulk_reading_goes_on_after_cuts(broker: Topics, topic: str) -> None:
    broker.fill(topic, 3000, per_batch=50)

    async def main() -> None:
        async with FaultyProxy(port_of(broker)) as proxy:

            def read() -> list[int]:
                numbers: list[int] = []
                with BulkReader(proxy.bootstrap, retry_backoff_ms=5) as reader:
                    for batch in reader.read(topic, 0, 0, 3000, fetch_bytes=4000):
                        numbers += [int(value or 0) for value in batch.column("value").to_pylist()]
                        if proxy.cut_after is None and proxy.cuts < 4:
                            proxy.cut_after = 5_000
                return numbers

            numbers = await asyncio.get_running_loop().run_in_executor(None, read)
            assert proxy.cuts >= 3
            assert numbers == list(range(3000))

    asyncio.run(asyncio.wait_for(main(), 90))


def test_a_broker_that_restarts_loses_nothing_that_was_acknowledged(restartable: RunningBroker) -> None:
    async def main() -> None:
        bootstrap = restartable.bootstrap_servers
        async with Admin(bootstrap_servers=bootstrap) as admin:
            await admin.create_topics([NewTopic(name="t", num_partitions=1)])
        settings: dict[str, Any] = {"bootstrap_servers": bootstrap, **QUICK}
        async with Producer(max_batch_size=200, **settings) as producer:
            futures = []
            for number in range(300):
                futures.append(await producer.send("t", b"%d" % number))
                if number % 100 == 50:
                    await asyncio.sleep(0.01)
                    await asyncio.to_thread(restartable.restart)
            places = await asyncio.wait_for(asyncio.gather(*futures), 60)
        assert [place.offset for place in places] == list(range(300))
        async with Consumer("t", auto_offset_reset="earliest", **settings) as consumer:
            assert [int((await consumer.getone()).value) for _ in range(300)] == list(range(300))

    asyncio.run(asyncio.wait_for(main(), 90))


def test_a_record_is_resent_if_its_topic_got_another_id_while_it_was_on_its_way(kafka_broker: RunningBroker) -> None:
    async def main() -> None:
        async with (
            Producer(bootstrap_servers=kafka_broker.bootstrap_servers, **QUICK) as producer,
            Admin(bootstrap_servers=kafka_broker.bootstrap_servers) as admin,
        ):
            await admin.create_topics([NewTopic("recreated", 1)])
            await producer.send_and_wait("recreated", b"before")

            def refuse(request: ProduceRequest) -> ProduceResponse:
                """The client reads metadata with another id before this answer arrives."""
                (topic,) = request.topic_data
                producer._cluster.metadata.names.pop(topic.topic_id)
                refused = ProduceResponse.PartitionProduceResponse(index=0, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
                entry = ProduceResponse.TopicProduceResponse(topic_id=topic.topic_id, partition_responses=[refused])
                return ProduceResponse(responses=[entry])

            kafka_broker.reply_next("Produce", refuse)
            assert (await producer.send_and_wait("recreated", b"after")).offset == 1

    asyncio.run(main())
