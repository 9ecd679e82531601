"""ConsumerGroupHeartbeat, ConsumerGroupDescribe, and the other APIs about consumer groups, over a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.broker._metadata.features import FeatureUpdate
from kafkawire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node


def beat(talk: Talk, member_id: str, epoch: int, *, version: int = 1, **said: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, **said)
    return talk.ask(request, version)


def join(talk: Talk, member_id: str = "a", **said: Any) -> Any:
    given = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": [], **said}
    return beat(talk, member_id, 0, **given)


def test_member_joins_and_is_described(talk: Talk) -> None:
    topic = talk.node.topics.get("orders")
    joined = join(talk, instance_id="one", rack_id="r1")
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "a", 2)
    assert joined.heartbeat_interval_ms == 5_000
    (assigned,) = joined.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic.id, [0, 1])
    (group,) = talk.ask(ConsumerGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=True), 1).groups
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 2, 2)
    assert (group.assignor_name, group.authorized_operations) == ("uniform", 3400)
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("a", "one", "r1", 2)
    assert (member.subscribed_topic_names, member.subscribed_topic_regex, member.member_type) == (["orders"], "", 1)
    for assignment in (member.assignment, member.target_assignment):
        (part,) = assignment.topic_partitions
        assert (part.topic_id, part.topic_name, part.partitions) == (topic.id, "orders", [0, 1])


def test_describe_of_no_group_of_another_kind_and_of_no_name(talk: Talk) -> None:
    talk.join()
    missing, classic, nameless = talk.ask(ConsumerGroupDescribeRequest(group_ids=["none", GROUP, ""]), 1).groups
    assert (missing.error_code, missing.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.")
    assert classic.error_message == f"Group {GROUP} is not a consumer group."
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID


def test_other_apis_know_the_kind_of_the_group(talk: Talk) -> None:
    join(talk)
    (listed,) = talk.ask(ListGroupsRequest(types_filter=["Consumer"]), 5).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state) == (GROUP, "consumer", "Stable")
    assert not talk.ask(ListGroupsRequest(types_filter=["classic"]), 5).groups
    (described,) = talk.ask(DescribeGroupsRequest(groups=[GROUP]), 6).groups
    assert (described.error_code, described.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert described.error_message == f"Group {GROUP} is not a classic group."
    (described,) = talk.ask(DescribeGroupsRequest(groups=[GROUP]), 5).groups
    assert (described.error_code, described.group_state) == (0, "Dead")
    (deleted,) = talk.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2).results
    assert deleted.error_code == ErrorCode.NON_EMPTY_GROUP


def test_offsets_need_the_epoch_of_the_member(talk: Talk) -> None:
    topic = talk.node.topics.get("orders")
    join(talk)
    kind = OffsetCommitRequest

    def commit(epoch: int, version: int = 9) -> int:
        place = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        topics = [kind.OffsetCommitRequestTopic(name="orders", topic_id=topic.id, partitions=[place])]
        request = kind(group_id=GROUP, member_id="a", generation_id_or_member_epoch=epoch, topics=topics)
        return int(talk.ask(request, version).topics[0].partitions[0].error_code)

    assert [commit(2), commit(2, 10), commit(3), commit(2, 8)] == [0, 0, 113, 35]
    fetch = OffsetFetchRequest.OffsetFetchRequestGroup

    def fetched(member_id: str | None, epoch: int) -> int:
        group = fetch(group_id=GROUP, member_id=member_id, member_epoch=epoch, topics=None)
        return int(talk.ask(OffsetFetchRequest(groups=[group]), 9).groups[0].error_code)

    assert [fetched(None, -1), fetched("a", 2), fetched("a", 1), fetched("b", 2)] == [0, 0, 113, 25]


def test_refusals_have_a_message(talk: Talk) -> None:
    refused = join(talk, server_assignor="sticky")
    assert refused.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert refused.error_message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."
    refused = join(talk, subscribed_topic_names=None, subscribed_topic_regex="(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_regular_expression_is_resolved_after_the_answer(talk: Talk) -> None:
    talk.node.create_topic("orders-1", 1)
    talk.node.create_topic("other", 1)
    joined = join(talk, subscribed_topic_names=None, subscribed_topic_regex="orders-.*")
    assert (joined.member_epoch, joined.assignment.topic_partitions) == (1, [])
    found = beat(talk, "a", 1)
    assert found.member_epoch == 2
    assert len(found.assignment.topic_partitions) == 1


def test_feature_turned_off_refuses_the_protocol(talk: Talk) -> None:
    talk.node.changes.run_now(
        talk.node.changes.feature_levels({"group.version": FeatureUpdate(0, 2)}, validate_only=False)
    )
    assert join(talk).error_code == ErrorCode.UNSUPPORTED_VERSION
    (group,) = talk.ask(ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1).groups
    assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


def alter(talk: Talk, name: str, value: str | None, group: str = GROUP) -> int:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = IncrementalAlterConfigsRequest.AlterableConfig(
        name=name, value=value, config_operation=1 if value is None else 0
    )
    resource = kind(resource_type=32, resource_name=group, configs=[config])
    return int(talk.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code)


def test_group_has_its_own_settings(talk: Talk) -> None:
    assert alter(talk, "consumer.heartbeat.interval.ms", "6000") == 0
    assert join(talk).heartbeat_interval_ms == 6_000
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=32, resource_name=GROUP, configuration_keys=None
    )
    (found,) = talk.ask(DescribeConfigsRequest(resources=[asked]), 4).results
    values = {each.name: (each.value, each.config_source) for each in found.configs}
    assert values["consumer.heartbeat.interval.ms"] == ("6000", 8)
    assert values["consumer.session.timeout.ms"] == ("45000", 5)
    (listed,) = talk.ask(ListConfigResourcesRequest(resource_types=[32]), 1).config_resources
    assert (listed.resource_name, listed.resource_type) == (GROUP, 32)
    assert alter(talk, "consumer.heartbeat.interval.ms", None) == 0
    assert join(talk).heartbeat_interval_ms == 5_000


@pytest.mark.parametrize(
    ("name", "value", "group", "error"),
    [
        ("consumer.heartbeat.interval.ms", "1", GROUP, ErrorCode.INVALID_CONFIG),
        ("consumer.session.timeout.ms", "70000", GROUP, ErrorCode.INVALID_CONFIG),
        ("consumer.session.timeout.ms", "long", GROUP, ErrorCode.INVALID_CONFIG),
        ("retention.ms", "1", GROUP, ErrorCode.INVALID_CONFIG),
        ("consumer.session.timeout.ms", "45000", "", ErrorCode.INVALID_REQUEST),
    ],
)
def test_setting_that_no_group_can_have_is_refused(talk: Talk, name: str, value: str, group: str, error: int) -> None:
    assert alter(talk, name, value, group) == error
    assert not talk.node.group_configs.own


def test_group_and_its_settings_survive_a_kill(talk: Talk, open_node: Callable[..., Node]) -> None:
    join(talk)
    alter(talk, "consumer.session.timeout.ms", "50000")
    talk.node = open_node(offsets_topic_num_partitions="3")
    talk.node.start()
    assert beat(talk, "a", 2).error_code == 0
    assert talk.node.group_configs.own == {GROUP: {"consumer.session.timeout.ms": "50000"}}


def test_silent_member_is_gone_after_its_session(talk: Talk) -> None:
    join(talk)
    talk.turn(45_001)
    assert beat(talk, "a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
