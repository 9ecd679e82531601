"""The permissions that every API needs: one table, which the broker enforces and a test walks.

Rules:
- `serves` refuses an API without a row. A row for an API that is not served does no harm.
- To add an API, add a row: `"Name": Row(Need(...), ...)`. An API without a `Need` is open to every client.
- The operation and the resource of a need decide, and the resource gives the error: TOPIC 29, GROUP 30, CLUSTER 31,
  TRANSACTIONAL_ID 53, DELEGATION_TOKEN and USER 65.
- `of` is the attribute of the request with the name, or with a list of names or rows. A row has its name in the
  attribute `name`, `topic_name`, `topic`, `group_id` or `topic_id`. A null name needs nothing.
- Without `into` a denial refuses the whole request by the `refuse` of its handler. With `into`, the denied rows are
  taken out of the request, refused by `refuse`, and added to this list of the response.
- With `or_cluster` an operation on the cluster is enough, whatever the resource's own entries are.
- A need without `of` on something else than the cluster is checked by the handler, with `context.may`, because the
  response depends on it: rows are left out, or a missing topic is reported differently. `context.may` raises for an
  operation that the row does not list, so that the table stays complete.
- Needs are checked in order. The first that is denied for the whole request decides.
- Existence is not disclosed: needs are checked before anything is looked up. Topic ids are resolved, because ids are
  not secret in Kafka. An unknown id is left to the handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.messages.errors import ErrorCode
from kafkawire.records.layout import HEADER_SIZE, SHAPE, TRANSACTIONAL
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ERRORS: Final[Mapping[int, ErrorCode]] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""The error of a denial, by the type of the resource."""


class Need(NamedTuple):
    """An operation on a resource that a request needs."""

    operation: Operation
    resource: ResourceType
    of: str = ""
    into: str = ""
    or_cluster: Operation | None = None
    when: Callable[[Any], bool] | None = None
    """Whether a request has this need at all; None if every one has."""
    in_handler: bool = False

    @property
    def error(self) -> ErrorCode:
        """The code that a denial is answered with."""
        return ERRORS[self.resource]


class Row:
    """The needs of one API."""

    __slots__ = ("listed", "needs")

    def __init__(self, *needs: Need) -> None:
        self.needs = needs
        pairs = {(need.operation, need.resource) for need in needs}
        cluster = {(need.or_cluster, ResourceType.CLUSTER) for need in needs if need.or_cluster is not None}
        self.listed: frozenset[tuple[int, int]] = frozenset(pairs | cluster)
        """The operations and resources that a handler may ask about."""


def _cluster(operation: Operation, *, or_cluster: Operation | None = None) -> Row:
    return Row(Need(operation, _C, or_cluster=or_cluster))


def _handler(operation: Operation, resource: ResourceType, *, or_cluster: Operation | None = None) -> Need:
    return Need(operation, resource, or_cluster=or_cluster, in_handler=True)


def _has_transactional_batches(request: Any) -> bool:
    """Whether a Produce request contains a batch of a transaction."""
    records = (data.records for topic in request.topic_data for data in topic.partition_data)
    return any(
        each is not None and len(each) >= HEADER_SIZE and SHAPE.unpack_from(each)[2] & TRANSACTIONAL for each in records
    )


_T, _G, _C = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_X, _D, _U = ResourceType.TRANSACTIONAL_ID, ResourceType.DELEGATION_TOKEN, ResourceType.USER
_READ, _WRITE, _CREATE, _DELETE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE
_ALTER, _DESCRIBE, _BROKERS = Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION
_SEE_CONFIGS, _SET_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
_OPEN: Final = Row()
_MEMBER: Final = Row(Need(_READ, _G, "group_id"))
_GROUPS: Final = Row(Need(_DESCRIBE, _G, "group_ids", "groups"), _handler(_DESCRIBE, _T))
_SUBSCRIBER: Final = Row(Need(_READ, _G, "group_id"), Need(_DESCRIBE, _T, "subscribed_topic_names"))

