"""DescribeTopicPartitions: v0. Describes topics and their partitions, page by page.

Rules:
- Without topics in the request all are returned, sorted by name. Topics before the cursor are skipped. A cursor must
  name a topic of the request, and a partition of 0 or more: else INVALID_REQUEST.
- A page holds at most ResponsePartitionLimit partitions, within 1 and max.request.partition.size.limit.
- A topic that the client may not describe is TOPIC_AUTHORIZATION_FAILED, after the others of every page. It is left out
  if all topics are asked for.
- Names are sorted piece by piece, because sorting many at once blocks other connections.
- The next cursor is the position where the page ended: in a topic, or at the first partition of the next one, whether
  that exists or not. It is null after the last page.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import check_name
from kafkawire.messages import DescribeTopicPartitionsResponse
from kafkawire.messages.errors import ErrorCode, InvalidRequestError, KafkaError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeTopicPartitionsRequest

    TopicDescription = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic

SORTED_AT_ONCE: Final = 5_000


def refuse(
    request: DescribeTopicPartitionsRequest, refusal: Refusal, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=[_failed(topic.name, refusal.code) for topic in request.topics])


@serves("DescribeTopicPartitions", refuse=refuse)
async def handle(
    node: Node, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    asked = set()
    for wanted in request.topics:
        asked.add(wanted.name)
        await context.yield_if_due()
    cursor = request.cursor
    if cursor is not None and (cursor.partition_index < 0 or (asked and cursor.topic_name not in asked)):
        raise InvalidRequestError(f"cursor {cursor.topic_name!r} {cursor.partition_index}: not a place in this list")
    hidden: list[str] = []
    visible: list[str] = []
    for name in asked or [topic.name for topic in node.topics]:
        (visible if context.may(Operation.DESCRIBE, ResourceType.TOPIC, name) else hidden).append(name)
        await context.yield_if_due()
    names = iter(visible)
    pieces = []
    while piece := sorted(islice(names, SORTED_AT_ONCE)):
        pieces.append(piece)
        await context.yield_if_due()
    most = node.config.integer("max.request.partition.size.limit")
    left = min(max(request.response_partition_limit, 1), most)
    response = DescribeTopicPartitionsResponse()
    for name in merge(*pieces):
        await context.yield_if_due()
        if cursor is not None and name < cursor.topic_name:
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            response.next_cursor = _cursor(name, first)
            break
        try:
            check_name(name)
            topic = node.topics.get(name)
        except KafkaError as error:
            if asked:  # else the topic was deleted after the names were listed
                response.topics.append(_failed(name, error.code, context.operations_on(ResourceType.TOPIC, name)))
            continue
        described = await _describe(node, topic, first, left, context)
        response.topics.append(described)
        left -= len(described.partitions)
        if first + len(described.partitions) < topic.partitions:
            response.next_cursor = _cursor(name, first + len(described.partitions))
            break
    for name in hidden:
        if asked and (cursor is None or name >= cursor.topic_name):
            response.topics.append(_failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, operations.NOT_ASKED))
        await context.yield_if_due()
    return response


async def _describe(node: Node, topic: Topic, first: int, most: int, context: RequestContext) -> TopicDescription:
    here = [node.id]
    described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        topic_authorized_operations=context.operations_on(ResourceType.TOPIC, topic.name),
    )
    for index in range(first, min(topic.partitions, first + most)):
        described.partitions.append(
            DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
                partition_index=index,
                leader_id=node.id,
                leader_epoch=node.epoch_of(topic.name, index),
                replica_nodes=here,
                isr_nodes=here,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
        )
        await context.yield_if_due()
    return described


def _cursor(name: str, index: int) -> DescribeTopicPartitionsResponse.Cursor:
    return DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=index)


def _failed(name: str, code: int, allowed: int = operations.TOPIC) -> TopicDescription:
    return DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        name=name, error_code=code, topic_authorized_operations=allowed
    )
