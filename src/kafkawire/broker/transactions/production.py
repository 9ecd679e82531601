"""Transactional batches of Produce: the coordinator confirms their transaction before they are appended.

Rules:
- v0-11: the producer has added the partition (AddPartitionsToTxn), and the coordinator verifies it. A partition outside
  of the transaction is INVALID_TXN_STATE, from v11 on TRANSACTION_ABORTABLE.
- v12+: the request itself adds the partition (KIP-890). While the last transaction is being completed, the request
  waits for a short time.
- A producer with an open transaction in the partition is not asked about again.
- Up to v11 retriable errors of the coordinator are NOT_ENOUGH_REPLICAS, because clients retry it without looking for
  another leader. A fenced producer gets INVALID_PRODUCER_EPOCH.
- A request has one producer. Two of them are INVALID_PRODUCER_ID_MAPPING for all partitions.
- transaction.partition.verification.enable=false omits the verification, but not the adding.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkawire.broker._clock import wait
from kafkawire.broker.transactions.transaction import EPOCH_PER_TRANSACTION
from kafkawire.log import ONGOING
from kafkawire.messages.errors import ErrorCode, InvalidPidMappingError, KafkaError, error_for
from kafkawire.records.layout import HEADER_SIZE, PRODUCER, PRODUCER_ID_AT, SHAPE, TRANSACTIONAL

if TYPE_CHECKING:
    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import TopicPartition
    from kafkawire.log import Verification
    from kafkawire.log.storage.files import Bytes
    from kafkawire.messages import ProduceRequest

    Verified = dict[TopicPartition, Verification | KafkaError]

ADDING_VERSION: Final = 12
ABORTABLE_VERSION: Final = 11
_RETRIED: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


async def verify_batches(node: Node, request: ProduceRequest, context: RequestContext) -> Verified:
    """The verification of each partition with a transactional batch, or the error of the partition."""
    adds = context.version >= ADDING_VERSION
    if not adds and not node.config.boolean("transaction.partition.verification.enable"):
        return {}
    found: Verified = {}
    asked: dict[TopicPartition, Verification] = {}
    producer: tuple[int, int] | None = None
    for topic in request.topic_data:
        for data in topic.partition_data:
            await context.yield_if_due()
            numbers = _producer(data.records)
            if numbers is None:
                continue
            producer_id, epoch, sequence = numbers
            if producer is not None and producer != (producer_id, epoch):
                raise InvalidPidMappingError("transactional batches of more than one producer in a request")
            producer = producer_id, epoch
            try:
                hosted = node.partition(topic.topic_id if context.version >= 13 else topic.name, data.index)
            except KafkaError:
                continue
            if hosted.topic.is_internal:
                continue
            place = hosted.topic.name, data.index
            try:
                begun = hosted.log.producers.begin_verification(producer_id, epoch, sequence, adds=adds)
            except KafkaError as error:
                found[place] = error
                continue
            found[place] = begun
            if begun is not ONGOING:
                asked[place] = begun
    if asked and producer is not None:
        await _ask(node, request.transactional_id or "", producer, asked, found, context)
    return found


async def _ask(
    node: Node,
    transactional_id: str,
    producer: tuple[int, int],
    asked: dict[TopicPartition, Verification],
    found: Verified,
    context: RequestContext,
) -> None:
    """Ask the coordinator about partitions; those that it refuses get their error."""
    if context.version >= ADDING_VERSION:
        errors = dict.fromkeys(asked, await _add(node, transactional_id, producer, frozenset(asked)))
    else:
        errors = node.transactions.verify(transactional_id, producer, asked)
    for place, error in errors.items():
        if error:
            code = _translated(error, context.version)
            found[place] = error_for(code, f"{transactional_id!r}: the coordinator answered {error.name}")


async def _add(
    node: Node, transactional_id: str, producer: tuple[int, int], places: frozenset[TopicPartition]
) -> ErrorCode:
    """Add partitions; waits for a short time while the last transaction is being completed."""
    settings = node.transactions.settings
    deadline = node.clock.elapsed() + settings.retry_backoff_max_ms
    while True:
        outcome = await node.transactions.add(transactional_id, producer, places, EPOCH_PER_TRANSACTION)
        left = deadline - node.clock.elapsed()
        if outcome.error is not ErrorCode.CONCURRENT_TRANSACTIONS or left <= 0:
            return outcome.error
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await wait(node.clock, never, min(settings.retry_backoff_ms, left))


def _producer(records: Bytes | None) -> tuple[int, int, int] | None:
    """The producer id, epoch and first sequence of a transactional batch; None for anything else."""
    if records is None or len(records) < HEADER_SIZE:
        return None
    _, magic, attributes = SHAPE.unpack_from(records)
    if magic != 2 or not attributes & TRANSACTIONAL:
        return None
    producer_id, epoch, sequence = PRODUCER.unpack_from(records, PRODUCER_ID_AT)
    return (producer_id, epoch, sequence) if producer_id >= 0 else None


def _translated(error: ErrorCode, version: int) -> ErrorCode:
    """The error of a producer for an error of the coordinator."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error in _RETRIED or (error is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDING_VERSION):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    return error
