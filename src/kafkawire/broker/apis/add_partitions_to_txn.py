"""AddPartitionsToTxn: v0-5. Adds partitions to a producer's transaction.

Rules:
- v0-3 are the form of clients: one transaction. v4+ are the form of brokers: many transactions, to be added or only
  verified (VerifyOnly), of producers with an epoch per transaction.
- v0-3 need WRITE on the transactional id and on every topic, v4+ CLUSTER_ACTION.
- A partition that does not exist, UNKNOWN_TOPIC_OR_PARTITION, or that belongs to an internal topic,
  TOPIC_AUTHORIZATION_FAILED, fails its transaction: its other partitions are OPERATION_NOT_ATTEMPTED. Brokers may name
  internal topics.
- Otherwise all partitions of a transaction have the same error.
- A partition or a transactional id that occurs more than once is answered once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import INTERNAL
from kafkawire.broker.transactions.errors import known_error
from kafkawire.broker.transactions.transaction import EPOCH_PER_TRANSACTION
from kafkawire.messages import AddPartitionsToTxnResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import TopicPartition
    from kafkawire.messages import AddPartitionsToTxnRequest

    Errors = Mapping[TopicPartition, int]
    TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult

BROKER_VERSION: Final = 4


class Addition(NamedTuple):
    """The partitions that one transaction gets, by topic."""

    transactional_id: str
    producer: tuple[int, int]
    topics: Iterable[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]
    only_verify: bool = False


def refuse(request: AddPartitionsToTxnRequest, refusal: Refusal, context: RequestContext) -> AddPartitionsToTxnResponse:
    if context.version >= BROKER_VERSION:
        return AddPartitionsToTxnResponse(error_code=refusal.code)
    topics: dict[str, TopicResult] = {}
    for place in dict.fromkeys(
        (topic.name, index) for topic in request.v3_and_below_topics for index in topic.partitions
    ):
        _add_result(topics, place, refusal.code)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=list(topics.values()))


@serves("AddPartitionsToTxn", refuse=refuse)
async def handle(node: Node, request: AddPartitionsToTxnRequest, context: RequestContext) -> AddPartitionsToTxnResponse:
    if context.version < BROKER_VERSION:
        context.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.v3_and_below_transactional_id)
        producer = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
        wanted = Addition(request.v3_and_below_transactional_id, producer, request.v3_and_below_topics)
        results = await _results(await _add(node, wanted, context), context)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    context.require(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
    answered: dict[str, AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = {}
    for each in request.transactions:
        await context.yield_if_due()
        if each.transactional_id in answered:
            continue
        producer = each.producer_id, each.producer_epoch
        wanted = Addition(each.transactional_id, producer, each.topics, each.verify_only)
        results = await _results(await _add(node, wanted, context), context)
        answered[each.transactional_id] = AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
            transactional_id=each.transactional_id, topic_results=results
        )
    return AddPartitionsToTxnResponse(results_by_transaction=list(answered.values()))


async def _add(node: Node, wanted: Addition, context: RequestContext) -> Errors:
    """Add or verify the partitions of one transaction; the error of each."""
    refused: dict[TopicPartition, ErrorCode] = {}
    is_refused = False
    for topic in wanted.topics:
        for index in topic.partitions:
            place = topic.name, index
            refused[place] = _check(node, place, context)
            is_refused = is_refused or bool(refused[place])
            await context.yield_if_due()
    if is_refused:
        return {place: error or ErrorCode.OPERATION_NOT_ATTEMPTED for place, error in refused.items()}
    if wanted.only_verify:
        return node.transactions.verify(wanted.transactional_id, wanted.producer, refused)
    level = EPOCH_PER_TRANSACTION if context.version >= BROKER_VERSION else 0
    outcome = await node.transactions.add(wanted.transactional_id, wanted.producer, refused.keys(), level)
    return dict.fromkeys(refused, known_error(outcome.error, context.version))


def _check(node: Node, place: TopicPartition, context: RequestContext) -> ErrorCode:
    topic = node.topics.find(place[0])
    if context.version < BROKER_VERSION and (
        place[0] in INTERNAL or not context.may(Operation.WRITE, ResourceType.TOPIC, place[0])
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if topic is None or not 0 <= place[1] < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


async def _results(errors: Errors, context: RequestContext) -> list[TopicResult]:
    topics: dict[str, TopicResult] = {}
    for place, error in errors.items():
        _add_result(topics, place, error)
        await context.yield_if_due()
    return list(topics.values())


def _add_result(topics: dict[str, TopicResult], place: TopicPartition, error: int) -> None:
    name, index = place
    if name not in topics:
        topics[name] = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(name=name)
    topics[name].results_by_partition.append(
        AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
    )
