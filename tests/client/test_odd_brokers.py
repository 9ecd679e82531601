"""Brokers that answer oddly: sessions that vanish, leaders that move, bytes that are not a batch."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from tests.client.scripted_broker import ScriptedBroker
from tests.client.topics import batch_of

from kafkawire.client import ClientError, Consumer, TopicPartition
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client._consume import records
from kafkawire.messages import FetchResponse, ListOffsetsResponse
from kafkawire.messages.errors import TopicAuthorizationFailedError
from kafkawire.records import CorruptRecordError

NOT_LEADER, TOPIC_AUTHORIZATION, SESSION_NOT_FOUND, INVALID_SESSION_EPOCH, OFFSET_NOT_AVAILABLE = 6, 29, 70, 71, 78


def batch(base: int, count: int) -> bytes:
    return batch_of((b"%d" % number for number in range(base, base + count)), base_offset=base)


class Log:
    """A partition of forty records in batches of ten; `odd` are answers to give first, in order."""

    def __init__(self, *odd: Any) -> None:
        self.odd = list(odd)
        self.sessions: list[tuple[int, int]] = []

    def fetch(self, request: Any, version: int) -> FetchResponse:
        self.sessions.append((request.session_id, request.session_epoch))
        if request.topics:
            self.topic = request.topics[0]
            self.at = self.topic.partitions[0].fetch_offset
        answer = self.odd.pop(0) if self.odd else self.at
        if isinstance(answer, FetchResponse):
            return answer
        if isinstance(answer, bytes):
            return self.holding(answer)
        base = min(answer, 40) // 10 * 10
        return self.holding(batch(base, 10) if base < 40 else b"")

    def holding(self, records: bytes, code: int = 0) -> FetchResponse:
        entry = FetchResponse.PartitionData(
            partition_index=0, high_watermark=40, last_stable_offset=40, records=records, error_code=code
        )
        topic = FetchResponse.FetchableTopicResponse(
            topic=self.topic.topic, topic_id=self.topic.topic_id, partitions=[entry]
        )
        return FetchResponse(session_id=7, responses=[topic])


def refusing(code: int) -> FetchResponse:
    """An answer that refuses the partition; the fake has one topic, whose id is 1."""

    entry = FetchResponse.PartitionData(partition_index=0, error_code=code, high_watermark=-1, records=b"")
    topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=UUID(int=1), partitions=[entry])
    return FetchResponse(session_id=7, responses=[topic])


async def read(log: Log, count: int, **options: Any) -> list[int]:
    async with ScriptedBroker({"Fetch": log.fetch}) as broker:
        broker.topics["t"] = 1
        settings = {"fetch_max_wait_ms": 10, "retry_backoff_ms": 5, **options}
        async with Consumer(bootstrap_servers=broker.bootstrap, **settings) as consumer:
            consumer.assign([("t", 0)])
            consumer.seek(TopicPartition("t", 0), 0)
            return [int((await asyncio.wait_for(consumer.getone(), 60)).value) for _ in range(count)]


@pytest.mark.parametrize(
    "odd",
    [
        [FetchResponse(error_code=SESSION_NOT_FOUND)],
        [FetchResponse(error_code=INVALID_SESSION_EPOCH), FetchResponse(error_code=INVALID_SESSION_EPOCH)],
        [refusing(NOT_LEADER), refusing(NOT_LEADER)],
        [refusing(OFFSET_NOT_AVAILABLE)],
        [FetchResponse(session_id=7)],
        [b"", b""],
        [FetchResponse(session_id=7, responses=[FetchResponse.FetchableTopicResponse(topic="other")])],
    ],
)
def test_passing_errors_are_retried(odd: list[Any]) -> None:
    assert asyncio.run(read(Log(*odd), 40)) == list(range(40))


def test_a_session_is_used_and_its_epoch_rises() -> None:
    log = Log()
    asyncio.run(read(log, 40))
    assert log.sessions[0] == (0, 0)
    assert log.sessions[1:4] == [(7, 1), (7, 2), (7, 3)]


def test_a_lost_session_starts_over_with_everything() -> None:
    log = Log(0, FetchResponse(error_code=SESSION_NOT_FOUND))
    assert asyncio.run(read(log, 40)) == list(range(40))
    assert log.sessions[:3] == [(0, 0), (7, 1), (0, 0)]


def test_lasting_errors_are_raised() -> None:
    with pytest.raises(TopicAuthorizationFailedError, match="t-0 at offset 0"):
        asyncio.run(read(Log(refusing(TOPIC_AUTHORIZATION)), 1))


def test_a_batch_that_never_comes_whole_is_an_error() -> None:
    with pytest.raises(ClientError, match=r"t-0: the batch at offset 0 does not fit max_partition_fetch_bytes"):
        asyncio.run(read(Log(batch(0, 10)[:-1]), 1))


def test_records_of_the_past_are_an_error() -> None:
    with pytest.raises(ClientError, match="t-0: the broker keeps sending batches before offset 10"):
        asyncio.run(read(Log(0, 0), 11))


def test_an_internal_fault_is_raised_instead_of_waiting_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(records, "scan_batches", broken)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(read(Log(), 1))


def test_a_partition_that_an_answer_about_offsets_leaves_out_is_an_error() -> None:
    complaint = "t-0: the broker's answer leaves it out"

    def read(bootstrap: str) -> None:
        with BulkReader(bootstrap) as reader, pytest.raises(ClientError, match=complaint):
            reader.latest("t", [0])

    async def main() -> None:
        handlers = {"Fetch": Log().fetch, "ListOffsets": lambda request, version: ListOffsetsResponse()}
        async with ScriptedBroker(handlers) as broker:
            broker.topics["t"] = 1
            await asyncio.to_thread(read, broker.bootstrap)
            async with Consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
                with pytest.raises(ClientError, match=complaint):
                    await consumer.end_offsets([TopicPartition("t", 0)])
                consumer.assign([TopicPartition("t", 0)])
                with pytest.raises(ClientError, match=complaint):
                    await asyncio.wait_for(consumer.getone(), 30)

    asyncio.run(main())


def test_bytes_that_are_not_a_batch_are_an_error() -> None:
    with pytest.raises(CorruptRecordError, match="size field 0"):
        asyncio.run(read(Log(bytes(100)), 1))


def test_good_records_before_the_damage_are_returned_first() -> None:
    log = Log(batch(0, 10) + bytes(100), bytes(100))
    with pytest.raises(CorruptRecordError):
        asyncio.run(read(log, 11))
    assert asyncio.run(read(Log(batch(0, 10) + bytes(100)), 12)) == list(range(12))


def bulk(log: Log) -> list[int]:
    async def main() -> list[int]:
        async with ScriptedBroker({"Fetch": log.fetch}) as broker:
            broker.topics["t"] = 1

            def work() -> list[int]:
                with BulkReader(broker.bootstrap, retry_backoff_ms=5, fetch_max_wait_ms=10) as reader:
                    batches = reader.read("t", 0, 0, 40)
                    return [int(value or 0) for each in batches for value in each.column("value").to_pylist()]

            return await asyncio.get_running_loop().run_in_executor(None, work)

    return asyncio.run(main())


@pytest.mark.parametrize("odd", [[refusing(NOT_LEADER)], [FetchResponse()], [b""], [refusing(OFFSET_NOT_AVAILABLE)]])
def test_bulk_reading_waits_out_what_passes(odd: list[Any]) -> None:
    assert bulk(Log(*odd)) == list(range(40))


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [
        ([refusing(TOPIC_AUTHORIZATION)], "TOPIC_AUTHORIZATION_FAILED"),
        ([batch(0, 10)[:-1]], "does not fit a fetch of"),
        ([0, 0], "keeps sending batches before offset 10"),
        ([bytes(100)], "size field 0"),
    ],
)
def test_bulk_reading_raises_lasting_errors(odd: list[Any], complaint: str) -> None:
    with pytest.raises(Exception, match=complaint):
        bulk(Log(*odd))
