"""Groups of the new protocol (KIP-848), which the admin client describes though the consumer does not join them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.scripted_broker import ScriptedBroker

from kafkawire.client import Admin, GroupDescription, GroupMember, TopicPartition
from kafkawire.messages import ConsumerGroupDescribeResponse, DescribeGroupsResponse, FindCoordinatorResponse
from kafkawire.messages.errors import GroupIdNotFoundError

NOT_FOUND = 69


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


@pytest.mark.parametrize("modern", [{}, {"ConsumerGroupDescribe": modern_group}])
def test_a_group_of_neither_kind_raises_the_first_error_of_the_broker(modern: dict[str, Any]) -> None:
    with pytest.raises(GroupIdNotFoundError, match="no classic"):
        described("nowhere", **modern)