NEEDS: Final[Mapping[str, Row]] = {
    "Produce": Row(
        Need(_WRITE, _X, "transactional_id", when=_has_transactional_batches),
        Need(_WRITE, _T, "topic_data", "responses"),
    ),
    "Fetch": Row(_handler(_READ, _T), _handler(_BROKERS, _C)),
    "ListOffsets": Row(Need(_DESCRIBE, _T, "topics", "topics")),
    "Metadata": Row(_handler(_DESCRIBE, _T), _handler(_CREATE, _T, or_cluster=_CREATE), _handler(_DESCRIBE, _C)),
    "OffsetCommit": Row(Need(_READ, _G, "group_id"), Need(_READ, _T, "topics", "topics")),
    "OffsetFetch": Row(_handler(_DESCRIBE, _G), _handler(_DESCRIBE, _T)),
    "FindCoordinator": Row(_handler(_DESCRIBE, _G), _handler(_DESCRIBE, _X), _handler(_BROKERS, _C)),
    "JoinGroup": _MEMBER,
    "Heartbeat": _MEMBER,
    "LeaveGroup": _MEMBER,
    "SyncGroup": _MEMBER,
    "DescribeGroups": Row(Need(_DESCRIBE, _G, "groups", "groups")),
    "ListGroups": Row(_handler(_DESCRIBE, _G, or_cluster=_DESCRIBE)),
    "SaslHandshake": _OPEN,
    "ApiVersions": _OPEN,
    "CreateTopics": Row(_handler(_CREATE, _T, or_cluster=_CREATE), _handler(_SEE_CONFIGS, _T)),
    "DeleteTopics": Row(_handler(_DELETE, _T, or_cluster=_DELETE), _handler(_DESCRIBE, _T)),
    "DeleteRecords": Row(Need(_DELETE, _T, "topics", "topics")),
    "InitProducerId": Row(_handler(_WRITE, _X), _handler(Operation.IDEMPOTENT_WRITE, _C), _handler(_WRITE, _T)),
    "OffsetForLeaderEpoch": Row(Need(_DESCRIBE, _T, "topics", "topics", or_cluster=_BROKERS)),
    "AddPartitionsToTxn": Row(_handler(_WRITE, _X), _handler(_WRITE, _T), _handler(_BROKERS, _C)),
    "AddOffsetsToTxn": Row(Need(_WRITE, _X, "transactional_id"), Need(_READ, _G, "group_id")),
    "EndTxn": Row(Need(_WRITE, _X, "transactional_id")),
    "WriteTxnMarkers": _cluster(_ALTER, or_cluster=_BROKERS),
    "TxnOffsetCommit": Row(
        Need(_WRITE, _X, "transactional_id"), Need(_READ, _G, "group_id"), Need(_READ, _T, "topics", "topics")
    ),
    "DescribeAcls": _cluster(_DESCRIBE),
    "CreateAcls": _cluster(_ALTER),
    "DeleteAcls": _cluster(_ALTER),
    "DescribeConfigs": Row(_handler(_SEE_CONFIGS, _T), _handler(_SEE_CONFIGS, _G), _handler(_SEE_CONFIGS, _C)),
    "AlterConfigs": Row(_handler(_SET_CONFIGS, _T), _handler(_SET_CONFIGS, _G), _handler(_SET_CONFIGS, _C)),
    "AlterReplicaLogDirs": _cluster(_ALTER),
    "DescribeLogDirs": _cluster(_DESCRIBE),
    "SaslAuthenticate": _OPEN,
    "CreatePartitions": Row(_handler(_ALTER, _T)),
    "CreateDelegationToken": Row(_handler(Operation.CREATE_TOKENS, _U)),
    "RenewDelegationToken": _OPEN,
    "ExpireDelegationToken": _OPEN,
    "DescribeDelegationToken": Row(_handler(_DESCRIBE, _D), _handler(Operation.DESCRIBE_TOKENS, _U)),
    "DeleteGroups": Row(Need(_DELETE, _G, "groups_names", "results")),
    "ElectLeaders": _cluster(_ALTER),
    "IncrementalAlterConfigs": Row(_handler(_SET_CONFIGS, _T), _handler(_SET_CONFIGS, _G), _handler(_SET_CONFIGS, _C)),
    "AlterPartitionReassignments": _cluster(_ALTER),
    "ListPartitionReassignments": _cluster(_DESCRIBE),
    "OffsetDelete": Row(Need(_DELETE, _G, "group_id"), _handler(_READ, _T)),
    "DescribeClientQuotas": _cluster(_SEE_CONFIGS),
    "AlterClientQuotas": _cluster(_SET_CONFIGS),
    "DescribeUserScramCredentials": _cluster(_DESCRIBE),
    "AlterUserScramCredentials": _cluster(_ALTER),
    "DescribeQuorum": _cluster(_DESCRIBE),
    "UpdateFeatures": _cluster(_ALTER),
    "DescribeCluster": Row(_handler(_DESCRIBE, _C)),
    "DescribeProducers": Row(Need(_READ, _T, "topics", "topics")),
    "UnregisterBroker": _cluster(_ALTER),
    "DescribeTransactions": Row(
        Need(_DESCRIBE, _X, "transactional_ids", "transaction_states"), _handler(_DESCRIBE, _T)
    ),
    "ListTransactions": Row(_handler(_DESCRIBE, _X)),
    "ConsumerGroupHeartbeat": _SUBSCRIBER,
    "ConsumerGroupDescribe": _GROUPS,
    "GetTelemetrySubscriptions": _OPEN,
    "PushTelemetry": _OPEN,
    "ListConfigResources": _cluster(_SEE_CONFIGS),
    "DescribeTopicPartitions": Row(_handler(_DESCRIBE, _T)),
    "ShareGroupHeartbeat": _SUBSCRIBER,
    "ShareGroupDescribe": _GROUPS,
    "ShareFetch": Row(Need(_READ, _G, "group_id"), _handler(_READ, _T)),
    "ShareAcknowledge": Row(Need(_READ, _G, "group_id"), _handler(_READ, _T)),
    "InitializeShareGroupState": _cluster(_BROKERS),
    "ReadShareGroupState": _cluster(_BROKERS),
    "WriteShareGroupState": _cluster(_BROKERS),
    "DeleteShareGroupState": _cluster(_BROKERS),
    "ReadShareGroupStateSummary": _cluster(_BROKERS),
    "StreamsGroupHeartbeat": Row(
        Need(_READ, _G, "group_id"), _handler(_DESCRIBE, _T), _handler(_CREATE, _T, or_cluster=_CREATE)
    ),
    "StreamsGroupDescribe": _GROUPS,
    "DescribeShareGroupOffsets": Row(_handler(_DESCRIBE, _G), _handler(_DESCRIBE, _T)),
    "AlterShareGroupOffsets": Row(Need(_READ, _G, "group_id"), _handler(_READ, _T)),
    "DeleteShareGroupOffsets": Row(Need(_DELETE, _G, "group_id"), _handler(_READ, _T)),
    "StreamsGroupTopologyDescriptionUpdate": _MEMBER,
}
