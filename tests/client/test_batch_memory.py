"""The memory of batches: used again, but never while anything still reads it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.client import BulkReader, Producer
from kafkawire.client._produce.batches import KEPT, BatchMemory
from kafkawire.messages import ProduceRequest
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from tests.client.topics import Topics

    from kafkawire.client import TraceEvent

SIZE = 100_000


def test_memory_is_used_again_and_little_batches_get_their_own() -> None:
    memory = BatchMemory(SIZE)
    first, small, large = memory.take(SIZE), memory.take(SIZE // 4 - 1), memory.take(SIZE + 1)
    assert [len(each) for each in (first, small, large)] == [SIZE, SIZE // 4 - 1, SIZE + 1]
    for each in (small, first, large):
        memory.give(each)
    assert memory.take(SIZE // 4) is first
    assert memory.take(SIZE) is not first


def test_memory_with_a_view_is_not_used_again() -> None:
    memory = BatchMemory(SIZE)
    first, second = memory.take(SIZE), memory.take(SIZE)
    view = memoryview(second)[10:20]
    memory.give(first)
    memory.give(second)
    assert memory.take(SIZE) is first
    third = memory.take(SIZE)
    assert third is not second
    assert len(third) == SIZE
    assert len(view) == 10


def test_no_more_than_a_few_batches_are_kept() -> None:
    memory = BatchMemory(SIZE)
    taken = [memory.take(SIZE) for _ in range(100)]
    for each in taken:
        memory.give(each)
    again = [memory.take(SIZE) for _ in range(100)]
    assert sum(any(each is other for other in taken) for each in again) == KEPT // SIZE


def test_a_message_that_a_trace_keeps_is_not_overwritten(broker: Topics) -> None:
    topic = broker.create_topic("kept-by-a-trace", 1)
    kept: list[ProduceRequest] = []

    def keep(event: TraceEvent) -> None:
        if isinstance(event.message, ProduceRequest):
            kept.append(event.message)

    async def main() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap, trace=keep, max_batch_size=4_000) as producer:
            for number in range(100):
                await producer.send(topic, b"%04d" % number * 500)
                await producer.flush()

    asyncio.run(main())
    data = [part.records or b"" for each in kept for topic in each.topic_data for part in topic.partition_data]
    found = [
        bytes(record.value or b"")[:4] for each in data for batch in read_batches(each) for record in batch.records()
    ]
    assert found == [b"%04d" % number for number in range(100)]


def test_records_of_batches_that_share_memory_arrive_once_and_in_order(broker: Topics) -> None:
    topic = broker.create_topic("many-in-flight", 1)

    async def main() -> list[int]:
        async with Producer(bootstrap_servers=broker.bootstrap, max_batch_size=8_000, compression_type="none") as p:
            sent = [await p.send(topic, b"%06d" % number * 100, partition=0) for number in range(2_000)]
            return [(await each).offset for each in sent]

    assert asyncio.run(main()) == list(range(2_000))
    assert values(broker, topic) == [b"%06d" % number for number in range(2_000)]


def values(broker: Topics, topic: str) -> list[bytes]:
    with BulkReader(broker.bootstrap) as reader:
        return [row["value"][:6] for batch in reader.read(topic, 0, 0) for row in batch.to_pylist()]
