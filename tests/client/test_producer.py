"""The producer against our broker: what is sent is there, and every future ends."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._produce.partitioner import partition_of_key
from kafkawire.client._produce.producer import Producer
from kafkawire.client.errors import (
    ClosedError,
    OptionError,
    RecordTooLargeError,
    RequestTimeoutError,
    UnknownPartitionError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.client.topics import Topics


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 4)


def rows(broker: Topics, topic: str, partition: int = 0) -> list[dict[str, Any]]:
    with BulkReader(broker.bootstrap) as reader:
        return [row for batch in reader.read(topic, partition, 0) for row in batch.to_pylist()]


def produce(broker: Topics, work: Callable[[Producer], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap, **options) as producer:
            await work(producer)

    asyncio.run(main())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_records_arrive_as_they_were_sent(broker: Topics, topic: str, codec: str, acks: object) -> None:
    async def work(producer: Producer) -> None:
        place = await producer.send_and_wait(topic, b"v", b"k", 2, 1_700_000_000_000, [("h", b"1"), ("h", None)])
        assert place[:2] == (topic, 2)
        assert place.offset == (-1 if acks == 0 else 0)
        await producer.send_and_wait(topic, None, b"tombstone", 2, 5)

    produce(broker, work, acks=acks, compression_type=codec)
    until(lambda: len(rows(broker, topic, 2)) == 2)  # with acks 0 nobody knows when
    first, second = rows(broker, topic, 2)
    assert (first["key"], first["value"]) == (b"k", b"v")
    assert first["timestamp"].timestamp() == 1_700_000_000
    assert [tuple(each.values()) for each in first["headers"]] == [("h", b"1"), ("h", None)]
    assert (second["key"], second["value"]) == (b"tombstone", None)


def test_closing_at_once_loses_nothing_that_nobody_acknowledges(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        for _ in range(40):
            await producer.send(topic, bytes(200_000), None, 1)

    for _ in range(3):  # more than the buffers of the sockets hold, so that much is unsent when the producer closes
        produce(broker, work, acks=0)
    until(lambda: len(rows(broker, topic, 1)) == 120)


def test_a_key_goes_where_java_puts_it(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        for number in range(50):
            place = await producer.send_and_wait(topic, b"x", b"key-%d" % number)
            assert place.partition == partition_of_key(b"key-%d" % number, 4)

    produce(broker, work)


def test_records_without_keys_stick_to_a_partition_while_its_batch_has_room(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        futures = [await producer.send(topic, bytes(100)) for _ in range(2000)]
        await producer.flush()
        places = [(await future).partition for future in futures]
        moves = sum(one != other for one, other in pairwise(places))
        # Some 125 moves at random: that one of the four is never met has a chance below 1e-20.
        assert set(places) == {0, 1, 2, 3}
        assert 100 < moves < 200

    produce(broker, work, max_batch_size=2_000, linger_ms=60_000)


def test_a_partitioner_of_ones_own_decides(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        assert (await producer.send_and_wait(topic, b"x", b"k")).partition == 3
        assert (await producer.send_and_wait(topic, b"x")).partition == 3

    produce(broker, work, partitioner=lambda key, every, available: every[-1])


def test_serializers_make_bytes(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        await producer.send_and_wait(topic, {"a": 1}, "key", 0)

    produce(broker, work, value_serializer=lambda value: repr(value).encode(), key_serializer=str.encode)
    assert [(row["key"], row["value"]) for row in rows(broker, topic)] == [(b"key", b"{'a': 1}")]


def test_linger_collects_and_flush_does_not_wait_for_it(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        futures = [await producer.send(topic, b"%d" % number, partition=0) for number in range(10)]
        await asyncio.sleep(0.02)
        assert not any(future.done() for future in futures)
        await producer.flush()
        assert [future.result().offset for future in futures] == list(range(10))

    produce(broker, work, linger_ms=60_000)


def test_linger_ends_by_itself(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        future = await producer.send(topic, b"x")
        assert (await asyncio.wait_for(future, 60)).offset == 0

    produce(broker, work, linger_ms=20)


def test_stopping_sends_what_is_left(broker: Topics, topic: str) -> None:
    async def main() -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": "60000"})
        await producer.start()
        future = await producer.send(topic, b"last", partition=1)
        await producer.stop()
        assert future.result().offset == 0
        with pytest.raises(ClosedError):
            await producer.send(topic, b"too late")

    asyncio.run(main())


def test_back_pressure_lets_everything_through_in_the_end(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        futures = [await producer.send(topic, bytes(1000), partition=0) for _ in range(300)]
        await producer.flush()
        assert [future.result().offset for future in futures] == list(range(300))

    produce(broker, work, buffer_memory=20_000)


def test_a_record_that_no_request_can_hold_is_refused(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        with pytest.raises(RecordTooLargeError, match="max_request_size is 1000"):
            await producer.send(topic, bytes(1001))
        with pytest.raises(RecordTooLargeError, match="max_request_size is 1000"):
            await producer.send(topic, b"", headers=[("large", bytes(1001))])
        assert (await producer.send_and_wait(topic, bytes(900))).offset == 0

    produce(broker, work, max_request_size=1000)


def test_a_partition_or_topic_that_is_not_there(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        with pytest.raises(UnknownPartitionError, match=r"-9: the topic has 4 partitions"):
            await producer.send(topic, b"x", partition=9)
        assert await producer.partitions_for(topic) == {0, 1, 2, 3}

    async def in_vain(producer: Producer) -> None:
        with pytest.raises(RequestTimeoutError, match="topic 'nowhere': given up"):
            await producer.send("nowhere", b"x")

    produce(broker, work)
    produce(broker, in_vain, max_block_ms=100)


def test_a_delivery_that_nobody_waits_for_any_more_disturbs_nobody(broker: Topics, topic: str) -> None:
    async def work(producer: Producer) -> None:
        (await producer.send(topic, b"x", partition=0)).cancel()
        await producer.flush()
        assert (await producer.send_and_wait(topic, b"y", partition=0)).offset == 1

    produce(broker, work)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(OptionError, match="enable_idempotence needs acks=all"):
        Producer(acks=1, enable_idempotence=True)
