"""OffsetDelete: v0. Deletes committed offsets of a group.

Rules:
- An empty group id: INVALID_GROUP_ID. A group that does not exist: GROUP_ID_NOT_FOUND. One with members that are not
  consumers: NON_EMPTY_GROUP.
- Topics that the group consumes keep their offsets: GROUP_SUBSCRIBED_TO_TOPIC. An unknown topic or partition:
  UNKNOWN_TOPIC_OR_PARTITION. Deleting an offset that was never committed succeeds silently.
- A topic that the client may not read: TOPIC_AUTHORIZATION_FAILED.
- A partition that occurs more than once is answered as often, as Apache Kafka does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import OffsetDeleteResponse
from kafkawire.messages.errors import ErrorCode, InvalidGroupIdError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.messages import OffsetDeleteRequest


@serves("OffsetDelete")
async def handle(node: Node, request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse:
    if not request.group_id:
        raise InvalidGroupIdError("an empty group id")
    places: dict[TopicPartition, None] = {}
    hidden: set[str] = set()
    for topic in request.topics:
        if not context.may(Operation.READ, ResourceType.TOPIC, topic.name):
            hidden.add(topic.name)
            await context.yield_if_due()
            continue
        found = node.topics.find(topic.name)
        for each in topic.partitions:
            if found is not None and 0 <= each.partition_index < found.partitions:
                places[topic.name, each.partition_index] = None
            await context.yield_if_due()
    errors = {}
    if places or not hidden:
        errors = await node.groups.delete_offsets(request.group_id, places, context)
    await node.groups.durable([request.group_id], context)
    response = OffsetDeleteResponse()
    for topic in request.topics:
        answered = OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        missing = ErrorCode.TOPIC_AUTHORIZATION_FAILED if topic.name in hidden else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for each in topic.partitions:
            error = errors.get((topic.name, each.partition_index), missing)
            answered.partitions.append(
                OffsetDeleteResponse.OffsetDeleteResponsePartition(
                    partition_index=each.partition_index, error_code=error
                )
            )
            await context.yield_if_due()
    return response
