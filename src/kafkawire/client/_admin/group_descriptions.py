"""Descriptions of groups of every type, asked of their coordinator.

Rules:
- Each type has an API of its own. A coordinator answers GROUP_ID_NOT_FOUND to the APIs of the other types, so they are
  asked one after the other, the classic one first.
- A group that no API knows raises the error of the classic one. An API that the broker does not serve is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.client._admin.types import (
    GroupDescription,
    GroupMember,
    StreamsSubtopology,
    StreamsTasks,
)
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.assignors import decode_assignment
from kafkawire.client.errors import GroupError
from kafkawire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    api,
)
from kafkawire.messages.errors import GroupIdNotFoundError, UnsupportedVersionError, error_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.connection import Connection

_CONSUMER = "consumer"


async def describe_group(cluster: Cluster, group: str, node: int) -> GroupDescription:
    """A group of any type."""
    connection = await cluster.connection(node)
    try:
        return await _describe_classic(connection, group, node)
    except GroupIdNotFoundError:
        for name, describe in _OTHERS.items():
            if api(name).key in connection.negotiated.ranges:
                try:
                    return await describe(connection, group, node)
                except (GroupIdNotFoundError, UnsupportedVersionError):
                    continue  # the feature of the type may be turned off
        raise


async def _describe_classic(connection: Connection, group: str, node: int) -> GroupDescription:
    answer = await connection.request(DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse)
    found = _only(answer.groups, group)
    members = []
    for each in found.members:
        try:
            assigned = decode_assignment(each.member_assignment) if found.protocol_type == _CONSUMER else []
        except GroupError:
            assigned = []
        members.append(GroupMember(each.member_id, each.group_instance_id, each.client_id, each.client_host, assigned))
    return GroupDescription(group, found.group_state, found.protocol_type, found.protocol_data, node, members)


async def _describe_consumer(connection: Connection, group: str, node: int) -> GroupDescription:
    request = ConsumerGroupDescribeRequest(group_ids=[group])
    found = _only((await connection.request(request, ConsumerGroupDescribeResponse)).groups, group)
    members = [
        GroupMember(
            *(each.member_id, each.instance_id, each.client_id, each.client_host, _places(each.assignment)),
            *(each.member_epoch, _places(each.target_assignment)),
        )
        for each in found.members
    ]
    return GroupDescription(
        *(group, found.group_state, _CONSUMER, found.assignor_name, node, members, _CONSUMER),
        *(found.group_epoch, found.assignment_epoch),
    )


async def _describe_share(connection: Connection, group: str, node: int) -> GroupDescription:
    request = ShareGroupDescribeRequest(group_ids=[group])
    found = _only((await connection.request(request, ShareGroupDescribeResponse)).groups, group)
    members = [
        GroupMember(
            *(each.member_id, None, each.client_id, each.client_host, _places(each.assignment), each.member_epoch)
        )
        for each in found.members
    ]
    return GroupDescription(
        *(group, found.group_state, "share", found.assignor_name, node, members, "share"),
        *(found.group_epoch, found.assignment_epoch),
    )


async def _describe_streams(connection: Connection, group: str, node: int) -> GroupDescription:
    request = StreamsGroupDescribeRequest(group_ids=[group])
    found = _only((await connection.request(request, StreamsGroupDescribeResponse)).groups, group)
    topology = (
        {}
        if found.topology is None
        else {
            each.subtopology_id: StreamsSubtopology(
                sources=sorted(each.source_topics),
                repartition_sources=sorted(topic.name for topic in each.repartition_source_topics),
                changelogs=sorted(topic.name for topic in each.state_changelog_topics),
            )
            for each in found.topology.subtopologies or ()
        }
    )
    members = []
    for each in found.members:
        tasks = _tasks(each.assignment)
        members.append(
            GroupMember(
                *(each.member_id, each.instance_id, each.client_id, each.client_host, _inputs(tasks, topology)),
                *(each.member_epoch, None, tasks, _tasks(each.target_assignment)),
            )
        )
    return GroupDescription(
        *(group, found.group_state, "streams", found.assignor_name or "", node, members, "streams"),
        *(found.group_epoch, found.assignment_epoch, topology),
    )


_OTHERS: dict[str, Callable[[Connection, str, int], Awaitable[GroupDescription]]] = {
    "ConsumerGroupDescribe": _describe_consumer,
    "ShareGroupDescribe": _describe_share,
    "StreamsGroupDescribe": _describe_streams,
}


def _only(groups: list[Any], group: str) -> Any:
    if not groups:
        raise GroupError(f"group {group!r}: the broker's answer leaves it out")
    if groups[0].error_code:
        raise error_for(groups[0].error_code, groups[0].error_message or f"group {group!r}")
    return groups[0]


def _places(assignment: Any) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    ]


def _tasks(assignment: StreamsGroupDescribeResponse.Assignment) -> StreamsTasks:
    def listed(tasks: Iterable[StreamsGroupDescribeResponse.TaskIds]) -> list[tuple[str, int]]:
        return sorted((each.subtopology_id, number) for each in tasks for number in each.partitions)

    return StreamsTasks(
        listed(assignment.active_tasks), listed(assignment.standby_tasks), listed(assignment.warmup_tasks)
    )


def _inputs(tasks: StreamsTasks, topology: dict[str, StreamsSubtopology]) -> list[TopicPartition]:
    """The partitions that the active tasks of a member may read; a topic may have fewer than its subtopology."""
    return sorted(
        TopicPartition(topic, number)
        for subtopology, number in tasks.active
        if subtopology in topology
        for topic in (*topology[subtopology].sources, *topology[subtopology].repartition_sources)
    )
