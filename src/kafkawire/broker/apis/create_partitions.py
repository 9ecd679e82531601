"""CreatePartitions: v0-3. Adds partitions to topics.

Rules:
- The count is the new total, more than the topic has: else INVALID_PARTITIONS.
- An assignment names one broker, this one, for each new partition: else INVALID_REPLICA_ASSIGNMENT.
- A topic that occurs twice: INVALID_REQUEST for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import MOST_PARTITIONS
from kafkawire.messages import CreatePartitionsResponse
from kafkawire.messages.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    KafkaError,
)
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import CreatePartitionsRequest

    RequestTopic = CreatePartitionsRequest.CreatePartitionsTopic

STRICT_SINCE: Final = 3


def refuse(request: CreatePartitionsRequest, refusal: Refusal, context: RequestContext) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(results=[_result(topic.name, refusal) for topic in request.topics])


@serves("CreatePartitions", refuse=refuse)
async def handle(node: Node, request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    times = await context.count(topic.name for topic in request.topics)
    response = CreatePartitionsResponse()
    for wanted in {topic.name: topic for topic in request.topics}.values():
        try:
            if times[wanted.name] > 1:
                raise InvalidRequestError(f"topic {wanted.name!r} occurs {times[wanted.name]} times")
            context.require(Operation.ALTER, ResourceType.TOPIC, wanted.name)
            await _add(node, wanted, context, validate_only=request.validate_only)
            response.results.append(_result(wanted.name, Refusal(0, None)))
        except KafkaError as error:
            response.results.append(_result(wanted.name, Refusal.of(error)))
        await context.yield_if_due()
    return response


async def _add(node: Node, wanted: RequestTopic, context: RequestContext, *, validate_only: bool) -> None:
    topic = node.topics.get(wanted.name)
    if not topic.partitions < wanted.count <= MOST_PARTITIONS:
        raise InvalidPartitionsError(
            f"{wanted.count} partitions, expected {topic.partitions + 1} to {MOST_PARTITIONS} for {topic.name!r}"
        )
    if wanted.assignments is not None:
        assigned = [each.broker_ids for each in wanted.assignments]
        if assigned != [[node.id]] * (wanted.count - topic.partitions):
            raise InvalidReplicaAssignmentError(f"brokers {assigned}, expected [{node.id}] for each new partition")
    context.charge_partitions(wanted.count - topic.partitions, strict_since=STRICT_SINCE)
    if not validate_only:
        await node.changes.run(node.changes.growth(topic, wanted.count))


def _result(name: str, answer: Refusal) -> CreatePartitionsResponse.CreatePartitionsTopicResult:
    return CreatePartitionsResponse.CreatePartitionsTopicResult(
        name=name, error_code=answer.code, error_message=answer.message
    )
