"""CreateTopics: v0-7. Creates topics.

Rules:
- A topic has either a number of partitions and replicas, or an assignment that names the replicas of each partition
  from 0 on; both is INVALID_REQUEST. -1 is the broker's default, in every version: KIP-464 forbids it before v4 to
  Java's client only, and kafkajs asks for it in v3. There is one broker, so there is one replica.
- A name that occurs twice: INVALID_REQUEST for it. Settings are checked before anything is created.
- More than MOST_PARTITIONS partitions in one request: POLICY_VIOLATION for all of it, as in Kafka.
- With `validate_only` (v1+) everything is checked and nothing is created.
- A topic needs CREATE, on it or on the cluster: else TOPIC_AUTHORIZATION_FAILED, whether it exists or not. A topic
  whose settings the client may not see is returned without settings and numbers (v5+).
- Partitions count for controller_mutation_rate, also with `validate_only`. v6+ refuse a topic above the quota with
  THROTTLING_QUOTA_EXCEEDED; older versions are throttled.
- v5+ returns partitions, replicas and all settings of the topic; v7 with its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.settings import keys
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.changes import NewTopic
from kafkawire.broker._metadata.topics import CLUSTER_METADATA, MOST_PARTITIONS, NO_ID, Topic
from kafkawire.messages import CreateTopicsResponse
from kafkawire.messages.errors import (
    ErrorCode,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
    PolicyViolationError,
)
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import CreateTopicsRequest

    RequestTopic = CreateTopicsRequest.CreatableTopic
    Result = CreateTopicsResponse.CreatableTopicResult
    Config = CreateTopicsResponse.CreatableTopicConfigs

STRICT_SINCE: Final = 6


def refuse(request: CreateTopicsRequest, refusal: Refusal, context: RequestContext) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_failed(topic.name, refusal) for topic in request.topics])


@serves("CreateTopics", refuse=refuse)
async def handle(node: Node, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    if _total_partitions(node, request) > MOST_PARTITIONS:
        raise PolicyViolationError(f"more than {MOST_PARTITIONS} partitions in one request")
    times = await context.count(topic.name for topic in request.topics)
    results: dict[str, NewTopic | Topic | Refusal] = {}
    for wanted in request.topics:
        try:
            if times[wanted.name] > 1:
                raise InvalidRequestError(f"topic {wanted.name!r} occurs {times[wanted.name]} times")
            if wanted.name != CLUSTER_METADATA and not context.may(Operation.CREATE, ResourceType.CLUSTER):
                context.require(Operation.CREATE, ResourceType.TOPIC, wanted.name)
            checked = check_new_topic(node, wanted)
            context.charge_partitions(checked.partitions, strict_since=STRICT_SINCE)
            results[wanted.name] = checked
        except KafkaError as error:
            results[wanted.name] = Refusal.of(error)
        await context.yield_if_due()
    if not request.validate_only:
        made = await node.create_topics([each for each in results.values() if isinstance(each, NewTopic)])
        names = [name for name, each in results.items() if isinstance(each, NewTopic)]
        answers = (Refusal.of(each) if isinstance(each, KafkaError) else each for each in made)
        results.update(zip(names, answers, strict=True))
    response = CreateTopicsResponse()
    unset = [_config(node, name, {}) for name in keys("topic")] if context.version >= 5 else []
    for name, topic in results.items():
        if isinstance(topic, Refusal):
            response.topics.append(_failed(name, topic))
        elif context.version >= 5 and not context.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
            response.topics.append(_without_settings(topic))
        else:
            response.topics.append(_created(node, topic, context.version, unset))
        await context.yield_if_due()
    return response


def _total_partitions(node: Node, request: CreateTopicsRequest) -> int:
    """The partitions of all topics together, but for those that are refused one by one for their number."""
    default = node.config.integer("num.partitions")
    counts = (len(topic.assignments) or topic.num_partitions for topic in request.topics)
    return sum(default if count == -1 else count for count in counts if -1 <= count <= MOST_PARTITIONS)


def check_new_topic(node: Node, wanted: RequestTopic) -> NewTopic:
    """The topic to create; what cannot be created is refused."""
    if wanted.name == CLUSTER_METADATA:
        raise InvalidRequestError(f"topic {wanted.name!r} belongs to the broker")
    node.topics.check_new(wanted.name)
    partitions = _count_partitions(node, wanted)
    configs = {config.name: config.value for config in wanted.configs}
    node.config.check_topic(configs)
    return NewTopic(wanted.name, partitions, {name: value for name, value in configs.items() if value is not None})


def _created(node: Node, topic: NewTopic | Topic, version: int, unset: list[Config]) -> Result:
    settings = dict(topic.configs)
    configs = [_config(node, name, settings) for name in keys("topic")] if settings and version >= 5 else unset
    return CreateTopicsResponse.CreatableTopicResult(
        name=topic.name,
        error_message=None,
        topic_id=topic.id if isinstance(topic, Topic) else NO_ID,
        num_partitions=topic.partitions,
        replication_factor=1,
        configs=configs,
    )


def _without_settings(topic: NewTopic | Topic) -> Result:
    return CreateTopicsResponse.CreatableTopicResult(
        name=topic.name,
        error_message=None,
        topic_id=topic.id if isinstance(topic, Topic) else NO_ID,
        topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        num_partitions=-1,
        replication_factor=-1,
    )


def _count_partitions(node: Node, wanted: RequestTopic) -> int:
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


def _check_assignment(node: Node, wanted: RequestTopic) -> int:
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


def _failed(name: str, refusal: Refusal) -> Result:
    return CreateTopicsResponse.CreatableTopicResult(
        name=name, error_code=refusal.code, error_message=refusal.message, num_partitions=-1, replication_factor=-1
    )
