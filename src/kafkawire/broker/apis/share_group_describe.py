"""ShareGroupDescribe: v1. Describes share groups: epochs, members, assignments.

Rules:
- A group that does not exist, or is of another kind: GROUP_ID_NOT_FOUND. The empty name: INVALID_GROUP_ID.
- A group that occurs more than once is answered once. Apache Kafka answers every occurrence, so that a small request
  can have a response of any size.
- Topics that are gone are left out of assignments.
- share.version 0: UNSUPPORTED_VERSION for every group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.share_group_heartbeat import check_share_protocol
from kafkawire.messages import ShareGroupDescribeResponse
from kafkawire.messages.errors import ErrorCode, GroupIdNotFoundError
from kafkawire.messages.schema import Versions
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.share.member import ShareMember
    from kafkawire.messages import ShareGroupDescribeRequest

    Described = ShareGroupDescribeResponse.DescribedGroup

_ASSIGNOR: Final = "simple"


def refuse(request: ShareGroupDescribeRequest, error: Refusal, context: RequestContext) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[_failed(group_id, error.code, None) for group_id in dict.fromkeys(request.group_ids)]
    )


@serves("ShareGroupDescribe", versions=Versions(1, 1), refuse=refuse)
async def handle(node: Node, request: ShareGroupDescribeRequest, context: RequestContext) -> ShareGroupDescribeResponse:
    check_share_protocol(node)
    groups: dict[str, Described] = {}
    for group_id in request.group_ids:
        if group_id not in groups:
            described = await _describe(node, group_id, context)
            if not described.error_code:
                described = _visible(described, context)
                if request.include_authorized_operations and not described.error_code:
                    described.authorized_operations = context.operations_on(ResourceType.GROUP, group_id)
            groups[group_id] = described
        await context.yield_if_due()
    await node.groups.durable(groups, context)
    return ShareGroupDescribeResponse(groups=list(groups.values()))


async def _describe(node: Node, group_id: str, context: RequestContext) -> Described:
    if not group_id:
        return _failed(group_id, ErrorCode.INVALID_GROUP_ID, None)
    try:
        group = node.groups.shares.get(group_id)
    except GroupIdNotFoundError as error:
        return _failed(group_id, error.code, error.message)
    described = ShareGroupDescribeResponse.DescribedGroup(
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


def _visible(described: Described, context: RequestContext) -> Described:
    """The group, or its refusal if a member has a topic that the client may not describe."""
    if context.access is None:
        return described
    names = {topic.topic_name for member in described.members for topic in member.assignment.topic_partitions}
    if all(context.may(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in names):
        return described
    hidden = "the group has topics that the client is not authorized to describe"
    return _failed(described.group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, hidden)


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


def _failed(group_id: str, code: int, message: str | None) -> Described:
    return ShareGroupDescribeResponse.DescribedGroup(group_id=group_id, error_code=code, error_message=message)
