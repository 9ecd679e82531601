"""OffsetForLeaderEpoch: v0-4. The end offset of a leader epoch.

Rules:
- The result is the largest epoch not above the requested one, and the offset after its last record; -1 and -1 if the
  log has none. The current epoch ends at the log end.
- A partition that occurs more than once is answered each time, as in Apache Kafka, because a response is not larger
  than its request.
- The client's current leader epoch is checked from v2 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import OffsetForLeaderEpochResponse
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import OffsetForLeaderEpochRequest


def refuse(
    request: OffsetForLeaderEpochRequest, refusal: Refusal, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_result(each.partition, error=refusal.code) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


@serves("OffsetForLeaderEpoch", refuse=refuse)
async def handle(
    node: Node, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answered = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic)
        for each in topic.partitions:
            try:
                log = node.log(topic.topic, each.partition)
                if context.version >= 2:
                    node.check_leader_epoch(topic.topic, each.partition, each.current_leader_epoch)
                current = node.epoch_of(topic.topic, each.partition)
                epoch, end = log.epochs.end_offset(each.leader_epoch, log.end_offset, current)
                answered.partitions.append(_result(each.partition, epoch, end))
            except KafkaError as error:
                answered.partitions.append(_result(each.partition, error=error.code))
            await context.yield_if_due()
        response.topics.append(answered)
        await context.yield_if_due()
    return response


def _result(index: int, epoch: int = -1, end: int = -1, error: int = 0) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    return OffsetForLeaderEpochResponse.EpochEndOffset(
        partition=index, leader_epoch=epoch, end_offset=end, error_code=error
    )
