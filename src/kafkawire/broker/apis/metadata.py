"""Metadata: v0-13. The leaders of partitions: always this broker.

Rules:
- v0: an empty list asks for all topics. v1+: null asks for all, empty for none.
- A topic that occurs more than once is answered once, where it occurs first.
- Topics are named by name, or by id from v12 on. v10 and v11 have ids and refuse them with INVALID_REQUEST. If any
  topic has an id, names are ignored, as in Kafka.
- A topic that does not exist is created with num.partitions if auto.create.topics.enable and the request allow it (v0-3
  always do). The request that creates it gets UNKNOWN_TOPIC_OR_PARTITION, as in Kafka, and the next one the topic.
- One request creates at most MOST_PARTITIONS partitions. Clients retry for the remaining topics.
- A topic that is named more than once is described once.
- An invalid topic name: INVALID_TOPIC_EXCEPTION. An unknown id: UNKNOWN_TOPIC_ID.
- A topic that the client may not describe is TOPIC_AUTHORIZATION_FAILED without its id, or without its name if it was
  named by id. A list of all topics leaves it out. A topic that would be created needs CREATE, on it or on the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.changes import NewTopic
from kafkawire.broker._metadata.topics import CLUSTER_METADATA, INTERNAL, MOST_PARTITIONS, NO_ID, Topic, check_name
from kafkawire.messages import MetadataResponse
from kafkawire.messages.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkaError,
    TopicAuthorizationError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kafkawire.broker._node import Node
    from kafkawire.messages import MetadataRequest

    RequestTopic = MetadataRequest.MetadataRequestTopic

AT_ONCE: Final = 256
NEVER: Final = 1 << 15


def refuse(request: MetadataRequest, error: Refusal, context: RequestContext) -> MetadataResponse:
    response = MetadataResponse(error_code=error.code)
    for wanted in request.topics or ():
        response.topics.append(
            MetadataResponse.MetadataResponseTopic(
                error_code=error.code, name=_answerable(wanted.name, context), topic_id=wanted.topic_id
            )
        )
    return response


@serves("Metadata", refuse=refuse)
async def handle(node: Node, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    version, wanted = context.version, request.topics
    here = node.endpoints[context.listener]
    response = MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=node.id, host=here.host, port=here.port, rack=node.rack)
        ],
        cluster_id=node.cluster_id,
        controller_id=node.id,
    )
    if 8 <= version <= 10 and request.include_cluster_authorized_operations:
        may = context.may(Operation.DESCRIBE, ResourceType.CLUSTER)
        response.cluster_authorized_operations = context.operations_on(ResourceType.CLUSTER) if may else 0
    with_operations = version >= 8 and request.include_topic_authorized_operations
    if wanted is None or (version == 0 and not wanted):
        for topic in list(node.topics):
            if context.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                response.topics.append(_begin(node, topic, _operations(topic.name, context, asked=with_operations)))
                if topic.partitions > AT_ONCE:
                    await _end(response.topics[-1], node, topic, context)
            await context.yield_if_due()
        return response
    distinct = await _distinct(wanted, version, context)
    hidden: Collection[str] = ()
    absent: dict[str, KafkaError] = {}
    permitted = distinct
    if context.access is not None:
        hidden = await _hidden(distinct, context)
        absent = dict.fromkeys(hidden, TopicAuthorizationError())
        permitted = [each for each in distinct if each.name not in hidden]
    by_name = node.topics.by_name
    if (
        (version < 4 or request.allow_auto_topic_creation)
        and (len(permitted) > AT_ONCE or any(each.name not in by_name for each in permitted))
        and node.config.boolean("auto.create.topics.enable")
    ):
        absent |= await _create_missing(node, permitted, context)
    for each in distinct:
        try:
            topic = _find(node, each, version, absent, context)
            node.check(topic.name)
            response.topics.append(_begin(node, topic, _operations(topic.name, context, asked=with_operations)))
            if topic.partitions > AT_ONCE:
                await _end(response.topics[-1], node, topic, context)
        except KafkaError as error:
            is_hidden = isinstance(error, TopicAuthorizationError)
            name = None if version >= 12 and each.topic_id != NO_ID else each.name
            with_bits = with_operations and name is not None and not is_hidden
            response.topics.append(
                MetadataResponse.MetadataResponseTopic(
                    error_code=error.code,
                    name=_answerable(name, context),
                    topic_id=each.topic_id,
                    is_internal=name in INTERNAL and name not in hidden,
                    topic_authorized_operations=_operations(name or "", context, asked=with_bits),
                )
            )
        await context.yield_if_due()
    return response


def _begin(node: Node, topic: Topic, allowed: int) -> MetadataResponse.MetadataResponseTopic:
    """A topic as clients see it, with its first partitions."""
    return MetadataResponse.MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=_partitions(node, topic, 0),
        topic_authorized_operations=allowed,
    )


def _partitions(node: Node, topic: Topic, first: int) -> list[MetadataResponse.MetadataResponsePartition]:
    """AT_ONCE partitions from one on, or as many as there are."""
    here = [node.id]
    return [
        MetadataResponse.MetadataResponsePartition(
            partition_index=index,
            leader_id=node.id,
            leader_epoch=node.epoch_of(topic.name, index) if node.moves else node.leader_epoch,
            replica_nodes=here,
            isr_nodes=here,
        )
        for index in range(first, min(first + AT_ONCE, topic.partitions))
    ]


async def _end(
    described: MetadataResponse.MetadataResponseTopic, node: Node, topic: Topic, context: RequestContext
) -> None:
    """Add the partitions that a topic has beside its first ones."""
    for first in range(AT_ONCE, topic.partitions, AT_ONCE):
        await context.yield_if_due()
        described.partitions += _partitions(node, topic, first)


async def _distinct(wanted: list[RequestTopic], version: int, context: RequestContext) -> list[RequestTopic]:
    """The topics of a request, each once; from v12 on only those with ids, if there are any."""
    if len(wanted) < 2:
        return wanted
    seen: set[object] = set()
    found: list[RequestTopic] = []
    by_id = False
    for each in wanted:
        has_id = version >= 12 and each.topic_id != NO_ID
        if has_id and not by_id:
            by_id, found = True, []
        elif by_id and not has_id:
            continue
        key = each.name if each.topic_id == NO_ID else each.topic_id
        if key not in seen:
            seen.add(key)
            found.append(each)
        await context.yield_if_due()
    return found


def _operations(name: str, context: RequestContext, *, asked: bool) -> int:
    return context.operations_on(ResourceType.TOPIC, name) if asked else operations.NOT_ASKED


async def _hidden(wanted: Iterable[RequestTopic], context: RequestContext) -> set[str]:
    """The names that the client may not describe."""
    hidden: set[str] = set()
    for each in wanted:
        if each.name and each.topic_id == NO_ID and not context.may(Operation.DESCRIBE, ResourceType.TOPIC, each.name):
            hidden.add(each.name)
        await context.yield_if_due()
    return hidden


async def _create_missing(node: Node, wanted: Iterable[RequestTopic], context: RequestContext) -> dict[str, KafkaError]:
    """Create the topics that are asked for by name and do not exist; returns the error of each for this request."""
    partitions = node.config.integer("num.partitions")
    missing: list[NewTopic] = []
    refused: dict[str, KafkaError] = {}
    for each in wanted:
        name = each.name
        if (
            name is None
            or each.topic_id != NO_ID
            or name in node.topics
            or len(missing) * partitions >= MOST_PARTITIONS
        ):
            continue
        if not (
            context.may(Operation.CREATE, ResourceType.CLUSTER)
            or context.may(Operation.CREATE, ResourceType.TOPIC, name)
        ):
            refused[name] = TopicAuthorizationError()
        elif name in INTERNAL:
            missing.append(NewTopic(name, *node.config.internal_topic(name)))
        elif name != CLUSTER_METADATA:
            missing.append(NewTopic(name, partitions))
        await context.yield_if_due()
    if not missing:
        return refused
    context.charge_partitions(sum(each.partitions for each in missing), strict_since=NEVER)
    made = await node.create_topics(missing)
    return refused | {
        topic.name: each if isinstance(each, KafkaError) else UnknownTopicOrPartitionError("created by this request")
        for topic, each in zip(missing, made, strict=True)
        if not isinstance(each, TopicExistsError)  # another request created it meanwhile
    }


def _find(
    node: Node, wanted: RequestTopic, version: int, absent: Mapping[str, KafkaError], context: RequestContext
) -> Topic:
    if wanted.topic_id != NO_ID or wanted.name is None:
        if version < 12:
            raise InvalidRequestError(f"topic ids are served from v12 on, this is v{version}")
        topic = node.topics.get_id(wanted.topic_id)
        context.require(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        return topic
    if wanted.name in absent:
        raise absent[wanted.name]
    found = node.topics.find(wanted.name)
    if found is not None:
        return found
    check_name(wanted.name)
    return node.topics.get(wanted.name)


def _answerable(name: str | None, context: RequestContext) -> str | None:
    return "" if name is None and context.version < 12 else name
