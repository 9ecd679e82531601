"""Produce: v0-13. Records into partitions.

Rules:
- acks is -1, 0 or 1, else INVALID_REQUIRED_ACKS, after what is wrong with topics and batches. acks=0 is never answered;
  if anything failed its connection is closed, the only sign the client can get.
- Partitions fail one by one; one that fails does not stop the others. A refusal that comes from the log tells where
  the log starts, but for those that Kafka's own replica manager expects.
- From v3 on a partition's records are exactly one batch of magic 2; v0-2 carry message sets, which the log converts.
  zstd needs v7. v13 names topics by id.
- Internal topics take records only from the client id `__admin_client`.
- A transactional batch needs a transactional id in the request, and an open transaction; without a transaction
  coordinator there is none: INVALID_TXN_STATE, from v11 on TRANSACTION_ABORTABLE.
- With flush.on.ack the answer waits for the disk, up to the request's timeout; the records stay written either way.
- Records of requests that came together are written together: their answers are Unwritten until then. A partition
  whose write fails is answered with KAFKA_STORAGE_ERROR, in every request that appended to it.
- Records that must be packed anew, or unpacked from much, wait for a thread, under the same timeout.
"""

from __future__ import annotations

import asyncio
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkawire.broker.clock import wait
from kafkawire.broker.held import WriteGroup
from kafkawire.broker.serving import CloseConnectionError, ErrorAnswer, RequestContext, Unwritten, serves
from kafkawire.log.admission import SLOW_TO_PACK, is_slow
from kafkawire.log.errors import RefusedRecordsError, RefusedTimestampsError
from kafkawire.messages import ProduceResponse
from kafkawire.messages.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidRequiredAcksError,
    InvalidTopicError,
    InvalidTxnStateError,
    KafkaError,
    NotEnoughReplicasError,
    RequestTimedOutError,
    TransactionAbortableError,
    TransactionalIdAuthorizationError,
    UnsupportedCompressionTypeError,
    error,
)
from kafkawire.records import Codec, RecordsError, read_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker.node import Node
    from kafkawire.broker.topics import Topic
    from kafkawire.log.files import Bytes
    from kafkawire.log.partition import Partition
    from kafkawire.messages import ProduceRequest

    Answered = ProduceResponse.TopicProduceResponse
    AnsweredPartition = ProduceResponse.PartitionProduceResponse

ADMIN_CLIENT: Final = "__admin_client"
_TRANSACTIONAL: Final = 0x10
_SIZE_MAGIC_ATTRIBUTES: Final = Struct(">8xi4xB5xB")
_SMALLEST: Final = 61
_START_UNTOLD: Final = (2, 3, 10, 18, 56)  # corrupt, unknown, too large, too large for a segment, a failing disk


def refuse(request: ProduceRequest, refusal: ErrorAnswer, context: RequestContext) -> ProduceResponse:
    if request.acks == 0:
        raise CloseConnectionError(f"acks=0 and {error(refusal.code).name}")
    response = ProduceResponse()
    for topic in request.topic_data:
        answered = _answered(topic)
        for data in topic.partition_data:
            one = ProduceResponse.PartitionProduceResponse(index=data.index)
            _refuse(one, refusal)
            answered.partition_responses.append(one)
        response.responses.append(answered)
    return response


@serves("Produce", refuse=refuse)
async def handle(node: Node, request: ProduceRequest, context: RequestContext) -> ProduceResponse | Unwritten | None:
    response = ProduceResponse()
    waiting: list[tuple[AnsweredPartition, asyncio.Future[None]]] = []
    held: list[tuple[AnsweredPartition, Partition]] = []
    group: WriteGroup | None = None
    is_first = True
    for topic_data in request.topic_data:
        answered = _answered(topic_data)
        response.responses.append(answered)
        for data in topic_data.partition_data:
            if not is_first:
                await context.yield_if_due()
            is_first = False
            one = ProduceResponse.PartitionProduceResponse(index=data.index)
            answered.partition_responses.append(one)
            try:
                topic = _topic(node, topic_data, context)
                _check(data.records, request, context)
                log = node.log(topic.name, data.index)
                pending = _append(node, topic, log, data.records or b"", request.acks, one, more=context.more)
            except KafkaError as refusal:
                _fail(one, refusal)
                continue
            if pending is None:
                continue
            if isinstance(pending, WriteGroup):
                group = pending
                held.append((one, log))
            else:
                waiting.append((one, _future(pending)))
    if waiting:
        await _wait(node, waiting, request.timeout_ms)
    return (
        _answer(response, request)
        if group is None
        else Unwritten(group, partial(_finish, response, held, request, group))
    )


def _append(
    node: Node, topic: Topic, log: Partition, records: Bytes, acks: int, one: AnsweredPartition, *, more: bool
) -> WriteGroup | Awaitable[None] | None:
    """Append to one partition, and note the result in its part of the answer.

    The answer then depends on the group that holds the records, or on the work to await, or on nothing more.
    """
    one.log_start_offset = log.log_start_offset
    if acks == -1 and topic.min_insync_replicas > 1:
        raise NotEnoughReplicasError(f"1 replica in sync, min.insync.replicas is {topic.min_insync_replicas}")
    if len(records) >= SLOW_TO_PACK and is_slow(records, log.config):
        return _append_slowly(node, topic.name, records, acks, one)
    group = node.hold(log, more=more)
    result = node.append_to(log, topic.name, one.index, records, hold=group is not None)
    one.base_offset, last_offset, one.log_append_time_ms, one.log_start_offset, _ = result
    if group is None and acks and (log.config.flush_on_ack or log.owes_flush):
        return node.settled(topic.name, one.index, last_offset)
    return group


