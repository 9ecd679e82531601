"""OffsetCommit: v0-10. Offsets are written down for a group.

Rules:
- v0 names no member: it is taken as from a simple consumer. v1 may say when a commit was made, v2-4 how long to
  keep it. v6+: leader epochs. v7+: static members by group.instance.id. v10: topic ids instead of names.
- A topic that is not there: UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID, for its partitions only; a partition
  that is not there: UNKNOWN_TOPIC_OR_PARTITION for it only.
- A member of a group that is not there: GROUP_ID_NOT_FOUND from v9 on, ILLEGAL_GENERATION before.
- The commit is in the log, as firmly as the broker promises, before it is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.exchanges import MemberKey
from kafkawire.broker.groups.offsets import Commit
from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import OffsetCommitResponse
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker.groups.group import TopicPartition
    from kafkawire.broker.node import Node
    from kafkawire.broker.topics import Topic
    from kafkawire.messages import OffsetCommitRequest

    Wanted = OffsetCommitRequest.OffsetCommitRequestTopic

_FOREVER: Final = (1 << 63) - 1  # the last time that an offset's record can hold


def refuse(request: OffsetCommitRequest, error: ErrorAnswer, context: RequestContext) -> OffsetCommitResponse:
    return _respond(request, lambda topic, index: error.code)


@serves("OffsetCommit", refuse=refuse)
async def handle(node: Node, request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse:
    await node.groups.prepare()
    key = MemberKey(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    expires = min(node.clock.now() + request.retention_time_ms, _FOREVER) if request.retention_time_ms >= 0 else None
    commits: dict[TopicPartition, Commit] = {}
    for topic in request.topics:
        found = _find(node, topic, context)
        if found is None:
            continue
        for each in topic.partitions:
            if not 0 <= each.partition_index < found.partitions:
                continue
            at = each.commit_timestamp if each.commit_timestamp >= 0 else None
            commits[found.name, each.partition_index] = Commit(
                each.committed_offset, each.committed_leader_epoch, each.committed_metadata, at, expires
            )
    try:
        errors = node.groups.commit(request.group_id, key, commits)
    except GroupIdNotFoundError as missing:
        code = missing.code if context.version >= 9 else ErrorCode.ILLEGAL_GENERATION
        errors = dict.fromkeys(commits, ErrorCode(code))

    def error_of(topic: Wanted, index: int) -> int:
        found = _find(node, topic, context)
        if found is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if context.version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return errors.get((found.name, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    answer = node.groups.when_settled([request.group_id], _respond(request, error_of))
    return await answer if isinstance(answer, Awaitable) else answer


def _find(node: Node, topic: Wanted, context: RequestContext) -> Topic | None:
    return node.topics.find_id(topic.topic_id) if context.version >= 10 else node.topics.find(topic.name)


def _respond(request: OffsetCommitRequest, error_of: Callable[[Wanted, int], int]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=error_of(topic, each.partition_index)
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
