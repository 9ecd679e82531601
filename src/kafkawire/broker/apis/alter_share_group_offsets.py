"""AlterShareGroupOffsets: v0. Sets the start offsets of a share group that has no members.

Rules:
- share.version 0: UNSUPPORTED_VERSION. The empty name: INVALID_GROUP_ID. A group of another kind: GROUP_ID_NOT_FOUND. A
  group with members: NON_EMPTY_GROUP. These are errors of the whole request.
- A group that does not exist begins with its first offset.
- An unknown topic or partition: UNKNOWN_TOPIC_OR_PARTITION. A topic that the client may not read:
  TOPIC_AUTHORIZATION_FAILED. The others are set.
- Records in flight of these partitions are forgotten. Offset -1 lets the group begin where its settings say. A smaller
  offset is INVALID_REQUEST; Apache Kafka stores it.
- A partition that occurs more than once is answered as often, and its last offset counts.
- The offsets are in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.broker.apis.share_group_heartbeat import check_share_protocol
from kafkawire.broker.share.stored import UNKNOWN
from kafkawire.messages import AlterShareGroupOffsetsResponse
from kafkawire.messages.errors import ErrorCode, InvalidGroupIdError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages import AlterShareGroupOffsetsRequest


@serves("AlterShareGroupOffsets")
async def handle(
    node: Node, request: AlterShareGroupOffsetsRequest, context: RequestContext
) -> AlterShareGroupOffsetsResponse:
    check_share_protocol(node)
    if not request.group_id:
        raise InvalidGroupIdError("The group id is invalid.")
    starts: dict[UUID, dict[int, int]] = {}
    response = AlterShareGroupOffsetsResponse()
    for topic in request.topics:
        readable = context.may(Operation.READ, ResourceType.TOPIC, topic.topic_name)
        found = node.topics.find(topic.topic_name) if readable else None
        answer = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, topic_id=NO_ID if found is None else found.id
        )
        for each in topic.partitions:
            code = _refusal(found, each.partition_index, each.start_offset, readable=readable)
            answer.partitions.append(
                AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index,
                    error_code=code,
                    error_message=code.meaning if code else None,
                )
            )
            if not code and found is not None:
                starts.setdefault(found.id, {})[each.partition_index] = each.start_offset
            await context.yield_if_due()
        response.responses.append(answer)
        await context.yield_if_due()
    await node.groups.shares.alter(request.group_id, starts, context)
    return response


def _refusal(topic: Topic | None, index: int, offset: int, *, readable: bool) -> ErrorCode:
    """Why a partition cannot begin at an offset."""
    if not readable:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if topic is None or not 0 <= index < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if offset >= UNKNOWN else ErrorCode.INVALID_REQUEST