def _future(work: Awaitable[None]) -> asyncio.Future[None]:
    future = asyncio.ensure_future(work)
    future.add_done_callback(_retrieve)
    return future


async def _wait(node: Node, waiting: list[tuple[AnsweredPartition, asyncio.Future[None]]], timeout_ms: int) -> None:
    """Wait for threads and for the disk, up to the request's timeout."""
    deadline = node.clock.elapsed() + timeout_ms
    for one, future in waiting:
        if not await wait(node.clock, future, deadline - node.clock.elapsed()):
            future.cancel()
            _fail(one, RequestTimedOutError(f"not done after {timeout_ms} ms"))
        elif (failure := future.exception()) is not None:
            _fail(one, failure)


def _finish(
    response: ProduceResponse,
    held: list[tuple[AnsweredPartition, Partition]],
    request: ProduceRequest,
    group: WriteGroup,
) -> ProduceResponse | None:
    """The answer, once the group is written: records that were lost are refused."""
    for one, log in held:
        failure = group.failures.get(log)
        if failure is not None and not one.error_code:
            _fail(one, failure)
    return _answer(response, request)


def _retrieve(future: asyncio.Future[None]) -> None:
    """Take note of an error that a client which has gone will not hear of; the log has reported it."""
    if not future.cancelled():
        future.exception()


def _answer(response: ProduceResponse, request: ProduceRequest) -> ProduceResponse | None:
    if request.acks:
        return response
    _close_if_failed(response)
    return None


def _topic(node: Node, wanted: ProduceRequest.TopicProduceData, context: RequestContext) -> Topic:
    topic = node.topics.get_id(wanted.topic_id) if context.version >= 13 else node.topics.get(wanted.name)
    if topic.is_internal and context.client_id != ADMIN_CLIENT:
        raise InvalidTopicError(f"topic {topic.name!r} is internal")
    return topic


def _check(records: bytes | bytearray | memoryview | None, request: ProduceRequest, context: RequestContext) -> None:
    """Refuse what does not have the shape that a version asks for, and acks that there are not."""
    if context.version >= 3:
        _check_shape(records, request, context)
    if request.acks not in (-1, 0, 1):
        raise InvalidRequiredAcksError(f"acks {request.acks}, expected -1, 0 or 1")


def _check_shape(
    records: bytes | bytearray | memoryview | None, request: ProduceRequest, context: RequestContext
) -> None:
    if records is None or len(records) < _SMALLEST:
        raise InvalidRecordError(f"{len(records or b'')} bytes of records, expected one batch")
    size, magic, attributes = _SIZE_MAGIC_ATTRIBUTES.unpack_from(records)
    if magic != 2:
        raise InvalidRecordError(f"magic {magic} in Produce v{context.version}, expected 2")
    if size < _SMALLEST - 12:
        raise CorruptRecordError(f"a batch of {size} bytes after its size, expected at least {_SMALLEST - 12}")
    if 12 + size > len(records):
        raise InvalidRecordError(f"{len(records)} bytes of a batch of {12 + size}, expected all of it")
    if 12 + size < len(records) and _count_batches(records) > 1:
        raise InvalidRecordError("more than one batch for a partition, expected exactly one")
    if attributes & 7 == Codec.ZSTD and context.version < 7:
        raise UnsupportedCompressionTypeError(f"zstd in Produce v{context.version}, expected v7 or later")
    if attributes & _TRANSACTIONAL:
        if request.transactional_id is None:
            raise TransactionalIdAuthorizationError("transactional batch without a transactional id")
        refused = TransactionAbortableError if context.version >= 11 else InvalidTxnStateError
        raise refused(f"{request.transactional_id!r} has no open transaction")


def _count_batches(records: Bytes) -> int:
    try:
        return sum(1 for _ in read_batches(records, verify=False))
    except RecordsError as error:
        raise CorruptRecordError(str(error)) from error


async def _append_slowly(node: Node, topic: str, records: Bytes, acks: int, one: AnsweredPartition) -> None:
    result = await node.append_slowly(topic, one.index, records)
    one.base_offset, last_offset, one.log_append_time_ms, one.log_start_offset, _ = result
    settled = node.settled(topic, one.index, last_offset) if acks else None
    if settled is not None:
        await settled


def _answered(wanted: ProduceRequest.TopicProduceData) -> Answered:
    return ProduceResponse.TopicProduceResponse(name=wanted.name, topic_id=wanted.topic_id)


def _fail(one: AnsweredPartition, failure: BaseException) -> None:
    _refuse(one, ErrorAnswer.of(failure))
    if isinstance(failure, RefusedRecordsError | RefusedTimestampsError):
        one.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(
                batch_index=record.index, batch_index_error_message=record.message
            )
            for record in failure.records
        ]


def _refuse(one: AnsweredPartition, refusal: ErrorAnswer) -> None:
    one.error_code, one.error_message = refusal
    one.base_offset = one.log_append_time_ms = -1
    if refusal.code in _START_UNTOLD:
        one.log_start_offset = -1


def _close_if_failed(response: ProduceResponse) -> None:
    for topic in response.responses:
        for one in topic.partition_responses:
            if one.error_code:
                raise CloseConnectionError(
                    f"acks=0 and {error(one.error_code).name} for {topic.name}-{one.index}: {one.error_message}"
                )
