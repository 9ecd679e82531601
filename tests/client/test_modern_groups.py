"""Groups of every type, as the admin client describes them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.scripted_broker import ScriptedBroker

from kafkawire.client import (
    Admin,
    GroupDescription,
    GroupMember,
    StreamsSubtopology,
    StreamsTasks,
    TopicPartition,
)
from kafkawire.messages import (
    ConsumerGroupDescribeResponse,
    DescribeGroupsResponse,
    FindCoordinatorResponse,
    ShareGroupDescribeResponse,
    StreamsGroupDescribeResponse,
)
from kafkawire.messages.errors import GroupIdNotFoundError

NOT_FOUND = 69
UNSUPPORTED_VERSION = 35


def coordinator(request: Any, version: int) -> FindCoordinatorResponse:
    (key,) = request.coordinator_keys
    return FindCoordinatorResponse(
        coordinators=[FindCoordinatorResponse.Coordinator(key=key, node_id=0, host="127.0.0.1", port=1)]
    )


def no_classic_group(request: Any, version: int) -> DescribeGroupsResponse:
    (group,) = request.groups
    return DescribeGroupsResponse(
        groups=[DescribeGroupsResponse.DescribedGroup(group_id=group, error_code=NOT_FOUND, error_message="no classic")]
    )


def modern_group(request: Any, version: int) -> ConsumerGroupDescribeResponse:
    (group,) = request.group_ids
    if group != "modern":
        missing = ConsumerGroupDescribeResponse.DescribedGroup(group_id=group, error_code=NOT_FOUND)
        return ConsumerGroupDescribeResponse(groups=[missing])
    places = [ConsumerGroupDescribeResponse.TopicPartitions(topic_name="t", partitions=[0, 2])]
    member = ConsumerGroupDescribeResponse.Member(
        member_id="m",
        client_id="c",
        client_host="/h",
        assignment=ConsumerGroupDescribeResponse.Assignment(topic_partitions=places),
    )
    found = ConsumerGroupDescribeResponse.DescribedGroup(
        group_id=group, group_state="Stable", assignor_name="uniform", members=[member]
    )
    return ConsumerGroupDescribeResponse(groups=[found])


def described(group: str, **modern: Any) -> GroupDescription:
    async def main() -> GroupDescription:
        handlers = {"FindCoordinator": coordinator, "DescribeGroups": no_classic_group, **modern}
        async with ScriptedBroker(handlers) as fake, Admin(bootstrap_servers=fake.bootstrap) as admin:
            (found,) = await admin.describe_groups([group])
            return found

    return asyncio.run(main())


def test_a_group_that_is_not_classic_is_described_as_one_of_the_new_protocol() -> None:
    places = [TopicPartition("t", 0), TopicPartition("t", 2)]
    member = GroupMember("m", None, "c", "/h", places, epoch=0, target=[])
    expected = GroupDescription(
        "modern", "Stable", "consumer", "uniform", 0, [member], "consumer", epoch=0, assignment_epoch=0
    )
    assert described("modern", ConsumerGroupDescribe=modern_group) == expected


def share_group(request: Any, version: int) -> ShareGroupDescribeResponse:
    places = [ShareGroupDescribeResponse.TopicPartitions(topic_name="t", partitions=[1])]
    member = ShareGroupDescribeResponse.Member(
        member_id="m",
        member_epoch=4,
        client_id="c",
        client_host="/h",
        assignment=ShareGroupDescribeResponse.Assignment(topic_partitions=places),
    )
    found = ShareGroupDescribeResponse.DescribedGroup(
        group_id="shared",
        group_state="Stable",
        group_epoch=5,
        assignment_epoch=4,
        assignor_name="simple",
        members=[member],
    )
    return ShareGroupDescribeResponse(groups=[found])


def streams_group(request: Any, version: int) -> StreamsGroupDescribeResponse:
    response = StreamsGroupDescribeResponse
    tasks = response.Assignment(
        active_tasks=[response.TaskIds(subtopology_id="0", partitions=[1, 0])],
        standby_tasks=[response.TaskIds(subtopology_id="1", partitions=[2])],
    )
    member = response.Member(
        member_id="m", member_epoch=3, client_id="c", client_host="/h", assignment=tasks, target_assignment=tasks
    )
    topology = response.Topology(
        epoch=0,
        subtopologies=[
            response.Subtopology(
                subtopology_id="0",
                source_topics=["in"],
                repartition_source_topics=[response.TopicInfo(name="re")],
                state_changelog_topics=[response.TopicInfo(name="log")],
            )
        ],
    )
    found = response.DescribedGroup(
        group_id="flow", group_state="Stable", group_epoch=3, assignment_epoch=3, topology=topology, members=[member]
    )
    return response(groups=[found])


def unsupported(request: Any, version: int) -> ConsumerGroupDescribeResponse:
    (group,) = request.group_ids
    found = ConsumerGroupDescribeResponse.DescribedGroup(group_id=group, error_code=UNSUPPORTED_VERSION)
    return ConsumerGroupDescribeResponse(groups=[found])


@pytest.mark.parametrize("consumer", [modern_group, unsupported])
def test_a_share_group_is_described_with_its_epochs(consumer: Any) -> None:
    member = GroupMember("m", None, "c", "/h", [TopicPartition("t", 1)], epoch=4)
    expected = GroupDescription(
        "shared", "Stable", "share", "simple", 0, [member], "share", epoch=5, assignment_epoch=4
    )
    assert described("shared", ConsumerGroupDescribe=consumer, ShareGroupDescribe=share_group) == expected


def test_a_streams_group_is_described_with_its_tasks_and_the_partitions_that_they_read() -> None:
    found = described("flow", StreamsGroupDescribe=streams_group)
    (member,) = found.members
    assert (found.type, found.epoch) == ("streams", 3)
    assert found.topology == {"0": StreamsSubtopology(["in"], ["re"], ["log"])}
    assert member.tasks == StreamsTasks([("0", 0), ("0", 1)], [("1", 2)], [])
    assert [str(place) for place in member.assignment] == ["in-0", "in-1", "re-0", "re-1"]


@pytest.mark.parametrize("modern", [{}, {"ConsumerGroupDescribe": modern_group}])
def test_a_group_of_neither_kind_raises_the_first_error_of_the_broker(modern: dict[str, Any]) -> None:
    with pytest.raises(GroupIdNotFoundError, match="no classic"):
        described("nowhere", **modern)
