"""A name that occurs more than once in a request: answered once, unless Apache Kafka's answer is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask, batch

from kafkawire import messages as m
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import Message


def config(name: str, *keys: str) -> m.DescribeConfigsRequest.DescribeConfigsResource:
    return m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2, resource_name=name, configuration_keys=[*keys] or None
    )


def producers(*indexes: int) -> Message:
    topic = m.DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[*indexes])
    return m.DescribeProducersRequest(topics=[topic, topic])


def offsets(*groups: str) -> Message:
    wanted = m.OffsetFetchRequest.OffsetFetchRequestGroup
    return m.OffsetFetchRequest(groups=[wanted(group_id=name, topics=None) for name in groups])


@pytest.mark.parametrize(
    ("request_", "version", "names"),
    [
        (m.DescribeConfigsRequest(resources=[config("orders")] * 3), 4, lambda a: [e.resource_name for e in a.results]),
        (m.DescribeGroupsRequest(groups=["orders"] * 3), 6, lambda a: [e.group_id for e in a.groups]),
        (offsets("orders", "orders"), 9, lambda a: [e.group_id for e in a.groups]),
        (m.FindCoordinatorRequest(coordinator_keys=["orders"] * 3), 6, lambda a: [e.key for e in a.coordinators]),
        (producers(0, 0), 0, lambda a: [t.name for t in a.topics for _ in t.partitions]),
    ],
    ids=["DescribeConfigs", "DescribeGroups", "OffsetFetch", "FindCoordinator", "DescribeProducers"],
)
def test_a_large_answer_is_given_once(node: Node, request_: Message, version: int, names: Any) -> None:
    assert names(ask(node, request_, version)) == ["orders"]


def test_the_keys_of_a_repeated_resource_are_all_described(node: Node) -> None:
    resources = [config("orders", "retention.ms", "no.such"), config("orders", "segment.bytes")]
    (result,) = ask(node, m.DescribeConfigsRequest(resources=resources)).results
    assert [each.name for each in result.configs] == ["retention.ms", "segment.bytes"]
    (whole,) = ask(node, m.DescribeConfigsRequest(resources=[*resources, config("orders")])).results
    assert len(whole.configs) > 20


def test_a_partition_is_read_as_its_last_occurrence_asks(node: Node) -> None:
    for value in (b"a", b"b"):
        node.append("orders", 0, batch(value))
    places = [m.FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=10_000) for offset in (0, 1)]
    topic = m.FetchRequest.FetchTopic(topic="orders", partitions=places)
    (found,) = ask(node, m.FetchRequest(max_bytes=10_000, topics=[topic]), 11).responses[0].partitions
    assert found.records is not None
    assert int.from_bytes(found.records[:8], "big") == 1


def test_the_error_of_a_partition_does_not_repeat_a_long_name(node: Node) -> None:
    long = "x" * 30_000
    elect = m.ElectLeadersRequest.TopicPartitions(topic=long, partitions=[*range(1_000)])
    (elected,) = ask(node, m.ElectLeadersRequest(topic_partitions=[elect])).replica_election_results
    assert {(each.error_code, len(each.error_message or "") < 100) for each in elected.partition_result} == {
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    }


def test_offsets_of_a_partition_that_is_not_there_are_not_deleted(node: Node) -> None:
    place = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[place])
    ask(node, m.OffsetCommitRequest(group_id="readers", topics=[topic]), 8)
    wanted = [m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=index) for index in (0, 9, 9)]
    gone = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name="orders", partitions=wanted)
    (answered,) = ask(node, m.OffsetDeleteRequest(group_id="readers", topics=[gone])).topics
    assert [each.error_code for each in answered.partitions] == [0, 3, 3]


def test_a_member_has_a_hundred_protocols_at_most(node: Node) -> None:
    protocols = [m.JoinGroupRequest.JoinGroupRequestProtocol(name=f"p{number}") for number in range(101)]
    join = m.JoinGroupRequest(
        group_id="readers", session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols
    )
    assert ask(node, join).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
