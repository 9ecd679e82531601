"""Produce: v0-13. Appends records to partitions.

Rules:
- acks is -1, 0 or 1, else INVALID_REQUIRED_ACKS, which is checked after topics and batches. acks=0 is never answered.
  If anything failed, its connection is closed, because the client can get no other sign.
- A partition that fails does not stop the others. A refusal by the log contains the log start offset, except for the
  errors that Kafka's replica manager expects.
- From v3 on the records of a partition are exactly one batch of magic 2. v0-2 carry message sets, which the log
  converts. zstd needs v7. v13 names topics by id.
- Only the client id `__admin_client` may write to internal topics.
- A transactional batch needs a transactional id in the request, else all partitions are refused. Its transaction must
  be open, which the coordinator confirms (`transactions.production`).
- With flush.on.ack the response waits for the sync, up to the request's timeout. The records stay written either way.
- Most requests never get here, because they join a run (`_dispatch/produce_run.py`), with the same responses.
- Records of requests that arrived together are written together, and their responses are held until then. A partition
  whose write fails returns KAFKA_STORAGE_ERROR in every request that appended to it.
- Records to recompress, or to decompress from a large batch, are admitted in a thread, with the same timeout.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkawire.broker._clock import wait
from kafkawire.broker._dispatch.registry import CloseConnectionError, HeldResponse, Refusal, RequestContext, serves
from kafkawire.broker._dispatch.write_group import WriteGroup
from kafkawire.broker.transactions.production import verify_batches
from kafkawire.log import SLOW_TO_PACK, is_slow
from kafkawire.log.errors import RefusedRecordsError, RefusedTimestampsError
from kafkawire.messages import ProduceResponse
from kafkawire.messages.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidRequiredAcksError,
    InvalidTopicError,
    KafkaError,
    NotEnoughReplicasError,
    RequestTimedOutError,
    TransactionalIdAuthorizationError,
    UnsupportedCompressionTypeError,
    error,
)
from kafkawire.records import Codec, RecordsError, read_batches
from kafkawire.records.layout import CODEC, HEADER_SIZE, PREFIX_SIZE, SHAPE, TRANSACTIONAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from kafkawire.broker._node import HostedPartition, Node
    from kafkawire.broker.transactions.production import Verified
    from kafkawire.log import AppendResult, Verification
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import Bytes
    from kafkawire.messages import ProduceRequest

    TopicResponse = ProduceResponse.TopicProduceResponse
    PartitionResponse = ProduceResponse.PartitionProduceResponse

ADMIN_CLIENT: Final = "__admin_client"
_WITHOUT_LOG_START: Final = (2, 3, 10, 18, 56)  # corrupt, unknown, too large, too large for a segment, disk failure


def refuse(request: ProduceRequest, refusal: Refusal, context: RequestContext) -> ProduceResponse:
    if request.acks == 0:
        raise CloseConnectionError(f"acks=0 and {error(refusal.code).name}")
    response = ProduceResponse()
    for topic in request.topic_data:
        answered = _topic_response(topic)
        for data in topic.partition_data:
            one = ProduceResponse.PartitionProduceResponse(index=data.index)
            _refuse(one, refusal)
            answered.partition_responses.append(one)
        response.responses.append(answered)
    return response


@serves("Produce", refuse=refuse)
async def handle(node: Node, request: ProduceRequest, context: RequestContext) -> ProduceResponse | HeldResponse | None:
    response = ProduceResponse()
    waiting: list[tuple[PartitionResponse, asyncio.Future[None]]] = []
    held: list[tuple[PartitionResponse, Partition]] = []
    group: WriteGroup | None = None
    is_first, by_id = True, context.version >= 13
    verified = None if request.transactional_id is None else await verify_batches(node, request, context)
    for topic_data in request.topic_data:
        answered = _topic_response(topic_data)
        response.responses.append(answered)
        for data in topic_data.partition_data:
            if not is_first:
                await context.yield_if_due()
            is_first = False
            one = ProduceResponse.PartitionProduceResponse(index=data.index)
            answered.partition_responses.append(one)
            try:
                partition = node.partition(topic_data.topic_id if by_id else topic_data.name, data.index)
                _check(partition, data.records, request, context)
                verification = None if verified is None else _verification(verified, partition)
                pending = _append(
                    node, partition, data.records or b"", request.acks, one, verification, more=context.more
                )
            except KafkaError as refusal:
                if request.transactional_id is None and _is_transactional(data.records):
                    raise TransactionalIdAuthorizationError(
                        "transactional batch without a transactional id"
                    ) from refusal
                _fail(one, refusal)
                continue
            if pending is None:
                continue
            if isinstance(pending, WriteGroup):
                group = pending
                held.append((one, partition.log))
            else:
                waiting.append((one, _future(pending)))
    if waiting:
        await _wait(node, waiting, request.timeout_ms)
    return (
        _response(response, request)
        if group is None
        else HeldResponse(group, partial(_finish, response, held, request, group))
    )


def response_of(request: ProduceRequest, outcomes: Sequence[tuple[AppendResult | KafkaError, int]]) -> ProduceResponse:
    """The response about appends that are done: for each partition its outcome, and its log start offset."""
    response, left = ProduceResponse(), iter(outcomes)
    for topic in request.topic_data:
        answered = _topic_response(topic)
        response.responses.append(answered)
        for data in topic.partition_data:
            outcome, log_start = next(left)
            one = ProduceResponse.PartitionProduceResponse(index=data.index, log_start_offset=log_start)
            if isinstance(outcome, KafkaError):
                _fail(one, outcome)
            else:
                one.base_offset, _, one.log_append_time_ms, one.log_start_offset, _ = outcome
            answered.partition_responses.append(one)
    return response


def _append(
    node: Node,
    partition: HostedPartition,
    records: Bytes,
    acks: int,
    one: PartitionResponse,
    verification: Verification | None,
    *,
    more: bool,
) -> WriteGroup | Awaitable[None] | None:
    """Append to one partition, and put the result into its part of the response.

    Returns the group that holds the records, or the work to await before the response is sent, or None.
    """
    topic, _, log = partition
    one.log_start_offset = log.log_start_offset
    if acks == -1 and topic.min_insync_replicas > 1:
        raise NotEnoughReplicasError(f"1 replica in sync, min.insync.replicas is {topic.min_insync_replicas}")
    if len(records) >= SLOW_TO_PACK and is_slow(records, log.config):
        return _append_slowly(node, partition, records, acks, one, verification)
    group = node.hold(log, more=more)
    result = node.append_to(partition, records, hold=group is not None, verification=verification)
    one.base_offset, last_offset, one.log_append_time_ms, one.log_start_offset, _ = result
    if group is None and acks and (log.config.flush_on_ack or log.owes_flush):
        return node.durable(partition, last_offset)
    return group


def _future(work: Awaitable[None]) -> asyncio.Future[None]:
    future = asyncio.ensure_future(work)
    future.add_done_callback(_retrieve)
    return future


async def _wait(node: Node, waiting: list[tuple[PartitionResponse, asyncio.Future[None]]], timeout_ms: int) -> None:
    """Wait for threads and for syncs, up to the request's timeout."""
    deadline = node.clock.elapsed() + timeout_ms
    for one, future in waiting:
        if not await wait(node.clock, future, deadline - node.clock.elapsed()):
            future.cancel()
            _fail(one, RequestTimedOutError(f"not done after {timeout_ms} ms"))
        elif (failure := future.exception()) is not None:
            _fail(one, failure)


