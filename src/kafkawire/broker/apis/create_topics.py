"""CreateTopics: v0-7. New topics.

Rules:
- A topic has either a number of partitions and replicas (-1: the broker's default, in every version: KIP-464 forbids
  it before v4 to Java's client only, and kafkajs asks for it in v3), or an assignment that names the replicas of each
  partition from 0 on; both is INVALID_REQUEST. There is one broker, so there is one replica.
- A name that occurs twice: INVALID_REQUEST for it. Settings are checked before anything is made.
- With `validate_only` (v1+) everything is checked and nothing made.
- v5+ answers with partitions, replicas and all settings of the topic; v7 with its id.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkawire.broker.configs import keys
from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.broker.topics import CLUSTER_METADATA, NO_ID
from kafkawire.messages import CreateTopicsResponse
from kafkawire.messages.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
)

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import CreateTopicsRequest

    Wanted = CreateTopicsRequest.CreatableTopic
    Result = CreateTopicsResponse.CreatableTopicResult

MOST_PARTITIONS = 10_000


def refuse(request: CreateTopicsRequest, refusal: ErrorAnswer, context: RequestContext) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_failed(topic.name, refusal) for topic in request.topics])


@serves("CreateTopics", refuse=refuse)
def handle(node: Node, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in request.topics)
    response = CreateTopicsResponse()
    for wanted in request.topics:
        if any(result.name == wanted.name for result in response.topics):
            continue
        try:
            if times[wanted.name] > 1:
                raise InvalidRequestError(f"topic {wanted.name!r} occurs {times[wanted.name]} times")
            response.topics.append(_create(node, wanted, context.version, validate_only=request.validate_only))
        except KafkaError as error:
            response.topics.append(_failed(wanted.name, ErrorAnswer.of(error)))
    return response


def _create(node: Node, wanted: Wanted, version: int, *, validate_only: bool) -> Result:
    if wanted.name == CLUSTER_METADATA:
        raise InvalidRequestError(f"topic {wanted.name!r} belongs to the broker")
    node.topics.check_new(wanted.name)
    partitions = _count_partitions(node, wanted)
    configs = {config.name: config.value for config in wanted.configs}
    node.config.check_topic(configs)
    settings = {name: value for name, value in configs.items() if value is not None}
    topic_id = NO_ID if validate_only else node.create_topic(wanted.name, partitions, settings).id
    return CreateTopicsResponse.CreatableTopicResult(
        name=wanted.name,
        topic_id=topic_id,
        num_partitions=partitions,
        replication_factor=1,
        configs=[_config(node, name, settings) for name in keys("topic")] if version >= 5 else [],
    )


def _count_partitions(node: Node, wanted: Wanted) -> int:
    if wanted.assignments:
        if wanted.num_partitions != -1 or wanted.replication_factor != -1:
            raise InvalidRequestError("an assignment and a number of partitions or replicas, expected one of them")
        return _check_assignment(node, wanted)
    partitions = node.config.integer("num.partitions") if wanted.num_partitions == -1 else wanted.num_partitions
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise InvalidPartitionsError(f"{wanted.num_partitions} partitions, expected 1 to {MOST_PARTITIONS}")
    if wanted.replication_factor not in (1, -1):
        raise InvalidReplicationFactorError(f"replication factor {wanted.replication_factor}, this broker is alone: 1")
    return partitions


def _check_assignment(node: Node, wanted: Wanted) -> int:
    indexes = sorted(each.partition_index for each in wanted.assignments)
    if indexes != list(range(len(indexes))):
        raise InvalidReplicaAssignmentError("the partitions of an assignment run from 0 on, without gaps or repetition")
    for each in wanted.assignments:
        if each.broker_ids != [node.id]:
            raise InvalidReplicaAssignmentError(
                f"partition {each.partition_index} on brokers {each.broker_ids}, expected [{node.id}], the only broker"
            )
    if len(indexes) > MOST_PARTITIONS:
        raise InvalidPartitionsError(f"{len(indexes)} partitions, expected 1 to {MOST_PARTITIONS}")
    return len(indexes)


def _config(node: Node, name: str, settings: dict[str, str]) -> CreateTopicsResponse.CreatableTopicConfigs:
    setting = node.config.topic_settings(name, settings)[0]
    return CreateTopicsResponse.CreatableTopicConfigs(
        name=name,
        value=node.config.topic_value(name, settings),
        config_source=setting.source,
        is_sensitive=keys("topic")[name].is_sensitive,
    )


def _failed(name: str, refusal: ErrorAnswer) -> Result:
    return CreateTopicsResponse.CreatableTopicResult(
        name=name, error_code=refusal.code, error_message=refusal.message, num_partitions=-1, replication_factor=-1
    )
