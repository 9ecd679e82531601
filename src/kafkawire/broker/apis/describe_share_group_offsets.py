"""DescribeShareGroupOffsets: v0-1. Returns the start offsets of share groups, and how many records are left (v1+).

Rules:
- share.version 0: UNSUPPORTED_VERSION for every group. A group that the client may not describe:
  GROUP_AUTHORIZATION_FAILED.
- Null topics ask for all share partitions of the group that have a state.
- A share partition without a state, an unknown topic and a group that does not exist: offset -1 and no error. So is a
  start that the group has not found yet (`share.auto.offset.reset`), and then the lag is -1.
- The lag is the number of records from the start to the end of the log, without those that are finished.
- A topic that the client may not describe: TOPIC_AUTHORIZATION_FAILED for its partitions. The list of all share
  partitions leaves it out.
- A group, a topic or a partition that occurs more than once is answered once.
- An offset that a crash could still lose is not returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.broker.apis.share_group_heartbeat import check_share_protocol
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.share.stored import UNKNOWN, ShareKey
from kafkawire.messages import DescribeShareGroupOffsetsResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeShareGroupOffsetsRequest

    Asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    Answered = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    AnsweredTopic = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
    Offset = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition


def refuse(
    request: DescribeShareGroupOffsetsRequest, error: Refusal, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    names = dict.fromkeys(group.group_id for group in request.groups)
    return DescribeShareGroupOffsetsResponse(groups=[_failed(name, error.code, error.message) for name in names])


@serves("DescribeShareGroupOffsets", refuse=refuse)
async def handle(
    node: Node, request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    check_share_protocol(node)
    groups: dict[str, Answered] = {}
    for group in request.groups:
        if group.group_id not in groups:
            groups[group.group_id] = await _describe(node, group, context)
        await context.yield_if_due()
    return DescribeShareGroupOffsetsResponse(groups=list(groups.values()))


async def _describe(node: Node, asked: Asked, context: RequestContext) -> Answered:
    if not context.may(Operation.DESCRIBE, ResourceType.GROUP, asked.group_id):
        code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        return _failed(asked.group_id, code, code.meaning)
    listed = _initialized(node, asked.group_id) if asked.topics is None else await _wanted(asked, context)
    found = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id)
    keys: list[ShareKey] = []
    for name, partitions in listed.items():
        if context.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
            topic = node.topics.find(name)
            answer = _topic(name, NO_ID if topic is None else topic.id)
            for index in partitions:
                key = None if topic is None else ShareKey(asked.group_id, topic.id, index)
                answer.partitions.append(_offset(node, topic, key, index))
                if key is not None and node.shares.state(key) is not None:
                    keys.append(key)
                await context.yield_if_due()
            found.topics.append(answer)
        elif asked.topics is not None:
            answer = _topic(name, NO_ID)
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            answer.partitions = [_unknown(index, code, code.meaning) for index in partitions]
            found.topics.append(answer)
        await context.yield_if_due()
    await node.shares.durable(keys)
    return found


def _initialized(node: Node, group_id: str) -> dict[str, Iterable[int]]:
    """The share partitions of a group that have a state, by topic."""
    group = node.groups.find(group_id)
    if not isinstance(group, ShareGroup):
        return {}
    return {each.name: sorted(each.partitions) for each in group.partitions.initialized.values()}


async def _wanted(asked: Asked, context: RequestContext) -> dict[str, Iterable[int]]:
    """The partitions of a request, each once."""
    wanted: dict[str, dict[int, None]] = {}
    for topic in asked.topics or ():
        known = wanted.setdefault(topic.topic_name, {})
        for index in topic.partitions:
            known[index] = None
            await context.yield_if_due()
        await context.yield_if_due()
    return {**wanted}


def _offset(node: Node, topic: Topic | None, key: ShareKey | None, index: int) -> Offset:
    state = None if key is None else node.shares.state(key)
    if topic is None or state is None:
        return _unknown(index)
    lag = UNKNOWN
    log = node.logs.partitions.get((topic.name, index))
    if log is not None and UNKNOWN not in (state.start, state.completed):
        lag = log.high_watermark - state.start - state.completed
    return DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=state.start, leader_epoch=max(0, state.leader_epoch), lag=lag
    )


def _unknown(index: int, code: int = ErrorCode.NONE, message: str | None = None) -> Offset:
    return DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=UNKNOWN, lag=UNKNOWN, error_code=code, error_message=message
    )


def _topic(name: str, topic_id: UUID) -> AnsweredTopic:
    return DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)


def _failed(group_id: str, code: int, message: str | None) -> Answered:
    return DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id, error_code=code, error_message=message
    )
