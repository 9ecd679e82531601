"""ShareGroupDescribe: v1. Describes share groups: epochs, members, assignments.

Rules:
- Errors, repeated names and topics that the client may not describe: `groups.describing`.
- Topics that are gone are left out of assignments.
- share.version 0: UNSUPPORTED_VERSION for every group.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.share_group_heartbeat import check_share_protocol
from kafkawire.broker.groups.describing import describe_groups, find_group, refused
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.messages import ShareGroupDescribeResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.share.member import ShareMember
    from kafkawire.messages import ShareGroupDescribeRequest

_Described = ShareGroupDescribeResponse.DescribedGroup
_ASSIGNOR: Final = "simple"


def refuse(request: ShareGroupDescribeRequest, error: Refusal, context: RequestContext) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=refused(request, error, _Described))


@serves("ShareGroupDescribe", refuse=refuse)
async def handle(node: Node, request: ShareGroupDescribeRequest, context: RequestContext) -> ShareGroupDescribeResponse:
    check_share_protocol(node)
    describe = partial(_describe, node, context)
    groups = await describe_groups(node, request, context, _Described, describe, _topics)
    return ShareGroupDescribeResponse(groups=groups)


async def _describe(node: Node, context: RequestContext, group_id: str) -> _Described:
    group = find_group(node, group_id, ShareGroup, "share")
    described = _Described(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=_ASSIGNOR,
    )
    for member in list(group.members.values()):
        described.members.append(_member(node, member))
        await context.yield_if_due()
    return described


def _topics(described: _Described) -> Iterator[str]:
    for member in described.members:
        yield from (topic.topic_name for topic in member.assignment.topic_partitions)


def _member(node: Node, member: ShareMember) -> ShareGroupDescribeResponse.Member:
    kind = ShareGroupDescribeResponse
    listed = []
    for topic_id, partitions in member.assigned.items():
        topic = node.topics.find_id(topic_id)
        if topic is not None:
            listed.append(kind.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions)))
    return kind.Member(
        member_id=member.member_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=kind.Assignment(topic_partitions=listed),
    )
