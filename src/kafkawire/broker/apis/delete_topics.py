"""DeleteTopics: v0-6. Deletes topics by name, or by id from v6 on.

Rules:
- A topic is named by name or by id; both, neither, or the same topic twice: INVALID_REQUEST for it.
- With delete.topic.enable=false nothing is deleted: TOPIC_DELETION_DISABLED, before v3 INVALID_REQUEST.
- A topic needs DELETE, on it or on the cluster: else TOPIC_AUTHORIZATION_FAILED. A name that the client may not
  describe is refused whether it exists or not. An id that exists is refused with the name only if the client may
  describe it.
- Partitions count for controller_mutation_rate; v5+ refuse a topic above it with THROTTLING_QUOTA_EXCEEDED.
- The name is free at once; the files are removed later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import NO_ID, Topic
from kafkawire.messages import DeleteTopicsResponse
from kafkawire.messages.errors import (
    InvalidRequestError,
    KafkaError,
    TopicAuthorizationError,
    TopicDeletionDisabledError,
)
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.messages import DeleteTopicsRequest

DONE = Refusal(0, None)
STRICT_SINCE: Final = 5


class TopicKey(NamedTuple):
    """A topic as the request names it."""

    name: str | None
    topic_id: UUID


def refuse(request: DeleteTopicsRequest, refusal: Refusal, context: RequestContext) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(responses=[_result(each, refusal) for each in _wanted(request, context.version)])


@serves("DeleteTopics", refuse=refuse)
async def handle(node: Node, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    if not node.config.boolean("delete.topic.enable"):
        disabled = TopicDeletionDisabledError if context.version >= 3 else InvalidRequestError
        raise disabled("delete.topic.enable is false")
    times = await context.count(_wanted(request, context.version))
    found: dict[TopicKey, Topic | Refusal] = {}
    named_by_id: dict[TopicKey, TopicKey] = {}
    for each in times:
        try:
            if times[each] > 1:
                raise InvalidRequestError(f"{each.name or each.topic_id} occurs {times[each]} times")
            wanted = _find(node, each, context)
            context.charge_partitions(wanted.partitions, strict_since=STRICT_SINCE)
            found[each] = wanted
        except KafkaError as error:
            found[each] = Refusal.of(error)
            if isinstance(error, TopicAuthorizationError) and each.name is None:
                named_by_id[each] = _describable_name(node, each, context)
        await context.yield_if_due()
    named = await context.count(topic.id for topic in found.values() if isinstance(topic, Topic))
    gone = {topic.id: topic for topic in found.values() if isinstance(topic, Topic) and named[topic.id] == 1}
    failures = await node.changes.run(node.changes.deletion(list(gone.values()))) if gone else []
    failed = dict(zip(gone, failures, strict=True))
    response = DeleteTopicsResponse()
    for each, topic in found.items():
        if isinstance(topic, Refusal):
            response.responses.append(_result(named_by_id.get(each, each), topic))
        elif topic.id not in gone:
            refusal = InvalidRequestError(f"topic {topic.name!r} is named by name and by id")
            response.responses.append(_result(each, Refusal.of(refusal)))
        else:
            failure = failed[topic.id]
            answer = DONE if failure is None else Refusal.of(failure)
            response.responses.append(_result(TopicKey(topic.name, topic.id), answer))
        await context.yield_if_due()
    return response


def _wanted(request: DeleteTopicsRequest, version: int) -> Iterator[TopicKey]:
    if version < 6:
        return (TopicKey(name, NO_ID) for name in request.topic_names)
    return (TopicKey(each.name, each.topic_id) for each in request.topics)


def _find(node: Node, wanted: TopicKey, context: RequestContext) -> Topic:
    if (wanted.name is None) == (wanted.topic_id == NO_ID):
        raise InvalidRequestError("expected a name or an id, one of them")
    if wanted.name is None:
        topic = node.topics.get_id(wanted.topic_id)
    elif not context.may(Operation.DELETE, ResourceType.CLUSTER):
        context.require(Operation.DESCRIBE, ResourceType.TOPIC, wanted.name)
        topic = node.topics.get(wanted.name)
    else:
        return node.topics.get(wanted.name)
    if not context.may(Operation.DELETE, ResourceType.CLUSTER):
        context.require(Operation.DELETE, ResourceType.TOPIC, topic.name)
    return topic


def _describable_name(node: Node, wanted: TopicKey, context: RequestContext) -> TopicKey:
    topic = node.topics.find_id(wanted.topic_id)
    if topic is None or not context.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
        return wanted
    return TopicKey(topic.name, wanted.topic_id)


def _result(wanted: TopicKey, refusal: Refusal = DONE) -> DeleteTopicsResponse.DeletableTopicResult:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=wanted.name, topic_id=wanted.topic_id, error_code=refusal.code, error_message=refusal.message
    )