def _finish(
    response: ProduceResponse,
    held: list[tuple[PartitionResponse, Partition]],
    request: ProduceRequest,
    group: WriteGroup,
) -> ProduceResponse | None:
    """The response, once the group is written; lost records are errors."""
    for one, log in held:
        failure = group.failures.get(log)
        if failure is not None and not one.error_code:
            _fail(one, failure)
    return _response(response, request)


def _retrieve(future: asyncio.Future[None]) -> None:
    """Retrieve an error whose client may be gone; the log has reported it."""
    if not future.cancelled():
        future.exception()


def _response(response: ProduceResponse, request: ProduceRequest) -> ProduceResponse | None:
    if request.acks:
        return response
    _close_if_failed(response)
    return None


def _check(
    partition: HostedPartition,
    records: bytes | bytearray | memoryview | None,
    request: ProduceRequest,
    context: RequestContext,
) -> None:
    """Refuse internal topics, records that the version does not allow, and invalid acks."""
    if partition.topic.is_internal and context.client_id != ADMIN_CLIENT:
        raise InvalidTopicError(f"topic {partition.topic.name!r} is internal")
    if context.version >= 3:
        check_shape(records, context.version, is_transactional=request.transactional_id is not None)
    if request.acks not in (-1, 0, 1):
        raise InvalidRequiredAcksError(f"acks {request.acks}, expected -1, 0 or 1")


