"""Records that are accepted at once, and those that take the longer way: both arrive alike."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

from kafkawire.client import Producer, RecordMetadata, RecordTooLargeError
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._produce.partitioner import partition_of_key
from kafkawire.client._produce.results import Delivery
from kafkawire.client.blocking import Producer as BlockingProducer

if TYPE_CHECKING:
    from tests.client.topics import Topics

pytestmark = pytest.mark.twin
PARTITIONS = 3


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), PARTITIONS)


def rows(broker: Topics, topic: str, partition: int) -> list[dict[str, Any]]:
    with BulkReader(broker.bootstrap) as reader:
        return [row for batch in reader.read(topic, partition, 0) for row in batch.to_pylist()]


def any_record(dice: random.Random, number: int) -> tuple[Any, Any, int | None, int | None, Any]:
    """Value, key, partition, timestamp and headers of a record, of every kind that `send` takes."""
    value = dice.choice([b"%d" % number, bytearray(b"%d" % number), memoryview(b"%d" % number), b"", None])
    key = dice.choice([None, None, b"k%d" % dice.randrange(5), bytearray(b"k"), b""])
    headers = dice.choice([None, None, None, (), [], [("h", b"%d" % number), ("h", None)], iter([("i", b"1")])])
    return value, key, dice.choice([None, None, 0, 2]), dice.choice([None, None, 0, -1, 1_700_000_000_000]), headers


def as_bytes(part: Any) -> bytes | None:
    return None if part is None else bytes(part)


def in_batches(producer: Producer) -> int:
    """The bytes of all records that are in batches."""
    return sum(batch.size for queue in producer._accumulator.queues.values() for batch in queue.batches())  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_record_arrives_in_order_at_its_place(broker: Topics, topic: str, seed: int) -> None:
    dice = random.Random(seed)
    wanted: dict[int, list[tuple[Any, ...]]] = defaultdict(list)

    async def main() -> None:
        codec, size = dice.choice(["none", "lz4"]), dice.choice([1, 200, 5_000])
        options: dict[str, Any] = {
            "compression_type": codec,
            "max_batch_size": size,
            "buffer_memory": dice.choice([300, 100_000]),
        }
        async with Producer(bootstrap_servers=broker.bootstrap, acks="all", **options) as producer:
            sent = []
            for number in range(300):
                value, key, partition, stamp, headers = any_record(dice, number)
                kept = None if headers is None else list(headers)
                future = await producer.send(topic, value, key, partition, stamp, kept)
                assert producer._accumulator.buffered == in_batches(producer)
                sent.append((future, value, key, partition, stamp, kept))
            for future, value, key, partition, stamp, kept in sent:
                place = await future
                if partition is not None or key is not None:
                    assert place.partition == (
                        partition_of_key(bytes(key), PARTITIONS) if partition is None else partition
                    )
                assert stamp in (None, place.timestamp)
                wanted[place.partition].append((place.offset, as_bytes(key), as_bytes(value), kept or []))
            assert producer._accumulator.buffered == 0

    asyncio.run(main())
    for partition in range(PARTITIONS):
        found = [
            (row["offset"], row["key"], row["value"], [(each["key"], each["value"]) for each in row["headers"] or ()])
            for row in rows(broker, topic, partition)
        ]
        assert found == wanted[partition]
        assert [offset for offset, *_ in found] == list(range(len(found)))


@pytest.mark.parametrize("seed", range(4))
def test_records_of_threads_keep_their_order_whatever_their_kind(broker: Topics, topic: str, seed: int) -> None:
    dice = random.Random(seed)
    with BlockingProducer(bootstrap_servers=broker.bootstrap, max_batch_size=dice.choice([1, 300, 16_384])) as producer:
        deliveries = []
        for number in range(1_500):
            value = dice.choice([bytes, bytearray])(b"%d" % number)
            headers = dice.choice([None, None, None, [("h", b"1")]])
            deliveries.append(producer.send(topic, value, None, 1, None, headers))
        heard: list[int] = []
        deliveries[700].add_done_callback(lambda delivery: heard.append(delivery.result().offset))
        assert [each.result(60).offset for each in deliveries] == list(range(1_500))
        until(lambda: heard == [700])
    assert [int(row["value"]) for row in rows(broker, topic, 1)] == list(range(1_500))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"value": "text"}, TypeError),
        ({"key": 5}, TypeError),
        ({"timestamp_ms": 2**63}, OverflowError),
        ({"timestamp_ms": "now"}, TypeError),
        ({"headers": [("h", "text")]}, TypeError),
        ({"value": bytes(70_000)}, RecordTooLargeError),
    ],
)
def test_a_record_that_cannot_be_written_raises_between_others_that_are_accepted(
    broker: Topics, topic: str, wrong: dict[str, Any], error: type[Exception]
) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap, linger_ms=50, max_request_size=65_536) as producer:
            first = await producer.send(topic, b"first", partition=0)
            with pytest.raises(error):
                await producer.send(topic, partition=0, **wrong)
            assert producer._accumulator.buffered == in_batches(producer)
            last = await producer.send(topic, b"last", partition=0)
            assert [(await each).offset for each in (first, last)] == [0, 1]

    asyncio.run(main())


def test_only_what_needs_nothing_else_is_accepted_at_once(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000, max_batch_size=200) as producer:
            accept = producer._accumulator.accept
            assert accept(topic, b"x") is None  # its metadata is not known
            await producer.partitions_for(topic)
            assert accept(topic, b"x") is None  # it has no batch
            await producer.send(topic, b"x", partition=1)
            assert accept(topic, b"x") is None  # another partition
            accepted = accept(topic, b"x", partition=1)
            assert accepted is not None
            assert not accepted.done()
            assert accept(topic, bytearray(b"x"), partition=1) is None
            assert accept(topic, b"x", partition=1, timestamp_ms=2**63) is None
            assert accept(topic, b"x", partition=1, timestamp_ms=True) is None
            assert accept(topic, bytes(200), partition=1) is None  # no room in the batch
            producer._accumulator.most_buffered = producer._accumulator.buffered
            assert accept(topic, b"x", partition=1) is None  # no room in memory
            waiting: Any = deque([(Delivery(), (topic, b"x", None, 1, None, None))])
            producer._accept_waiting(waiting)
            assert len(waiting) == 1
            producer._accumulator.most_buffered = 1_000_000
            delivery = waiting[0][0]
            waiting.append((Delivery(), (topic, b"y", None, 1, None, [("h", b"1")])))
            producer._accept_waiting(waiting)
            assert len(waiting) == 1  # headers take the longer way
            await producer.flush()
            assert (await accepted)[:3] == (topic, 1, 1)
            assert isinstance(delivery.result(0), RecordMetadata)
            assert delivery.result(0).offset == 2
            assert rows(broker, topic, 1)[2]["value"] == b"x"

    asyncio.run(main())
