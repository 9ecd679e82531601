"""OffsetCommit: v0-10. Commits offsets of a group.

Rules:
- v0 has no member, and counts as a simple consumer. v1 has an optional commit time, v2-4 a retention time.
  v6+: leader epochs. v7+: static members by group.instance.id. v10: topic ids instead of names.
- An unknown topic: UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID, for its partitions only. An unknown partition:
  UNKNOWN_TOPIC_OR_PARTITION for it only.
- A member of a group that does not exist: GROUP_ID_NOT_FOUND from v9 on, ILLEGAL_GENERATION before.
- A partition that occurs more than once is answered as often, as Apache Kafka does; its last offset counts.
- The commit is in the log, and synced if the settings ask for it, before the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.messages import OffsetCommitResponse
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError

if TYPE_CHECKING:
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.messages import OffsetCommitRequest

    RequestTopic = OffsetCommitRequest.OffsetCommitRequestTopic

_FOREVER: Final = (1 << 63) - 1  # the last time that an offset's record can hold


def refuse(request: OffsetCommitRequest, error: Refusal, context: RequestContext) -> OffsetCommitResponse:
    response = OffsetCommitResponse()
    for topic in request.topics:
        answered = _answered(topic)
        answered.partitions = [_result(each.partition_index, error.code) for each in topic.partitions]
        response.topics.append(answered)
    return response


@serves("OffsetCommit", refuse=refuse)
async def handle(node: Node, request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse:
    await node.groups.prepare()
    key = MemberKey(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    expires = min(node.clock.now() + request.retention_time_ms, _FOREVER) if request.retention_time_ms >= 0 else None
    commits: dict[TopicPartition, Commit] = {}
    topics: list[Topic | None] = []
    for topic in request.topics:
        found = _find(node, topic, context)
        topics.append(found)
        await context.yield_if_due()
        if found is None:
            continue
        for each in topic.partitions:
            await context.yield_if_due()
            if not 0 <= each.partition_index < found.partitions:
                continue
            at = each.commit_timestamp if each.commit_timestamp >= 0 else None
            commits[found.name, each.partition_index] = Commit(
                each.committed_offset, each.committed_leader_epoch, each.committed_metadata, at, expires, found.id
            )
    try:
        errors = await node.groups.commit(request.group_id, key, commits, context)
    except GroupIdNotFoundError as missing:
        code = missing.code if context.version >= 9 else ErrorCode.ILLEGAL_GENERATION
        errors = dict.fromkeys(commits, ErrorCode(code))
    await node.groups.durable([request.group_id], context)
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if context.version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    response = OffsetCommitResponse()
    for topic, found in zip(request.topics, topics, strict=True):
        answered = _answered(topic)
        response.topics.append(answered)
        for each in topic.partitions:
            index = each.partition_index
            error = unknown
            if found is not None:
                error = errors.get((found.name, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answered.partitions.append(_result(index, error))
            await context.yield_if_due()
    return response


def _find(node: Node, topic: RequestTopic, context: RequestContext) -> Topic | None:
    return node.topics.find_id(topic.topic_id) if context.version >= 10 else node.topics.find(topic.name)


def _answered(topic: RequestTopic) -> OffsetCommitResponse.OffsetCommitResponseTopic:
    return OffsetCommitResponse.OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)


def _result(index: int, error: int) -> OffsetCommitResponse.OffsetCommitResponsePartition:
    return OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=index, error_code=error)
