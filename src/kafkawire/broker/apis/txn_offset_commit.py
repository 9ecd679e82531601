"""TxnOffsetCommit: v0-6. Commits offsets of a group as part of a producer's transaction.

Rules:
- The offsets are pending until the transaction ends. An abort drops them.
- v0-4: the producer has added the group (AddOffsetsToTxn), and the coordinator verifies it. v5 adds it implicitly
  (KIP-890). v3+ carry the member of the group. v6 names topics by id (KIP-1319).
- A group outside of the transaction: INVALID_TXN_STATE, from v4 on TRANSACTION_ABORTABLE. A fenced producer gets
  INVALID_PRODUCER_EPOCH. v0 and v1 get COORDINATOR_NOT_AVAILABLE while a coordinator loads.
- An unknown topic or partition: UNKNOWN_TOPIC_OR_PARTITION for it only, in v6 UNKNOWN_TOPIC_ID for a topic.
- A member of a group that does not exist: GROUP_ID_NOT_FOUND from v6 on, ILLEGAL_GENERATION before.
- A partition that occurs more than once is answered as often, as in OffsetCommit; its last offset counts.
- The offsets are in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.broker.transactions.transaction import EPOCH_PER_TRANSACTION
from kafkawire.messages import TxnOffsetCommitResponse
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError

if TYPE_CHECKING:
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.messages import TxnOffsetCommitRequest

ADDING_VERSION: Final = 5
ABORTABLE_VERSION: Final = 4
LOADING_VERSION: Final = 2
ID_VERSION: Final = 6


def refuse(request: TxnOffsetCommitRequest, refusal: Refusal, context: RequestContext) -> TxnOffsetCommitResponse:
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answered = _answered(topic)
        answered.partitions = [_result(each.partition_index, refusal.code) for each in topic.partitions]
        response.topics.append(answered)
    return response


@serves("TxnOffsetCommit", refuse=refuse)
async def handle(node: Node, request: TxnOffsetCommitRequest, context: RequestContext) -> TxnOffsetCommitResponse:
    by_id = context.version >= ID_VERSION
    commits: dict[TopicPartition, Commit] = {}
    topics: list[Topic | None] = []
    for topic in request.topics:
        found = node.topics.find_id(topic.topic_id) if by_id else node.topics.find(topic.name)
        topics.append(found)
        for each in topic.partitions:
            await context.yield_if_due()
            if found is not None and 0 <= each.partition_index < found.partitions:
                commits[found.name, each.partition_index] = Commit(
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.committed_metadata,
                    topic_id=found.id,
                )
        await context.yield_if_due()
    errors = await _commit(node, request, commits, context) if commits else {}
    response = TxnOffsetCommitResponse()
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic, found in zip(request.topics, topics, strict=True):
        answered = _answered(topic)
        response.topics.append(answered)
        for each in topic.partitions:
            error = unknown
            if found is not None:
                error = errors.get((found.name, each.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answered.partitions.append(_result(each.partition_index, error))
            await context.yield_if_due()
    return response


async def _commit(
    node: Node, request: TxnOffsetCommitRequest, commits: dict[TopicPartition, Commit], context: RequestContext
) -> dict[TopicPartition, ErrorCode]:
    if not request.group_id:
        return dict.fromkeys(commits, ErrorCode.INVALID_GROUP_ID)
    await node.groups.prepare()
    producer = request.producer_id, request.producer_epoch
    error = await _check(node, request, producer, context)
    if error:
        return dict.fromkeys(commits, error)
    key = MemberKey(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    try:
        errors = await node.groups.commit_in_transaction(request.group_id, key, commits, producer, context)
    except GroupIdNotFoundError as missing:
        code = missing.code if context.version >= ID_VERSION else ErrorCode.ILLEGAL_GENERATION
        return dict.fromkeys(commits, ErrorCode(code))
    await node.groups.durable([request.group_id], context)
    return errors


async def _check(
    node: Node, request: TxnOffsetCommitRequest, producer: tuple[int, int], context: RequestContext
) -> ErrorCode:
    """Add the group to the transaction, or verify that it was added."""
    place = CONSUMER_OFFSETS, node.groups.offsets_partition(request.group_id)
    if context.version >= ADDING_VERSION:
        places = frozenset({place})
        outcome = await node.transactions.add(request.transactional_id, producer, places, EPOCH_PER_TRANSACTION)
        error = outcome.error
    else:
        error = node.transactions.verify(request.transactional_id, producer, [place])[place]
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and context.version < ABORTABLE_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and context.version < LOADING_VERSION:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error


def _answered(
    topic: TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic,
) -> TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)


def _result(index: int, error: int) -> TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition:
    return TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(partition_index=index, error_code=error)
