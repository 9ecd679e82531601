"""OffsetDelete: v0. Offsets of a group are forgotten.

Rules:
- A group that is not there: GROUP_ID_NOT_FOUND. One with members that are no consumers: NON_EMPTY_GROUP.
- Topics that the group consumes keep their offsets: GROUP_SUBSCRIBED_TO_TOPIC. A topic that is not there:
  UNKNOWN_TOPIC_OR_PARTITION. What was never committed is deleted without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import OffsetDeleteResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker.node import Node
    from kafkawire.messages import OffsetDeleteRequest


@serves("OffsetDelete")
def handle(
    node: Node, request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    known = [topic for topic in request.topics if topic.name in node.topics]
    places = [(topic.name, each.partition_index) for topic in known for each in topic.partitions]
    errors = node.groups.delete_offsets(request.group_id, places)
    response = OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponse.OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        partition_index=each.partition_index,
                        error_code=errors.get((topic.name, each.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
    return node.groups.when_settled([request.group_id], response)
