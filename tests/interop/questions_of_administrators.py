"""Requests of administrators about settings, records, directories and the cluster, beside those of `questions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.interop.questions import NOWHERE, ORDERS

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
QUESTIONS: dict[str, Callable[[int], Message]] = {}


def describe(kind: int, name: str, *keys: str) -> Message:
    wanted = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=[*keys] or None
    )
    return m.DescribeConfigsRequest(resources=[wanted])


QUESTIONS |= {
    "settings of a topic": lambda version: describe(TOPIC, ORDERS, "retention.ms", "cleanup.policy", "segment.bytes"),
    "a setting that is none": lambda version: describe(TOPIC, ORDERS, "no.such"),
    "settings of a topic that is not there": lambda version: describe(TOPIC, NOWHERE),
    "settings of a bad name": lambda version: describe(TOPIC, "not/good"),
    "settings of the broker": lambda version: describe(BROKER, "1", "num.io.threads", "fetch.max.bytes"),
    "settings of a broker that is not there": lambda version: describe(BROKER, "7"),
    "settings of a broker that is not a number": lambda version: describe(BROKER, "x"),
    "settings of a kind that is none": lambda version: describe(99, "x"),
}


def alter(kind: int, name: str, *changes: tuple[str, int, str | None], only: bool = False) -> Message:
    configs = [
        m.IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    resource = m.IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    return m.IncrementalAlterConfigsRequest(resources=[resource], validate_only=only)


def alter_all(name: str, **values: str | None) -> Message:
    configs = [
        m.AlterConfigsRequest.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()
    ]
    resource = m.AlterConfigsRequest.AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=configs)
    return m.AlterConfigsRequest(resources=[resource])


QUESTIONS |= {
    "set": lambda version: alter(TOPIC, ORDERS, ("retention.ms", SET, "700000000")),
    "set to something bad": lambda version: alter(TOPIC, ORDERS, ("retention.ms", SET, "soon")),
    "set a name that is not a setting": lambda version: alter(TOPIC, ORDERS, ("no.such", SET, "1")),
    "set to null": lambda version: alter(TOPIC, ORDERS, ("retention.ms", SET, None)),
    "set twice": lambda version: alter(TOPIC, ORDERS, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
    "add to a list": lambda version: alter(TOPIC, ORDERS, ("cleanup.policy", APPEND, "compact"), only=True),
    "take from a list": lambda version: alter(TOPIC, ORDERS, ("cleanup.policy", SUBTRACT, "compact"), only=True),
    "add to a number": lambda version: alter(TOPIC, ORDERS, ("retention.ms", APPEND, "1")),
    "an operation that is none": lambda version: alter(TOPIC, ORDERS, ("retention.ms", 9, "1")),
    "take back": lambda version: alter(TOPIC, ORDERS, ("retention.ms", DELETE, None)),
    "set of a topic that is not there": lambda version: alter(TOPIC, NOWHERE, ("retention.ms", SET, "1")),
    "set of a broker that is not there": lambda version: alter(BROKER, "7", ("log.retention.ms", SET, "1")),
    "set what cannot be changed": lambda version: alter(BROKER, "1", ("node.id", SET, "7")),
    "set all": lambda version: alter_all(ORDERS, retention_ms="700000000"),
    "set all to something bad": lambda version: alter_all(ORDERS, retention_ms="soon"),
    "set all of a topic that is not there": lambda version: alter_all(NOWHERE, retention_ms="1"),
    "set all back": lambda version: alter_all(ORDERS),
}


def made_with(**values: str) -> Message:
    configs = [
        m.CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in values.items()
    ]
    topic = m.CreateTopicsRequest.CreatableTopic(name="tiered", num_partitions=1, replication_factor=1, configs=configs)
    return m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000, validate_only=True)


def move_to(path: str, name: str, partition: int) -> Message:
    topic = m.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=name, partitions=[partition])
    place = m.AlterReplicaLogDirsRequest.AlterReplicaLogDir(path=path, topics=[topic])
    return m.AlterReplicaLogDirsRequest(dirs=[place])


QUESTIONS |= {
    "make a topic with local retention": lambda version: made_with(
        local_retention_ms="5", remote_storage_enable="false"
    ),
    "make a topic with remote storage": lambda version: made_with(remote_storage_enable="true"),
    "set local retention": lambda version: alter(TOPIC, ORDERS, ("local.retention.ms", SET, "5"), only=True),
    "set local retention too low": lambda version: alter(TOPIC, ORDERS, ("local.retention.ms", SET, "-3"), only=True),
    "move a replica to a directory that is not there": lambda version: move_to("/nowhere", ORDERS, 0),
    "move an unknown replica to a directory that is not there": lambda version: move_to("/nowhere", NOWHERE, 0),
}


def cut(name: str, partition: int, before: int) -> Message:
    place = m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=before)
    topic = m.DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=[place])
    return m.DeleteRecordsRequest(topics=[topic], timeout_ms=10_000)


def producers(name: str, partition: int) -> Message:
    topic = m.DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[partition])
    return m.DescribeProducersRequest(topics=[topic])


def elect(name: str, partition: int) -> Message:
    topic = m.ElectLeadersRequest.TopicPartitions(topic=name, partitions=[partition])
    return m.ElectLeadersRequest(topic_partitions=[topic], timeout_ms=10_000)


def reassign(name: str, partition: int, replicas: list[int] | None) -> Message:
    place = m.AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=partition, replicas=replicas)
    topic = m.AlterPartitionReassignmentsRequest.ReassignableTopic(name=name, partitions=[place])
    return m.AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=10_000)


def partitions(*names: str, limit: int = 2_000, **cursor: Any) -> Message:
    topics = [m.DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
    start = m.DescribeTopicPartitionsRequest.Cursor(**cursor) if cursor else None
    return m.DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=start)


QUESTIONS |= {
    "delete records past the end": lambda version: cut(ORDERS, 0, 99),
    "delete records below none": lambda version: cut(ORDERS, 0, -2),
    "delete no records": lambda version: cut(ORDERS, 0, 0),
    "delete records of a topic that is not there": lambda version: cut(NOWHERE, 0, 0),
    "delete records of a partition that is not there": lambda version: cut(ORDERS, 9, 0),
    "producers of nobody": lambda version: producers(ORDERS, 1),
    "producers of a topic that is not there": lambda version: producers(NOWHERE, 0),
    "elect": lambda version: elect(ORDERS, 0),
    "elect where there is nothing": lambda version: elect(NOWHERE, 0),
    "reassign to what it is": lambda version: reassign(ORDERS, 0, [1]),
    "reassign to a broker that is not there": lambda version: reassign(ORDERS, 0, [7]),
    "reassign where there is nothing": lambda version: reassign(NOWHERE, 0, [1]),
    "reassign to none": lambda version: reassign(ORDERS, 0, []),
    "take back a reassignment that is none": lambda version: reassign(ORDERS, 0, None),
    "reassignments": lambda version: m.ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000),
    "partitions": lambda version: partitions(ORDERS),
    "some partitions": lambda version: partitions(ORDERS, limit=1),
    "the other partitions": lambda version: partitions(ORDERS, topic_name=ORDERS, partition_index=1),
    "partitions of a topic that is not there": lambda version: partitions(NOWHERE),
    "the cluster": lambda version: m.DescribeClusterRequest(),
    "access rules": lambda version: m.DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
    ),
    "quotas": lambda version: m.DescribeClientQuotasRequest(),
    "transactions": lambda version: m.ListTransactionsRequest(),
    "a producer id": lambda version: m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000),
    "a producer id for an empty name": lambda version: m.InitProducerIdRequest(
        transactional_id="", transaction_timeout_ms=60_000
    ),
    "credentials": lambda version: m.DescribeUserScramCredentialsRequest(users=None),
}
