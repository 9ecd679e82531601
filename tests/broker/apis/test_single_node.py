"""Responses of a cluster of one node to administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask, batch

from kafkawire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    ApiVersionsRequest,
    DescribeAclsRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeQuorumRequest,
    DescribeUserScramCredentialsRequest,
    ElectLeadersRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    OffsetForLeaderEpochRequest,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node


def test_the_versions_are_those_of_the_files(node: Node) -> None:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    listed = {each.api_key: (each.min_version, each.max_version) for each in ask(node, request).api_keys}
    assert listed[0] == (0, 13)
    assert listed[1] == (0, 18)
    assert listed[22] == (0, 5)
    assert listed[26] == (0, 5)
    assert listed[27] == (1, 2)


def test_a_client_must_have_a_speakable_name(node: Node) -> None:
    request = ApiVersionsRequest(client_software_name="-bad-", client_software_version="1")
    assert ask(node, request, 3).error_code == ErrorCode.INVALID_REQUEST
    assert ask(node, request, 2).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("this", 1, ErrorCode.NONE),
        ("this", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("other", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        (None, 1, ErrorCode.INVALID_REQUEST),
        ("this", -1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_wants_another_broker_must_bootstrap_again(
    node: Node, cluster_id: str | None, node_id: int, error: ErrorCode
) -> None:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1", node_id=node_id)
    request.cluster_id = node.cluster_id if cluster_id == "this" else cluster_id
    told = ask(node, request, 5)
    assert told.error_code == error
    assert bool(told.api_keys) == (error == ErrorCode.NONE)
    assert ask(node, request, 4).error_code == ErrorCode.NONE


def test_the_cluster_is_this_broker(node: Node) -> None:
    told = ask(node, DescribeClusterRequest())
    assert [each.broker_id for each in told.brokers] == [told.controller_id] == [1]
    assert ask(node, DescribeClusterRequest(endpoint_type=2), 1).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_the_cluster_keeps_its_id(node: Node, open_node: Callable[..., Node]) -> None:
    before = ask(node, DescribeClusterRequest()).cluster_id
    node.close()
    assert ask(open_node(), DescribeClusterRequest()).cluster_id == before


def test_every_producer_gets_an_id_of_its_own_also_after_a_crash(node: Node, open_node: Callable[..., Node]) -> None:
    given = [ask(node, InitProducerIdRequest(transactional_id=None)).producer_id for _ in range(3)]
    after_crash = ask(open_node(), InitProducerIdRequest(transactional_id=None)).producer_id
    assert len({*given, after_crash}) == 4


def test_without_its_log_the_broker_coordinates_no_transactions(node: Node) -> None:
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    assert ask(node, request, 4).error_code == ErrorCode.NOT_COORDINATOR
    refused = ask(node, InitProducerIdRequest(transactional_id=""), 4)
    assert (refused.error_code, refused.producer_id, refused.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)
    listed = ask(node, ListTransactionsRequest(state_filters=["Ongoing", "Odd"]))
    assert (listed.transaction_states, listed.unknown_state_filters) == ([], ["Odd"])


def test_producers_of_a_partition_are_returned(node: Node) -> None:
    node.append("orders", 0, batch(b"a", b"b", producer_id=9, producer_epoch=2, base_sequence=0))
    topic = DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[0, 7])
    known, unknown = ask(node, DescribeProducersRequest(topics=[topic])).topics[0].partitions
    assert [(each.producer_id, each.producer_epoch, each.last_sequence) for each in known.active_producers] == [
        (9, 2, 1)
    ]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    bad = DescribeProducersRequest.TopicRequest(name="not/good", partition_indexes=[0])
    (refused,) = ask(node, DescribeProducersRequest(topics=[bad])).topics[0].partitions
    assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_TOPIC_EXCEPTION, "not a topic's name")


def test_epochs_end_where_the_next_one_starts(node: Node) -> None:
    node.append("orders", 0, batch(b"a", b"b"))
    node.leader_epoch = 3
    node.append("orders", 0, batch(b"c"))

    def end_of(epoch: int, current: int = -1) -> tuple[int, int, int]:
        wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=0, leader_epoch=epoch, current_leader_epoch=current
        )
        topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="orders", partitions=[wanted])
        found = ask(node, OffsetForLeaderEpochRequest(topics=[topic])).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    assert [end_of(epoch) for epoch in (0, 2, 3, 4)] == [(0, 0, 2), (0, 0, 2), (0, 3, 3), (0, -1, -1)]
    assert end_of(0, current=2)[0] == ErrorCode.FENCED_LEADER_EPOCH


def test_sizes_of_logs_are_returned(node: Node) -> None:
    node.append("orders", 1, batch(b"a" * 100))
    (found,) = ask(node, DescribeLogDirsRequest(topics=None)).results
    sizes = {each.partition_index: each.partition_size for each in found.topics[0].partitions}
    assert sizes == {0: 0, 1: node.log("orders", 1).segments.size}


def test_replicas_stay_in_the_only_directory(node: Node) -> None:
    here, elsewhere = str(node.logs.root), "/nowhere"

    def move(*places: tuple[str, str, int]) -> dict[tuple[str, int], int]:
        dirs = [
            AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=topic, partitions=[index])]
            )
            for path, topic, index in places
        ]
        results = ask(node, AlterReplicaLogDirsRequest(dirs=dirs)).results
        return {
            (each.topic_name, part.partition_index): part.error_code for each in results for part in each.partitions
        }

    not_found, unknown = ErrorCode.LOG_DIR_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move((here, "orders", 0), (here, "orders", 9)) == {("orders", 0): 0, ("orders", 9): unknown}
    assert move((elsewhere, "orders", 0), (elsewhere, "none", 0)) == {("orders", 0): not_found, ("none", 0): not_found}
    assert move((here, "none", 0)) == {("none", 0): unknown}
    assert move((here, "orders", 0), (elsewhere, "orders", 0)) == {("orders", 0): not_found}
    assert move() == {}


def test_no_election_is_needed(node: Node) -> None:
    wanted = ElectLeadersRequest.TopicPartitions(topic="orders", partitions=[0, 9])
    (found,) = ask(node, ElectLeadersRequest(topic_partitions=[wanted])).replica_election_results
    assert [each.error_code for each in found.partition_result] == [ErrorCode.ELECTION_NOT_NEEDED, 3]
    assert ask(node, ElectLeadersRequest(topic_partitions=None)).replica_election_results == []


def test_partitions_stay(node: Node) -> None:
    wanted = [
        AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=0, replicas=replicas)
        for replicas in ([1], [2], None)
    ]
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic(name="orders", partitions=wanted)
    (found,) = ask(node, AlterPartitionReassignmentsRequest(topics=[topic])).responses
    assert [each.error_code for each in found.partitions] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    ]


def test_there_are_no_acls(node: Node) -> None:
    anything = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    assert ask(node, anything).error_code == ErrorCode.SECURITY_DISABLED


def test_the_quorum_is_this_node(node: Node) -> None:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    (found,) = ask(node, DescribeQuorumRequest(topics=[topic])).topics[0].partitions
    assert (found.leader_id, [each.replica_id for each in found.current_voters]) == (1, [1])


def test_no_user_has_credentials(node: Node) -> None:
    assert ask(node, DescribeUserScramCredentialsRequest(users=None)).results == []
    named = DescribeUserScramCredentialsRequest.UserName(name="alice")
    (result,) = ask(node, DescribeUserScramCredentialsRequest(users=[named])).results
    assert (result.user, result.error_code) == ("alice", ErrorCode.RESOURCE_NOT_FOUND)
