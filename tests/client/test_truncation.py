"""Logs that are truncated and have other records afterwards, as after an unclean election of a leader (KIP-320)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.scripted_broker import ScriptedBroker
from tests.client.topics import batch_of

from kafkawire.client import Consumer, ConsumerRecord, LogTruncatedError, TopicPartition
from kafkawire.client._consume.positions import Position, Run
from kafkawire.client._consume.records import Chunk
from kafkawire.client.options import ConsumerOptions
from kafkawire.messages import FetchResponse

pytestmark = pytest.mark.usefixtures("virtual_time")
PLACE = TopicPartition("t", 0)


class CutLog:
    """Batches by offset, each with its epoch; reports divergence as a broker does."""

    def __init__(self, *batches: tuple[int, list[bytes]]) -> None:
        self.batches = batches
        self.asked: list[tuple[int, int]] = []

    def fetch(self, request: Any, version: int) -> FetchResponse:
        for topic in request.topics:
            self.topic, (self.wanted,) = topic, topic.partitions
        at, epoch = self.wanted.fetch_offset, self.wanted.last_fetched_epoch
        self.asked.append((at, epoch))
        entry = FetchResponse.PartitionData(partition_index=0, records=b"")
        position, records, end = 0, b"", 0
        for batch_epoch, values in self.batches:
            if position + len(values) > at and not records:
                records = batch_of(values, base_offset=position, leader_epoch=batch_epoch)
            position += len(values)
            if batch_epoch <= epoch:
                end = position
        entry.high_watermark = entry.last_stable_offset = position
        if epoch >= 0 and end < at:
            last = max(each for each, _ in self.batches if each <= epoch)
            entry.diverging_epoch = FetchResponse.EpochEndOffset(epoch=last, end_offset=end)
        else:
            entry.records = records
        answer = FetchResponse.FetchableTopicResponse(
            topic=self.topic.topic, topic_id=self.topic.topic_id, partitions=[entry]
        )
        return FetchResponse(session_id=7, responses=[answer])

    def broker(self) -> ScriptedBroker:
        broker = ScriptedBroker({"Fetch": self.fetch})
        broker.topics["t"] = 1
        return broker


async def values(consumer: Consumer, count: int) -> list[bytes]:
    return [(await asyncio.wait_for(consumer.getone(), 60)).value for _ in range(count)]


def test_a_consumer_goes_back_to_where_the_log_was_cut_off() -> None:
    async def main() -> None:
        log = CutLog((0, [b"a", b"b"]), (1, [b"c", b"d", b"lost"]))
        async with log.broker() as broker, Consumer(bootstrap_servers=broker.bootstrap) as consumer:
            consumer.assign([PLACE])
            consumer.seek(PLACE, 0)
            assert await values(consumer, 5) == [b"a", b"b", b"c", b"d", b"lost"]
            log.batches = (0, [b"a", b"b"]), (1, [b"c", b"d"]), (2, [b"e", b"f", b"g"])
            assert await values(consumer, 3) == [b"e", b"f", b"g"]
            assert log.asked[0] == (0, -1)
            assert (2, 0) in log.asked
            assert (5, 1) in log.asked
            assert log.asked[-1] in [(4, -1), (7, 2)]

    asyncio.run(main())


def test_without_a_reset_the_application_gets_the_offset() -> None:
    async def main() -> None:
        log = CutLog((0, [b"a", b"lost"]))
        async with (
            log.broker() as broker,
            Consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="none") as consumer,
        ):
            consumer.assign([PLACE])
            consumer.seek(PLACE, 0)
            assert await values(consumer, 2) == [b"a", b"lost"]
            log.batches = (0, [b"a"]), (3, [b"new"])
            with pytest.raises(LogTruncatedError, match=r"t-0: .*truncated at offset 1 .*was 2 \(epoch 0\)") as told:
                await values(consumer, 1)
            assert (told.value.partition, told.value.offset) == (PLACE, 1)
            consumer.seek(PLACE, told.value.offset)
            assert await values(consumer, 1) == [b"new"]

    asyncio.run(main())


def test_a_fetch_that_comes_home_after_its_partition_went_and_came_back_is_dropped() -> None:
    async def main() -> None:
        log = CutLog((0, [b"a", b"b"]), (0, [b"c", b"d"]))
        async with log.broker() as broker, Consumer(bootstrap_servers=broker.bootstrap) as consumer:
            asked = asyncio.Event()

            def fetch(request: Any, version: int) -> FetchResponse:
                broker.delay = 1  # the answer is on its way for so long
                asked.set()
                return log.fetch(request, version)

            broker.handlers["Fetch"] = fetch
            consumer.assign([PLACE])
            consumer.seek(PLACE, 2)
            await asked.wait()
            consumer.assign([])
            consumer.assign([PLACE])
            consumer.seek(PLACE, 0)
            assert await values(consumer, 4) == [b"a", b"b", b"c", b"d"]

    asyncio.run(main())


def chunk(*parts: tuple[int, int]) -> Chunk:
    """Batches of (epoch, count)."""
    data, offset = b"", 0
    for epoch, count in parts:
        data += batch_of([b"x"] * count, base_offset=offset, leader_epoch=epoch)
        offset += count
    return Chunk(0, offset, memoryview(data), [], parts[-1][0])


def test_a_position_knows_the_epoch_before_it_or_none() -> None:
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk((3, 2), (4, 2)))
    assert (state.fetch_offset, state.fetch_epoch) == (4, 4)
    seen = []
    for _ in range(4):
        (record,) = state.take(1, ConsumerOptions())
        assert isinstance(record, ConsumerRecord)
        seen.append((state.position, state.leader_epoch))
    assert seen == [(1, 3), (2, 3), (3, 4), (4, 4)]
    state.move(1, 3)
    assert (state.leader_epoch, state.fetch_epoch) == (3, 3)
    state.move(2)
    assert (state.leader_epoch, state.fetch_epoch) == (-1, -1)


def test_the_position_follows_a_run_until_its_partition_moves() -> None:
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk((3, 2), (4, 2))._replace(next_offset=6))
    run = Run(state, state.take(None, ConsumerOptions()))
    seen = [(state.position, state.leader_epoch)]
    for offset in range(4):
        record = run.pop()
        assert record is not None
        assert record.offset == offset
        seen.append((state.position, state.leader_epoch))
    assert seen == [(0, -1), (1, 3), (2, 3), (3, 4), (6, 4)]
    state.move(0)
    state.add(chunk((3, 2)))
    run = Run(state, state.take(None, ConsumerOptions()))
    assert run.pop() is not None
    state.move(1)
    assert run.pop() is None
    assert state.position == 1
