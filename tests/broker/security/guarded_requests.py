"""One request for every API that needs a permission, about a topic, a group and a transactional id that exist or not.

Rules:
- A request takes the names that it is about, so that the same question can be asked about things that do not exist.
- `CASES` has a case for every API with a row of needs; the test of the table fails for one that is missing. A key is
  the name of the API, with words behind it for a second case of it.
- `hides` says that the answers about existing and missing names must be equal if the client has no permission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from tests.broker.node_requests import batch

from kafkawire import messages as m
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message


class Names(NamedTuple):
    """The things that a request is about."""

    topic: str
    group: str
    transaction: str
    topic_id: UUID = UUID(int=0)


class Case(NamedTuple):
    """A request, the version that it is asked in, and what its denial looks like."""

    request: Callable[[Names], Message]
    version: int | None = None
    hides: bool = True
    alternatives: frozenset[tuple[int, int]] = frozenset()
    """Needs of which one is enough, so that taking one away changes nothing."""


def rows(kind: Any, names: Names, field: str = "name", **fields: Any) -> list[Any]:
    return [kind(**{field: names.topic}, **fields)]


def joined_streams(names: Names) -> Message:
    """The first heartbeat of an application that reads a topic, and needs a changelog."""
    kind = m.StreamsGroupHeartbeatRequest
    part = kind.Subtopology(
        subtopology_id="0",
        source_topics=[names.topic],
        state_changelog_topics=[kind.TopicInfo(name=f"{names.topic}-changelog")],
    )
    return kind(
        group_id=names.group,
        member_id="m",
        rebalance_timeout_ms=1000,
        topology=kind.Topology(epoch=0, subtopologies=[part]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
    )


PARTITION = m.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
COMMIT = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
IN_TRANSACTION = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
DATA = m.ProduceRequest.PartitionProduceData(index=0, records=batch(b"v"))
TRANSACTIONAL = m.ProduceRequest.PartitionProduceData(
    index=0, records=batch(b"v", producer_id=0, producer_epoch=0, base_sequence=0, is_transactional=True)
)
CONFIG = m.AlterConfigsRequest.AlterableConfig(name="retention.ms", value="1000000")
INCREMENT = m.IncrementalAlterConfigsRequest.AlterableConfig(name="retention.ms", value="1000000")
EITHER = frozenset({(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER), (Operation.WRITE, ResourceType.TOPIC)})

CASES: dict[str, Case] = {
    "Produce": Case(
        lambda names: m.ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=rows(m.ProduceRequest.TopicProduceData, names, partition_data=[DATA]),
        ),
        9,
        alternatives=frozenset({(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)}),
    ),
    "Produce of a transaction": Case(
        lambda names: m.ProduceRequest(
            acks=1,
            timeout_ms=1000,
            transactional_id=names.transaction,
            topic_data=rows(m.ProduceRequest.TopicProduceData, names, partition_data=[TRANSACTIONAL]),
        ),
        9,
    ),
    "Fetch of a replica": Case(
        lambda names: m.FetchRequest(
            replica_id=1,
            max_wait_ms=0,
            max_bytes=1000,
            topics=rows(
                m.FetchRequest.FetchTopic,
                names,
                "topic",
                partitions=[m.FetchRequest.FetchPartition(partition=0, partition_max_bytes=1000)],
            ),
        ),
        11,
        alternatives=frozenset({(Operation.READ, ResourceType.TOPIC)}),
    ),
    "Fetch": Case(
        lambda names: m.FetchRequest(
            max_wait_ms=0,
            max_bytes=1000,
            topics=rows(
                m.FetchRequest.FetchTopic,
                names,
                "topic",
                partitions=[m.FetchRequest.FetchPartition(partition=0, partition_max_bytes=1000)],
            ),
        ),
        11,
        alternatives=frozenset({(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)}),
    ),
    "ListOffsets": Case(
        lambda names: m.ListOffsetsRequest(
            topics=rows(m.ListOffsetsRequest.ListOffsetsTopic, names, partitions=[PARTITION])
        ),
        7,
    ),
    "Metadata": Case(
        lambda names: m.MetadataRequest(
            topics=rows(m.MetadataRequest.MetadataRequestTopic, names),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        ),
        10,
        alternatives=frozenset({(Operation.CREATE, ResourceType.TOPIC)}),
    ),
    "Metadata that creates": Case(
        lambda names: m.MetadataRequest(
            topics=[m.MetadataRequest.MetadataRequestTopic(name=f"{names.topic}-new")], allow_auto_topic_creation=True
        ),
        10,
        alternatives=frozenset({(Operation.DESCRIBE, ResourceType.CLUSTER)}),
    ),
    "OffsetCommit": Case(
        lambda names: m.OffsetCommitRequest(
            group_id=names.group,
            topics=rows(m.OffsetCommitRequest.OffsetCommitRequestTopic, names, partitions=[COMMIT]),
        ),
        9,
    ),
    "OffsetFetch": Case(
        lambda names: m.OffsetFetchRequest(
            groups=[
                m.OffsetFetchRequest.OffsetFetchRequestGroup(
                    group_id=names.group,
                    topics=rows(m.OffsetFetchRequest.OffsetFetchRequestTopics, names, partition_indexes=[0]),
                )
            ]
        ),
        9,
    ),
    "FindCoordinator": Case(
        lambda names: m.FindCoordinatorRequest(key_type=0, coordinator_keys=[names.group]),
        alternatives=frozenset(
            {(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID), (Operation.CLUSTER_ACTION, ResourceType.CLUSTER)}
        ),
    ),
    "FindCoordinator of a transaction": Case(
        lambda names: m.FindCoordinatorRequest(key_type=1, coordinator_keys=[names.transaction]),
        alternatives=frozenset(
            {(Operation.DESCRIBE, ResourceType.GROUP), (Operation.CLUSTER_ACTION, ResourceType.CLUSTER)}
        ),
    ),
    "JoinGroup": Case(
        lambda names: m.JoinGroupRequest(
            group_id=names.group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
    ),
    "Heartbeat": Case(lambda names: m.HeartbeatRequest(group_id=names.group, generation_id=1, member_id="a")),
    "LeaveGroup": Case(lambda names: m.LeaveGroupRequest(group_id=names.group)),
    "SyncGroup": Case(
        lambda names: m.SyncGroupRequest(
            group_id=names.group, generation_id=1, member_id="a", protocol_type="consumer", protocol_name="range"
        )
    ),
    "DescribeGroups": Case(
        lambda names: m.DescribeGroupsRequest(groups=[names.group], include_authorized_operations=True)
    ),
    "ListGroups": Case(lambda names: m.ListGroupsRequest(), hides=False),
    "CreateTopics": Case(
        lambda names: m.CreateTopicsRequest(
            topics=rows(m.CreateTopicsRequest.CreatableTopic, names, num_partitions=1, replication_factor=1),
            timeout_ms=1000,
            validate_only=True,
        ),
        alternatives=frozenset({(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)}),  # the topic exists
    ),
    "CreateTopics that do not exist": Case(
        lambda names: m.CreateTopicsRequest(
            topics=[
                m.CreateTopicsRequest.CreatableTopic(name=f"{names.topic}-new", num_partitions=1, replication_factor=1)
            ],
            timeout_ms=1000,
            validate_only=True,
        ),
    ),
    "DeleteTopics": Case(
        lambda names: m.DeleteTopicsRequest(
            topics=rows(m.DeleteTopicsRequest.DeleteTopicState, names), timeout_ms=10_000
        ),
        alternatives=frozenset({(Operation.DESCRIBE, ResourceType.TOPIC)}),  # DELETE implies it
    ),
    "DeleteRecords": Case(
        lambda names: m.DeleteRecordsRequest(
            topics=rows(
                m.DeleteRecordsRequest.DeleteRecordsTopic,
                names,
                partitions=[m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=0)],
            )
        )
    ),
    "InitProducerId": Case(
        lambda names: m.InitProducerIdRequest(transactional_id=None), hides=False, alternatives=EITHER | {(4, 5)}
    ),
    "InitProducerId of a transaction": Case(
        lambda names: m.InitProducerIdRequest(transactional_id=names.transaction, transaction_timeout_ms=1000),
        4,
        alternatives=EITHER,
    ),
    "OffsetForLeaderEpoch": Case(
        lambda names: m.OffsetForLeaderEpochRequest(
            topics=rows(
                m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic,
                names,
                "topic",
                partitions=[m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)],
            )
        )
    ),
    "AddPartitionsToTxn": Case(
        lambda names: m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=names.transaction,
            v3_and_below_topics=rows(m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, names, partitions=[0]),
        ),
        3,
        alternatives=frozenset({(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)}),
    ),
    "AddPartitionsToTxn of a broker": Case(
        lambda names: m.AddPartitionsToTxnRequest(
            transactions=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                    transactional_id=names.transaction,
                    topics=rows(m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, names, partitions=[0]),
                )
            ]
        ),
        4,
        alternatives=frozenset(
            {(Operation.WRITE, ResourceType.TRANSACTIONAL_ID), (Operation.WRITE, ResourceType.TOPIC)}
        ),
    ),
    "AddOffsetsToTxn": Case(
        lambda names: m.AddOffsetsToTxnRequest(transactional_id=names.transaction, group_id=names.group)
    ),
    "EndTxn": Case(lambda names: m.EndTxnRequest(transactional_id=names.transaction, producer_id=1, producer_epoch=0)),
    "WriteTxnMarkers": Case(
        lambda names: m.WriteTxnMarkersRequest(
            markers=[
                m.WriteTxnMarkersRequest.WritableTxnMarker(
                    producer_id=1,
                    topics=rows(m.WriteTxnMarkersRequest.WritableTxnMarkerTopic, names, partition_indexes=[9]),
                )
            ]
        )
    ),
    "TxnOffsetCommit": Case(
        lambda names: m.TxnOffsetCommitRequest(
            transactional_id=names.transaction,
            group_id=names.group,
            producer_id=1,
            topics=rows(m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic, names, partitions=[IN_TRANSACTION]),
        ),
        5,
    ),
    "DescribeAcls": Case(
        lambda names: m.DescribeAclsRequest(
            resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
        ),
        hides=False,
    ),
    "CreateAcls": Case(
        lambda names: m.CreateAclsRequest(
            creations=[
                m.CreateAclsRequest.AclCreation(
                    resource_type=2,
                    resource_name="new",
                    principal="User:x",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        ),
        hides=False,
    ),
    "DeleteAcls": Case(
        lambda names: m.DeleteAclsRequest(
            filters=[
                m.DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter="none",
                    pattern_type_filter=3,
                    operation=1,
                    permission_type=1,
                )
            ]
        ),
        hides=False,
    ),
    "DescribeConfigs": Case(
        lambda names: m.DescribeConfigsRequest(
            resources=[
                m.DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=[key]
                )
                for kind, name, key in (
                    (2, names.topic, "retention.ms"),
                    (32, names.group, "consumer.session.timeout.ms"),
                    (4, "", "num.partitions"),
                )
            ]
        )
    ),
    "AlterConfigs": Case(
        lambda names: m.AlterConfigsRequest(
            resources=[
                m.AlterConfigsRequest.AlterConfigsResource(
                    resource_type=2, resource_name=names.topic, configs=[CONFIG]
                ),
                m.AlterConfigsRequest.AlterConfigsResource(resource_type=32, resource_name=names.group, configs=[]),
                m.AlterConfigsRequest.AlterConfigsResource(resource_type=4, resource_name="", configs=[]),
            ],
            validate_only=True,
        )
    ),
    "AlterReplicaLogDirs": Case(
        lambda names: m.AlterReplicaLogDirsRequest(
            dirs=[
                m.AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path="/data",
                    topics=rows(m.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic, names, partitions=[0]),
                )
            ]
        )
    ),
    "DescribeLogDirs": Case(lambda names: m.DescribeLogDirsRequest(topics=None)),
    "CreatePartitions": Case(
        lambda names: m.CreatePartitionsRequest(
            topics=rows(m.CreatePartitionsRequest.CreatePartitionsTopic, names, count=9, assignments=None),
            timeout_ms=10_000,
            validate_only=True,
        )
    ),
    "DeleteGroups": Case(lambda names: m.DeleteGroupsRequest(groups_names=[names.group])),
    "ElectLeaders": Case(
        lambda names: m.ElectLeadersRequest(
            topic_partitions=rows(m.ElectLeadersRequest.TopicPartitions, names, "topic", partitions=[0])
        )
    ),
    "IncrementalAlterConfigs": Case(
        lambda names: m.IncrementalAlterConfigsRequest(
            resources=[
                m.IncrementalAlterConfigsRequest.AlterConfigsResource(
                    resource_type=2, resource_name=names.topic, configs=[INCREMENT]
                ),
                m.IncrementalAlterConfigsRequest.AlterConfigsResource(
                    resource_type=32, resource_name=names.group, configs=[]
                ),
                m.IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=4, resource_name="", configs=[]),
            ],
            validate_only=True,
        )
    ),
    "AlterPartitionReassignments": Case(
        lambda names: m.AlterPartitionReassignmentsRequest(
            topics=rows(
                m.AlterPartitionReassignmentsRequest.ReassignableTopic,
                names,
                partitions=[
                    m.AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=0, replicas=[1])
                ],
            )
        )
    ),
    "ListPartitionReassignments": Case(lambda names: m.ListPartitionReassignmentsRequest(topics=None)),
    "OffsetDelete": Case(
        lambda names: m.OffsetDeleteRequest(
            group_id=names.group,
            topics=rows(
                m.OffsetDeleteRequest.OffsetDeleteRequestTopic,
                names,
                partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)],
            ),
        )
    ),
    "DescribeClientQuotas": Case(lambda names: m.DescribeClientQuotasRequest()),
    "AlterClientQuotas": Case(
        lambda names: m.AlterClientQuotasRequest(
            entries=[
                m.AlterClientQuotasRequest.EntryData(
                    entity=[m.AlterClientQuotasRequest.EntityData(entity_type="user", entity_name="x")],
                    ops=[m.AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=1000.0)],
                )
            ],
            validate_only=True,
        )
    ),
    "DescribeUserScramCredentials": Case(lambda names: m.DescribeUserScramCredentialsRequest(users=None)),
    "AlterUserScramCredentials": Case(
        lambda names: m.AlterUserScramCredentialsRequest(
            deletions=[m.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="x", mechanism=1)]
        )
    ),
    "DescribeQuorum": Case(
        lambda names: m.DescribeQuorumRequest(
            topics=[
                m.DescribeQuorumRequest.TopicData(
                    topic_name="__cluster_metadata",
                    partitions=[m.DescribeQuorumRequest.PartitionData(partition_index=0)],
                )
            ]
        )
    ),
    "UpdateFeatures": Case(lambda names: m.UpdateFeaturesRequest(validate_only=True)),
    "DescribeCluster": Case(
        lambda names: m.DescribeClusterRequest(include_cluster_authorized_operations=True), hides=False
    ),
    "DescribeProducers": Case(
        lambda names: m.DescribeProducersRequest(
            topics=rows(m.DescribeProducersRequest.TopicRequest, names, partition_indexes=[0])
        )
    ),
    "DescribeTransactions": Case(lambda names: m.DescribeTransactionsRequest(transactional_ids=[names.transaction])),
    "ListTransactions": Case(lambda names: m.ListTransactionsRequest(), hides=False),
    "ConsumerGroupHeartbeat": Case(
        lambda names: m.ConsumerGroupHeartbeatRequest(
            group_id=names.group, member_id="m", member_epoch=7, subscribed_topic_names=[names.topic]
        )
    ),
    "ConsumerGroupDescribe": Case(
        lambda names: m.ConsumerGroupDescribeRequest(group_ids=[names.group]),
        alternatives=frozenset({(Operation.DESCRIBE, ResourceType.TOPIC)}),  # the group has no members
    ),
    "StreamsGroupHeartbeat": Case(
        joined_streams,
        version=0,
        alternatives=frozenset({(Operation.CREATE, ResourceType.TOPIC)}),  # the status says it, not an error
    ),
    "StreamsGroupDescribe": Case(
        lambda names: m.StreamsGroupDescribeRequest(group_ids=[names.group]),
        version=0,
        alternatives=frozenset({(Operation.DESCRIBE, ResourceType.TOPIC)}),  # it is not a streams group
    ),
    "StreamsGroupTopologyDescriptionUpdate": Case(
        lambda names: m.StreamsGroupTopologyDescriptionUpdateRequest(group_id=names.group, member_id="m")
    ),
    "ListConfigResources": Case(lambda names: m.ListConfigResourcesRequest()),
    "ShareGroupHeartbeat": Case(
        lambda names: m.ShareGroupHeartbeatRequest(
            group_id=names.group, member_id="m", member_epoch=7, subscribed_topic_names=[names.topic]
        )
    ),
    "ShareGroupDescribe": Case(
        lambda names: m.ShareGroupDescribeRequest(group_ids=[names.group]),
        alternatives=frozenset({(Operation.DESCRIBE, ResourceType.TOPIC)}),  # the group has no members
    ),
    "ShareFetch": Case(
        lambda names: m.ShareFetchRequest(group_id=names.group, member_id="m"),
        alternatives=frozenset({(Operation.READ, ResourceType.TOPIC)}),  # topics have ids
    ),
    "ShareAcknowledge": Case(
        lambda names: m.ShareAcknowledgeRequest(group_id=names.group, member_id="m", share_session_epoch=1),
        alternatives=frozenset({(Operation.READ, ResourceType.TOPIC)}),  # topics have ids
    ),
    "DescribeShareGroupOffsets": Case(
        lambda names: m.DescribeShareGroupOffsetsRequest(
            groups=[
                m.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
                    group_id=names.group,
                    topics=rows(
                        m.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic,
                        names,
                        "topic_name",
                        partitions=[0],
                    ),
                )
            ]
        )
    ),
    "AlterShareGroupOffsets": Case(
        lambda names: m.AlterShareGroupOffsetsRequest(group_id=names.group),
        alternatives=frozenset({(Operation.READ, ResourceType.TOPIC)}),  # the group is of another kind
    ),
    "DeleteShareGroupOffsets": Case(
        lambda names: m.DeleteShareGroupOffsetsRequest(
            group_id=names.group,
            topics=rows(m.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic, names, "topic_name"),
        )
    ),
    "DescribeTopicPartitions": Case(
        lambda names: m.DescribeTopicPartitionsRequest(
            topics=rows(m.DescribeTopicPartitionsRequest.TopicRequest, names)
        )
    ),
}
