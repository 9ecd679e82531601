"""ElectLeaders: v0-2. This broker leads all partitions, so no election is needed.

Rules:
- v1 has types: 0 for the preferred leader, 1 for any. Another type: INVALID_REQUEST, also for each partition,
  unless the request names no partition.
- A partition that is named: ELECTION_NOT_NEEDED, or UNKNOWN_TOPIC_OR_PARTITION. All partitions (null): an empty result.
- Messages do not repeat the names of the request: otherwise a small request could have a large response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import ElectLeadersResponse
from kafkawire.messages.errors import ErrorCode, InvalidRequestError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ElectLeadersRequest


def refuse(request: ElectLeadersRequest, refusal: Refusal, context: RequestContext) -> ElectLeadersResponse:
    response = ElectLeadersResponse()
    if context.version >= 1:
        response.error_code = refusal.code
    for topic in request.topic_partitions or ():
        results = [
            ElectLeadersResponse.PartitionResult(partition_id=index, error_code=refusal.code)
            for index in topic.partitions
        ]
        response.replica_election_results.append(
            ElectLeadersResponse.ReplicaElectionResult(topic=topic.topic, partition_result=results)
        )
    return response


@serves("ElectLeaders", refuse=refuse)
async def handle(node: Node, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    topics = request.topic_partitions
    if (
        context.version >= 1
        and request.election_type not in (0, 1)
        and (topics is None or any(topic.partitions for topic in topics))
    ):
        raise InvalidRequestError(f"election type {request.election_type}, expected 0 (preferred) or 1 (unclean)")
    response = ElectLeadersResponse()
    for topic in request.topic_partitions or ():
        answered = ElectLeadersResponse.ReplicaElectionResult(topic=topic.topic)
        response.replica_election_results.append(answered)
        for index in topic.partitions:
            answered.partition_result.append(_elect(node, topic.topic, index))
            await context.yield_if_due()
        await context.yield_if_due()
    return response


def _elect(node: Node, topic: str, index: int) -> ElectLeadersResponse.PartitionResult:
    found = node.topics.find(topic)
    if found is None or not 0 <= index < found.partitions:
        code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such partition"
    else:
        code, message = ErrorCode.ELECTION_NOT_NEEDED, "this broker leads it"
    return ElectLeadersResponse.PartitionResult(partition_id=index, error_code=code, error_message=message)
