"""AlterPartitionReassignments: v0-1. All partitions stay on this broker.

Rules:
- This broker as the only replica: success without a change. Any other set: INVALID_REPLICA_ASSIGNMENT.
- Cancelling (null): NO_REASSIGNMENT_IN_PROGRESS.
- Messages do not repeat names or lists of the request: otherwise a small request could have a large response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import AlterPartitionReassignmentsResponse
from kafkawire.messages.errors import (
    InvalidReplicaAssignmentError,
    KafkaError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import AlterPartitionReassignmentsRequest


def refuse(
    request: AlterPartitionReassignmentsRequest, refusal: Refusal, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    kind = AlterPartitionReassignmentsResponse
    return kind(
        error_code=refusal.code,
        error_message=refusal.message,
        responses=[
            kind.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    kind.ReassignablePartitionResponse(
                        partition_index=each.partition_index, error_code=refusal.code, error_message=None
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


@serves("AlterPartitionReassignments", refuse=refuse)
async def handle(
    node: Node, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    response = AlterPartitionReassignmentsResponse(error_message=None)
    for topic in request.topics:
        answered = AlterPartitionReassignmentsResponse.ReassignableTopicResponse(name=topic.name)
        for each in topic.partitions:
            answer = Refusal(0, None)
            try:
                _check(node, topic.name, each.partition_index, each.replicas)
            except KafkaError as error:
                answer = Refusal.of(error)
            answered.partitions.append(
                AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=answer.code, error_message=answer.message
                )
            )
            await context.yield_if_due()
        response.responses.append(answered)
    return response


def _check(node: Node, topic: str, index: int, replicas: list[int] | None) -> None:
    if topic not in node.topics or not 0 <= index < node.topics.get(topic).partitions:
        raise UnknownTopicOrPartitionError("no such partition")
    if replicas is None:
        raise NoReassignmentInProgressError("the partition is not being moved")
    if replicas != [node.id]:
        raise InvalidReplicaAssignmentError(f"{len(replicas)} brokers, expected {node.id} alone, the only one")
