"""ElectLeaders: v0-2. This broker leads everything, so no election is ever needed.

Rules:
- A partition that is named: ELECTION_NOT_NEEDED, or UNKNOWN_TOPIC_OR_PARTITION. All partitions (null): nothing to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import ElectLeadersResponse
from kafkawire.messages.errors import ElectionNotNeededError, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import ElectLeadersRequest


def refuse(request: ElectLeadersRequest, refusal: ErrorAnswer, context: RequestContext) -> ElectLeadersResponse:
    response = ElectLeadersResponse()
    if context.version >= 1:
        response.error_code = refusal.code
    return response


@serves("ElectLeaders", refuse=refuse)
def handle(node: Node, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    response = ElectLeadersResponse()
    for topic in request.topic_partitions or ():
        answered = ElectLeadersResponse.ReplicaElectionResult(topic=topic.topic)
        for index in topic.partitions:
            answered.partition_result.append(_elect(node, topic.topic, index))
        response.replica_election_results.append(answered)
    return response


def _elect(node: Node, topic: str, index: int) -> ElectLeadersResponse.PartitionResult:
    try:
        node.log(topic, index)
        raise ElectionNotNeededError(f"broker {node.id} leads {topic}-{index}")
    except KafkaError as error:
        return ElectLeadersResponse.PartitionResult(
            partition_id=index, error_code=error.code, error_message=error.message
        )
