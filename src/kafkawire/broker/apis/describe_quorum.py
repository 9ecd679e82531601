"""DescribeQuorum: v0-2. The quorum of the journal: this node, voter and leader.

Rules:
- Only `__cluster_metadata-0` has a quorum. A request for anything else, or for more, gets
  UNKNOWN_TOPIC_OR_PARTITION for all of its partitions, as in Apache Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.topics import CLUSTER_METADATA
from kafkawire.messages import DescribeQuorumResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeQuorumRequest


@serves("DescribeQuorum")
async def handle(node: Node, request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    response = DescribeQuorumResponse()
    known = _is_known(request)
    for topic in request.topics:
        answered = DescribeQuorumResponse.TopicData(topic_name=topic.topic_name)
        response.topics.append(answered)
        for each in topic.partitions:
            answered.partitions.append(_describe(node) if known else _unknown(each.partition_index))
            await context.yield_if_due()
        await context.yield_if_due()
    if context.version >= 2:
        listeners = [
            DescribeQuorumResponse.Listener(name=name, host=place.host, port=place.port)
            for name, place in node.endpoints.items()
        ]
        response.nodes = [DescribeQuorumResponse.Node(node_id=node.id, listeners=listeners)]
    return response


def _is_known(request: DescribeQuorumRequest) -> bool:
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return False
    return (request.topics[0].topic_name, request.topics[0].partitions[0].partition_index) == (CLUSTER_METADATA, 0)


def _unknown(index: int) -> DescribeQuorumResponse.PartitionData:
    return DescribeQuorumResponse.PartitionData(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _describe(node: Node) -> DescribeQuorumResponse.PartitionData:
    end, now = node.journal.end_offset, node.clock.now()
    voter = DescribeQuorumResponse.ReplicaState(
        replica_id=node.id, log_end_offset=end, last_fetch_timestamp=now, last_caught_up_timestamp=now
    )
    return DescribeQuorumResponse.PartitionData(
        leader_id=node.id, leader_epoch=node.leader_epoch, high_watermark=end, current_voters=[voter]
    )
