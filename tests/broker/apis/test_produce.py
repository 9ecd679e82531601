"""Produce: stored records, refusals, and responses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask, batch, begin, values

from kafkawire.broker._dispatch.dispatcher import RefusedRequestError
from kafkawire.messages import FindCoordinatorRequest, ProduceRequest, ProduceResponse
from kafkawire.messages._registry import api
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node


def produce(
    node: Node, *records: bytes | None, topic: str = "orders", acks: int = -1, **fields: object
) -> ProduceRequest:
    found = node.topics.find(topic)
    data = ProduceRequest.TopicProduceData(
        name=topic,
        partition_data=[ProduceRequest.PartitionProduceData(index=i, records=each) for i, each in enumerate(records)],
    )
    if found is not None:
        data.topic_id = found.id
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data], **fields)  # type: ignore[arg-type]  # by name


def only(response: ProduceResponse) -> ProduceResponse.PartitionProduceResponse:
    return response.responses[0].partition_responses[0]


@pytest.mark.parametrize("version", list(api("Produce").versions))
def test_every_version_stores_records_and_returns_their_offset(node: Node, version: int) -> None:
    magic = 0 if version < 2 else 1 if version < 3 else 2
    ask(node, produce(node, batch(b"a", b"b", magic=magic)), version)
    answered = only(ask(node, produce(node, batch(b"c", magic=magic)), version))
    assert (answered.error_code, answered.base_offset) == (ErrorCode.NONE, 2)
    stored = node.log("orders", 0).read(0, 1 << 20).read()
    assert values(stored) == [b"a", b"b", b"c"]
    assert {each.magic for each in read_batches(stored)} == {2}


def test_partitions_fail_one_by_one(node: Node) -> None:
    response = ask(node, produce(node, batch(b"a"), b"\0" * 61, batch(b"c")))
    codes = [each.error_code for each in response.responses[0].partition_responses]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(
    ("records", "version", "error", "start"),
    [
        (None, 9, ErrorCode.INVALID_RECORD, -1),
        (b"", 9, ErrorCode.INVALID_RECORD, -1),
        (batch(b"a") + batch(b"b"), 9, ErrorCode.INVALID_RECORD, -1),
        (batch(b"a" * 99)[:-1], 9, ErrorCode.INVALID_RECORD, -1),
        (batch(b"a", magic=1) + batch(b"b" * 99, magic=1), 9, ErrorCode.INVALID_RECORD, -1),
        (batch(b"a", base_offset=5), 9, ErrorCode.INVALID_RECORD, 0),
        (batch(b"a", compression="zstd"), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1),
        (batch(b"a" * 2_000_000), 9, ErrorCode.MESSAGE_TOO_LARGE, -1),
        (batch(b"a")[:-1] + b"?", 9, ErrorCode.CORRUPT_MESSAGE, -1),
    ],
    ids=["null", "empty", "two", "cut", "old magic", "base offset", "early zstd", "too large", "bad checksum"],
)
def test_records_that_are_not_one_good_batch_are_refused(
    node: Node, records: bytes | None, version: int, error: ErrorCode, start: int
) -> None:
    answered = only(ask(node, produce(node, records), version))
    assert (answered.error_code, answered.base_offset, answered.log_start_offset) == (error, -1, start)
    assert node.log("orders", 0).end_offset == 0


def test_unknown_topics_are_returned_by_name_or_by_id(node: Node) -> None:
    assert only(ask(node, produce(node, batch(b"a"), topic="other"), 12)).error_code == 3
    assert only(ask(node, produce(node, batch(b"a"), topic="other"), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_acks_other_than_minus_one_to_one_are_refused_everywhere(node: Node) -> None:
    response = ask(node, produce(node, batch(b"a"), batch(b"b"), acks=2))
    assert {each.error_code for each in response.responses[0].partition_responses} == {ErrorCode.INVALID_REQUIRED_ACKS}


def test_acks_zero_is_not_answered(node: Node) -> None:
    assert ask(node, produce(node, batch(b"a"), acks=0)) is None
    assert node.log("orders", 0).end_offset == 1


def test_a_failed_acks_zero_closes_the_connection(node: Node) -> None:
    with pytest.raises(RefusedRequestError, match="acks=0 and CORRUPT_MESSAGE for orders-0"):
        ask(node, produce(node, batch(b"a")[:-1] + b"?", acks=0), 9)


def test_internal_topics_are_for_the_admin_client_only(node: Node) -> None:
    node.internal_topic("__consumer_offsets")
    request = produce(node, batch(b"a"), topic="__consumer_offsets")
    assert only(ask(node, request)).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert only(ask(node, request, client_id="__admin_client")).error_code == ErrorCode.NONE


def test_records_without_a_key_are_named_where_the_topic_is_compacted(node: Node) -> None:
    node.create_topic("compacted", 1, {"cleanup.policy": "compact"})
    builder = BatchBuilder()
    for key in (b"k", None, b"l", None):
        builder.append(key, b"v", timestamp=5)
    answered = only(ask(node, produce(node, builder.build(), topic="compacted")))
    assert answered.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answered.record_errors] == [1, 3]


def test_append_time_is_returned_only_if_the_topic_uses_it(node: Node) -> None:
    node.create_topic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    assert only(ask(node, produce(node, batch(b"a")))).log_append_time_ms == -1
    assert only(ask(node, produce(node, batch(b"a"), topic="stamped"))).log_append_time_ms == node.clock.now()


def test_more_replicas_than_one_are_never_in_sync(node: Node) -> None:
    node.create_topic("safe", 1, {"min.insync.replicas": "2"})
    request = produce(node, batch(b"a"), topic="safe")
    assert only(ask(node, request)).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    request.acks = 1
    assert only(ask(node, request)).error_code == ErrorCode.NONE


def test_transactional_batches_need_a_transaction(node: Node) -> None:
    data = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert only(ask(node, produce(node, data), 10)).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    request = produce(node, data, transactional_id="t")
    assert only(ask(node, request, 10)).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    ask(node, FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]))
    assert only(ask(node, request, 10)).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_duplicate_of_an_idempotent_batch_returns_the_original_offset(node: Node) -> None:
    def sent(sequence: int) -> ProduceResponse.PartitionProduceResponse:
        data = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
        return only(ask(node, produce(node, data)))

    assert [sent(sequence).base_offset for sequence in (0, 1, 2)] == [0, 1, 2]
    assert (sent(1).error_code, sent(1).base_offset) == (ErrorCode.NONE, 1)
    assert sent(9).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert node.log("orders", 0).end_offset == 3


def test_with_flush_on_ack_the_answer_comes_after_the_disk(open_node: Callable[..., Node]) -> None:
    node = open_node(flush_on_ack="true")
    node.create_topic("orders", 1)
    assert only(ask(node, produce(node, batch(b"a")))).base_offset == 0
    assert node.log("orders", 0).high_watermark == 1


def test_waiting_for_the_disk_ends_with_the_requests_timeout(open_node: Callable[..., Node]) -> None:
    node = open_node(flush_on_ack="true")
    node.create_topic("orders", 1)

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    node.durable = lambda *_: never()  # type: ignore[method-assign]  # a disk that never answers

    async def scenario() -> object:
        call = begin(node, produce(node, batch(b"a")))
        waiting = asyncio.ensure_future(call.response)  # type: ignore[arg-type]  # it waits
        await asyncio.sleep(0)
        node.clock.advance(1000)  # type: ignore[attr-defined]  # the tests' clock
        return await waiting

    response = asyncio.run(scenario())
    assert isinstance(response, ProduceResponse)
    assert only(response).error_code == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("size", [48, 14, 0, -1, -(2**31)])
def test_a_batch_that_states_an_impossible_size_is_corrupt(
    node: Node, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    data = bytearray(batch(b"a"))
    data[8:12] = size.to_bytes(4, "big", signed=True)
    assert only(ask(node, produce(node, bytes(data)))).error_code == ErrorCode.CORRUPT_MESSAGE
    behind = batch(b"a") + bytes(data)
    assert only(ask(node, produce(node, behind))).error_code == ErrorCode.CORRUPT_MESSAGE
    assert node.log("orders", 0).end_offset == 0
    assert "Traceback" not in caplog.text
