"""ConsumerGroupDescribe: v0-1. Describes consumer groups: epochs, members, assignments and targets.

Rules:
- A group that does not exist, or is of another kind: GROUP_ID_NOT_FOUND. The empty name: INVALID_GROUP_ID.
- A group that occurs more than once is answered once. Apache Kafka answers every occurrence, so that a small request
  can have a response of any size.
- A group with a topic that the client may not describe: TOPIC_AUTHORIZATION_FAILED, without its members.
- The assignment of a member includes partitions that it still has to give up. Topics that are gone are left out.
- v1: the type of each member: 0 classic, 1 consumer.
- group.version 0, or a list of protocols without "consumer": UNSUPPORTED_VERSION for every group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.consumer_group_heartbeat import check_protocol
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.targets import preferred_assignor
from kafkawire.messages import ConsumerGroupDescribeResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.consumer.member import ConsumerMember
    from kafkawire.messages import ConsumerGroupDescribeRequest

    Described = ConsumerGroupDescribeResponse.DescribedGroup


def refuse(
    request: ConsumerGroupDescribeRequest, error: Refusal, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[_failed(group_id, error.code, None) for group_id in dict.fromkeys(request.group_ids)]
    )


@serves("ConsumerGroupDescribe", refuse=refuse)
async def handle(
    node: Node, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    check_protocol(node)
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
    return ConsumerGroupDescribeResponse(groups=list(groups.values()))


async def _describe(node: Node, group_id: str, context: RequestContext) -> Described:
    if not group_id:
        return _failed(group_id, ErrorCode.INVALID_GROUP_ID, None)
    group = node.groups.find(group_id)
    if group is None:
        return _failed(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        return _failed(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    described = ConsumerGroupDescribeResponse.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group, node.groups.assignors[0]),
    )
    for member in list(group.members.values()):
        described.members.append(_member(node, group, member))
        await context.yield_if_due()
    return described


def _visible(described: Described, context: RequestContext) -> Described:
    """The group, or its refusal if a member has a topic that the client may not describe."""
    if context.access is None:
        return described
    names = {
        topic.topic_name
        for member in described.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    }
    if all(context.may(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in names):
        return described
    hidden = "the group has topics that the client is not authorized to describe"
    return _failed(described.group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, hidden)


def _member(node: Node, group: ConsumerGroup, member: ConsumerMember) -> ConsumerGroupDescribeResponse.Member:
    owned: dict[UUID, list[int]] = {}
    for partitions in (member.assigned, member.revoking):
        for topic, numbers in partitions.items():
            owned.setdefault(topic, []).extend(sorted(numbers))
    return ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(node, owned),
        target_assignment=_assignment(node, group.target(member.member_id)),
        member_type=0 if member.is_classic else 1,
    )


def _assignment(node: Node, partitions: Mapping[UUID, Iterable[int]]) -> ConsumerGroupDescribeResponse.Assignment:
    listed = []
    for topic_id, numbers in partitions.items():
        topic = node.topics.find_id(topic_id)
        if topic is not None:
            listed.append(
                ConsumerGroupDescribeResponse.TopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(numbers)
                )
            )
    return ConsumerGroupDescribeResponse.Assignment(topic_partitions=listed)


def _failed(group_id: str, code: int, message: str | None) -> Described:
    return ConsumerGroupDescribeResponse.DescribedGroup(group_id=group_id, error_code=code, error_message=message)
