"""Requests that name something twice, beside those of `questions`.

Apache Kafka answers some names once, refuses others, and answers the rest as often as they occur. Requests of the last
kind are missing here where the answer is much larger than the name: our broker answers those once (see the heads of
`broker/apis/describe_configs.py`, `describe_groups.py`, `describe_producers.py`, `find_coordinator.py` and
`offset_fetch.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interop.questions import GROUP, NOWHERE, ORDERS, metadata
from tests.interop.questions_of_administrators import partitions

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message


def list_offsets(*places: tuple[str, int]) -> Message:
    topics = [
        m.ListOffsetsRequest.ListOffsetsTopic(
            name=name, partitions=[m.ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1)]
        )
        for name, index in places
    ]
    return m.ListOffsetsRequest(topics=topics)


def fetch(version: int, *offsets: int, name: str = ORDERS) -> Message:
    """Read one partition from several offsets at once."""
    places = [m.FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=10_000) for offset in offsets]
    topic = m.FetchRequest.FetchTopic(topic=name, partitions=places)
    if version >= 13:
        topic = m.FetchRequest.FetchTopic(partitions=places)
    return m.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=100_000, topics=[topic])


def epochs(*places: tuple[str, int]) -> Message:
    topics = [
        m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
            topic=name, partitions=[m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=index)]
        )
        for name, index in places
    ]
    return m.OffsetForLeaderEpochRequest(topics=topics)


def cut(name: str, *offsets: int) -> Message:
    places = [m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset) for offset in offsets]
    topic = m.DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=places)
    return m.DeleteRecordsRequest(topics=[topic], timeout_ms=10_000)


def directories(*names: str) -> Message:
    wanted = m.DescribeLogDirsRequest.DescribableLogDirTopic
    return m.DescribeLogDirsRequest(topics=[wanted(topic=name, partitions=[0, 1, 0]) for name in names])


def elect(*names: str) -> Message:
    topics = [m.ElectLeadersRequest.TopicPartitions(topic=name, partitions=[0, 0]) for name in names]
    return m.ElectLeadersRequest(topic_partitions=topics, timeout_ms=10_000)


def reassign(*names: str) -> Message:
    place = m.AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=0, replicas=None)
    topics = [m.AlterPartitionReassignmentsRequest.ReassignableTopic(name=name, partitions=[place]) for name in names]
    return m.AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=10_000)


def commit(*offsets: int) -> Message:
    kind = m.OffsetCommitRequest.OffsetCommitRequestPartition
    places = [kind(partition_index=0, committed_offset=offset) for offset in offsets]
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name=ORDERS, partitions=places)
    return m.OffsetCommitRequest(group_id="same-repeated", topics=[topic])


def committed(version: int) -> Message:
    if version >= 8:
        topics = [m.OffsetFetchRequest.OffsetFetchRequestTopics(name=ORDERS, partition_indexes=[0])]
        group = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="same-repeated", topics=topics)
        return m.OffsetFetchRequest(groups=[group])
    topic = m.OffsetFetchRequest.OffsetFetchRequestTopic(name=ORDERS, partition_indexes=[0])
    return m.OffsetFetchRequest(group_id="same-repeated", topics=[topic])


def forget(*indexes: int) -> Message:
    places = [m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
    topic = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name=ORDERS, partitions=places)
    return m.OffsetDeleteRequest(group_id="same-repeated", topics=[topic])


def quorum(*indexes: int) -> Message:
    places = [m.DescribeQuorumRequest.PartitionData(partition_index=index) for index in indexes]
    topic = m.DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=places)
    return m.DescribeQuorumRequest(topics=[topic])


def credentials(*names: str) -> Message:
    users = [m.DescribeUserScramCredentialsRequest.UserName(name=name) for name in names]
    return m.DescribeUserScramCredentialsRequest(users=users)


def leave(*names: str) -> Message:
    members = [m.LeaveGroupRequest.MemberIdentity(member_id=name) for name in names]
    return m.LeaveGroupRequest(group_id=GROUP, members=members)


QUESTIONS: dict[str, Callable[[int], Message]] = {
    "metadata of a topic twice": lambda version: metadata(ORDERS, NOWHERE, ORDERS, NOWHERE),
    "partitions of a topic twice": lambda version: partitions(ORDERS, NOWHERE, ORDERS, NOWHERE),
    "offsets of a partition twice": lambda version: list_offsets((ORDERS, 0), (ORDERS, 1), (ORDERS, 0), (ORDERS, 0)),
    "offsets of an unknown partition twice": lambda version: list_offsets((NOWHERE, 0), (NOWHERE, 0)),
    "fetch a partition twice": lambda version: fetch(version, 0, 3),
    "fetch a partition twice, well and badly": lambda version: fetch(version, 0, 99),
    "fetch an unknown partition twice": lambda version: fetch(version, 0, 3, name=NOWHERE),
    "epochs of a partition twice": lambda version: epochs((ORDERS, 0), (NOWHERE, 0), (ORDERS, 0), (NOWHERE, 0)),
    "delete records of a partition twice": lambda version: cut(ORDERS, 0, 99),
    "delete records of a partition twice, badly first": lambda version: cut(ORDERS, 99, 0),
    "delete records of an unknown partition twice": lambda version: cut(NOWHERE, 0, 0),
    "directories of a topic twice": lambda version: directories(ORDERS, ORDERS),
    "elect twice": lambda version: elect(ORDERS, ORDERS),
    "elect twice where there is nothing": lambda version: elect(NOWHERE, NOWHERE),
    "take back a reassignment twice": lambda version: reassign(ORDERS, ORDERS, NOWHERE, NOWHERE),
    "commit twice": lambda version: commit(3, 2),
    "committed offset after two": committed,
    "forget an offset twice": lambda version: forget(0, 0, 9, 9),
    "delete a group twice": lambda version: m.DeleteGroupsRequest(groups_names=["same-nobody", "same-nobody"]),
    "the quorum twice": lambda version: quorum(0, 0),
    "the quorum of another partition": lambda version: quorum(0, 1),
    "credentials of a user": lambda version: credentials("same-user"),
    "credentials of a user twice": lambda version: credentials("same-user", "same-other", "same-user"),
    "transactions in a state that is none": lambda version: m.ListTransactionsRequest(
        state_filters=["Nope", "Ongoing", "Nope"]
    ),
    "leave twice": lambda version: leave("nobody", "nobody"),
    "groups in a state twice": lambda version: m.ListGroupsRequest(states_filter=["Nope", "Nope"]),
    "config resources of a type twice": lambda version: m.ListConfigResourcesRequest(resource_types=[4, 4]),
}