def check_shape(records: Bytes | None, version: int, *, is_transactional: bool) -> None:
    """Refuse anything but one whole batch that this version may carry."""
    if records is None or len(records) < HEADER_SIZE:
        raise InvalidRecordError(f"{len(records or b'')} bytes of records, expected one batch")
    size, magic, attributes = SHAPE.unpack_from(records)
    if magic != 2:
        raise InvalidRecordError(f"magic {magic} in Produce v{version}, expected 2")
    if size < HEADER_SIZE - PREFIX_SIZE:
        raise CorruptRecordError(
            f"a batch of {size} bytes after its size, expected at least {HEADER_SIZE - PREFIX_SIZE}"
        )
    if PREFIX_SIZE + size > len(records):
        raise InvalidRecordError(f"{len(records)} bytes of a batch of {PREFIX_SIZE + size}, expected all of it")
    if PREFIX_SIZE + size < len(records) and _count_batches(records) > 1:
        raise InvalidRecordError("more than one batch for a partition, expected exactly one")
    if attributes & CODEC == Codec.ZSTD and version < 7:
        raise UnsupportedCompressionTypeError(f"zstd in Produce v{version}, expected v7 or later")
    if attributes & TRANSACTIONAL and not is_transactional:
        raise TransactionalIdAuthorizationError("transactional batch without a transactional id")


def _is_transactional(records: Bytes | None) -> bool:
    return records is not None and len(records) >= HEADER_SIZE and bool(SHAPE.unpack_from(records)[2] & TRANSACTIONAL)


def _count_batches(records: Bytes) -> int:
    try:
        return sum(1 for _ in read_batches(records, verify=False))
    except RecordsError as error:
        raise CorruptRecordError(str(error)) from error


def _verification(verified: Verified, partition: HostedPartition) -> Verification | None:
    """The verification of a partition's batch; raises the error of a batch outside of a transaction."""
    found = verified.get((partition.topic.name, partition.number))
    if isinstance(found, KafkaError):
        raise found
    return found


async def _append_slowly(
    node: Node,
    partition: HostedPartition,
    records: Bytes,
    acks: int,
    one: PartitionResponse,
    verification: Verification | None,
) -> None:
    result = await node.append_slowly(partition, records, verification)
    one.base_offset, last_offset, one.log_append_time_ms, one.log_start_offset, _ = result
    durable = node.durable(node.partition(partition.topic.name, one.index), last_offset) if acks else None
    if durable is not None:
        await durable


def _topic_response(wanted: ProduceRequest.TopicProduceData) -> TopicResponse:
    return ProduceResponse.TopicProduceResponse(name=wanted.name, topic_id=wanted.topic_id)


def _fail(one: PartitionResponse, failure: BaseException) -> None:
    _refuse(one, Refusal.of(failure))
    if isinstance(failure, RefusedRecordsError | RefusedTimestampsError):
        one.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(
                batch_index=record.index, batch_index_error_message=record.message
            )
            for record in failure.records
        ]


def _refuse(one: PartitionResponse, refusal: Refusal) -> None:
    one.error_code, one.error_message = refusal
    one.base_offset = one.log_append_time_ms = -1
    if refusal.code in _WITHOUT_LOG_START:
        one.log_start_offset = -1


def _close_if_failed(response: ProduceResponse) -> None:
    for topic in response.responses:
        for one in topic.partition_responses:
            if one.error_code:
                raise CloseConnectionError(
                    f"acks=0 and {error(one.error_code).name} for {topic.name}-{one.index}: {one.error_message}"
                )
