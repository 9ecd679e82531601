"""ConsumerGroupDescribe: v0-1. Describes consumer groups: epochs, members, assignments and targets.

Rules:
- Errors, repeated names and topics that the client may not describe: `groups.describing`.
- The assignment of a member includes partitions that it still has to give up. Topics that are gone are left out.
- v1: the type of each member: 0 classic, 1 consumer.
- group.version 0, or a list of protocols without "consumer": UNSUPPORTED_VERSION for every group.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.consumer_group_heartbeat import check_protocol
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.targets import preferred_assignor
from kafkawire.broker.groups.describing import describe_groups, find_group, refused
from kafkawire.messages import ConsumerGroupDescribeResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.consumer.member import ConsumerMember
    from kafkawire.messages import ConsumerGroupDescribeRequest

_Described = ConsumerGroupDescribeResponse.DescribedGroup


def refuse(
    request: ConsumerGroupDescribeRequest, error: Refusal, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=refused(request, error, _Described))


@serves("ConsumerGroupDescribe", refuse=refuse)
async def handle(
    node: Node, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    check_protocol(node)
    describe = partial(_describe, node, context)
    groups = await describe_groups(node, request, context, _Described, describe, _topics)
    return ConsumerGroupDescribeResponse(groups=groups)


async def _describe(node: Node, context: RequestContext, group_id: str) -> _Described:
    group = find_group(node, group_id, ConsumerGroup, "consumer")
    described = _Described(
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


def _topics(described: _Described) -> Iterator[str]:
    for member in described.members:
        for assignment in (member.assignment, member.target_assignment):
            yield from (topic.topic_name for topic in assignment.topic_partitions)


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
