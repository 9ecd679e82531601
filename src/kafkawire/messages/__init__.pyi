# Generated from the schemas by `make generate`; not to be edited.
"""Every message of the protocol as a class."""

from builtins import type as _type
from uuid import UUID

from kafkawire._codec.errors import CodecError as CodecError
from kafkawire._codec.errors import DecodeError as DecodeError
from kafkawire._codec.errors import EncodeError as EncodeError
from kafkawire._codec.errors import UnsupportedVersionError as UnsupportedVersionError
from kafkawire.messages._model import Message as Message
from kafkawire.messages._model import StructBase as StructBase
from kafkawire.messages._registry import Api as Api
from kafkawire.messages._registry import UnknownMessageError as UnknownMessageError
from kafkawire.messages._registry import api as api
from kafkawire.messages._registry import apis as apis
from kafkawire.messages._registry import message_class as message_class
from kafkawire.messages._registry import message_names as message_names
from kafkawire.messages._uuids import parse_uuid as parse_uuid
from kafkawire.messages._uuids import uuid_text as uuid_text
from kafkawire.messages._compile import compile_plan as compile_plan
from kafkawire.messages._error_table import table as _error_facts

error_facts = _error_facts
_Bytes = bytes | bytearray | memoryview
_Tags = tuple[tuple[int, bytes], ...]

class ProduceRequest(Message):
    class PartitionProduceData(StructBase):
        index: int
        """Number of the partition."""
        records: _Bytes | None
        """Record batches to append."""
        def __init__(
            self,
            *,
            index: int = ...,
            records: _Bytes | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicProduceData(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_data: list[ProduceRequest.PartitionProduceData]
        """The partitions, with their records."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partition_data: list[ProduceRequest.PartitionProduceData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    transactional_id: str | None
    """Transactional id; null without a transaction."""
    acks: int
    """Replicas that must have the records before the answer: -1 all in sync, 1 the leader, 0 no answer."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    topic_data: list[ProduceRequest.TopicProduceData]
    """The topics, with their records."""
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: list[ProduceRequest.TopicProduceData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ProduceResponse]: ...

class ProduceResponse(Message):
    class BatchIndexAndErrorMessage(StructBase):
        batch_index: int
        """Index of the record in the batch."""
        batch_index_error_message: str | None
        """Text that explains why the record was refused."""
        def __init__(
            self,
            *,
            batch_index: int = ...,
            batch_index_error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderIdAndEpoch(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionProduceResponse(StructBase):
        index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        base_offset: int
        """Offset of the first record that was appended, or -1."""
        log_append_time_ms: int
        """Time at which the broker appended the records, or -1 if their own times are kept."""
        log_start_offset: int
        """First offset that the log still has."""
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage]
        """Records that caused the batch to be refused."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        current_leader: ProduceResponse.LeaderIdAndEpoch
        """Leader of the partition, if the client asked the wrong broker."""
        def __init__(
            self,
            *,
            index: int = ...,
            error_code: int = ...,
            base_offset: int = ...,
            log_append_time_ms: int = ...,
            log_start_offset: int = ...,
            record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = ...,
            error_message: str | None = ...,
            current_leader: ProduceResponse.LeaderIdAndEpoch = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicProduceResponse(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_responses: list[ProduceResponse.PartitionProduceResponse]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partition_responses: list[ProduceResponse.PartitionProduceResponse] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    responses: list[ProduceResponse.TopicProduceResponse]
    """The topics, with the result of each partition."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    node_endpoints: list[ProduceResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        responses: list[ProduceResponse.TopicProduceResponse] = ...,
        throttle_time_ms: int = ...,
        node_endpoints: list[ProduceResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class FetchRequest(Message):
    class ReplicaState(StructBase):
        replica_id: int
        """Id of the follower, or -1 for a consumer."""
        replica_epoch: int
        """Epoch of the follower, or -1."""
        def __init__(
            self,
            *,
            replica_id: int = ...,
            replica_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FetchPartition(StructBase):
        partition: int
        """Number of the partition."""
        current_leader_epoch: int
        """Leader epoch that the sender knows, or -1; the broker refuses another one."""
        fetch_offset: int
        """Offset to read from."""
        last_fetched_epoch: int
        """Leader epoch of the last record that was read, or -1; it reveals a truncated log."""
        log_start_offset: int
        """First offset of the follower's log, or -1."""
        partition_max_bytes: int
        """Most bytes from this partition."""
        replica_directory_id: UUID
        """Id of the directory in which the replica keeps its log."""
        high_watermark: int
        """High watermark that the follower knows."""
        def __init__(
            self,
            *,
            partition: int = ...,
            current_leader_epoch: int = ...,
            fetch_offset: int = ...,
            last_fetched_epoch: int = ...,
            log_start_offset: int = ...,
            partition_max_bytes: int = ...,
            replica_directory_id: UUID = ...,
            high_watermark: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FetchTopic(StructBase):
        topic: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[FetchRequest.FetchPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: UUID = ...,
            partitions: list[FetchRequest.FetchPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ForgottenTopic(StructBase):
        topic: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster that the controller expects; null from consumers."""
    replica_id: int
    """Id of the follower that asks; -1 for a consumer."""
    replica_state: FetchRequest.ReplicaState
    """Follower that fetches, and its epoch."""
    max_wait_ms: int
    """Milliseconds to wait for MinBytes."""
    min_bytes: int
    """Bytes for which the broker waits before it answers."""
    max_bytes: int
    """Most bytes that the response should have; the first batch comes even if it is larger."""
    isolation_level: int
    """0 returns all records, 1 only committed ones."""
    session_id: int
    """Id of the fetch session, 0 without one."""
    session_epoch: int
    """Number of the request in its session: 0 opens one, -1 is without or ends one."""
    topics: list[FetchRequest.FetchTopic]
    """The topics, with the request for each."""
    forgotten_topics_data: list[FetchRequest.ForgottenTopic]
    """Partitions to remove from the session."""
    rack_id: str
    """Rack of the client or the broker; empty or null if it is unknown."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        replica_state: FetchRequest.ReplicaState = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        isolation_level: int = ...,
        session_id: int = ...,
        session_epoch: int = ...,
        topics: list[FetchRequest.FetchTopic] = ...,
        forgotten_topics_data: list[FetchRequest.ForgottenTopic] = ...,
        rack_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[FetchResponse]: ...

class FetchResponse(Message):
    class EpochEndOffset(StructBase):
        epoch: int
        """Last epoch that both logs have."""
        end_offset: int
        """Offset after the last record."""
        def __init__(
            self,
            *,
            epoch: int = ...,
            end_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderIdAndEpoch(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class SnapshotId(StructBase):
        end_offset: int
        """Offset after the last record."""
        epoch: int
        """Epoch of the last record in the snapshot."""
        def __init__(
            self,
            *,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AbortedTransaction(StructBase):
        producer_id: int
        """Id that the broker gave to the producer."""
        first_offset: int
        """First offset of the transaction."""
        def __init__(
            self,
            *,
            producer_id: int = ...,
            first_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        high_watermark: int
        """Offset up to which records are replicated and visible to consumers."""
        last_stable_offset: int
        """Offset before the first open transaction."""
        log_start_offset: int
        """First offset that the log still has."""
        diverging_epoch: FetchResponse.EpochEndOffset
        """Where the logs part, if the follower or consumer has records that the leader does not have."""
        current_leader: FetchResponse.LeaderIdAndEpoch
        """Leader of the partition, if the client asked the wrong broker."""
        snapshot_id: FetchResponse.SnapshotId
        """Snapshot, named by the offset and the epoch at its end."""
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None
        """Aborted transactions in the records, for readers of committed records."""
        preferred_read_replica: int
        """Id of a broker nearer to the client, or -1."""
        records: _Bytes | None
        """Record batches, the last of which may be cut."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            high_watermark: int = ...,
            last_stable_offset: int = ...,
            log_start_offset: int = ...,
            diverging_epoch: FetchResponse.EpochEndOffset = ...,
            current_leader: FetchResponse.LeaderIdAndEpoch = ...,
            snapshot_id: FetchResponse.SnapshotId = ...,
            aborted_transactions: list[FetchResponse.AbortedTransaction] | None = ...,
            preferred_read_replica: int = ...,
            records: _Bytes | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FetchableTopicResponse(StructBase):
        topic: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[FetchResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: UUID = ...,
            partitions: list[FetchResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    session_id: int
    """Id of the fetch session, 0 without one."""
    responses: list[FetchResponse.FetchableTopicResponse]
    """The topics, with the result of each partition."""
    node_endpoints: list[FetchResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        session_id: int = ...,
        responses: list[FetchResponse.FetchableTopicResponse] = ...,
        node_endpoints: list[FetchResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ListOffsetsRequest(Message):
    class ListOffsetsPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        current_leader_epoch: int
        """Leader epoch that the sender knows, or -1; the broker refuses another one."""
        timestamp: int
        """Time in milliseconds since 1970; -1 latest, -2 earliest, -3 the greatest time, -4 earliest local, -5 latest remote."""
        max_num_offsets: int
        """Most offsets to return."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            current_leader_epoch: int = ...,
            timestamp: int = ...,
            max_num_offsets: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ListOffsetsTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[ListOffsetsRequest.ListOffsetsPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[ListOffsetsRequest.ListOffsetsPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    replica_id: int
    """Id of the follower that asks; -1 for a consumer."""
    isolation_level: int
    """0 returns all records, 1 only committed ones."""
    topics: list[ListOffsetsRequest.ListOffsetsTopic]
    """The topics, with the request for each."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    def __init__(
        self,
        *,
        replica_id: int = ...,
        isolation_level: int = ...,
        topics: list[ListOffsetsRequest.ListOffsetsTopic] = ...,
        timeout_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ListOffsetsResponse]: ...

class ListOffsetsResponse(Message):
    class ListOffsetsPartitionResponse(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        old_style_offsets: list[int]
        """Offsets of segments that begin before the time."""
        timestamp: int
        """Time of the record that was found, or -1."""
        offset: int
        """Offset that was found, or -1."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            old_style_offsets: list[int] = ...,
            timestamp: int = ...,
            offset: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ListOffsetsTopicResponse(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class MetadataRequest(Message):
    class MetadataRequestTopic(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        name: str | None
        """Name of the topic."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[MetadataRequest.MetadataRequestTopic] | None
    """Topics to describe; null for all (in version 0, empty for all)."""
    allow_auto_topic_creation: bool
    """Whether missing topics may be created."""
    include_cluster_authorized_operations: bool
    """Whether the response lists the operations on the cluster that the client is allowed."""
    include_topic_authorized_operations: bool
    """Whether the response lists the operations on topics that the client is allowed."""
    def __init__(
        self,
        *,
        topics: list[MetadataRequest.MetadataRequestTopic] | None = ...,
        allow_auto_topic_creation: bool = ...,
        include_cluster_authorized_operations: bool = ...,
        include_topic_authorized_operations: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[MetadataResponse]: ...

class MetadataResponse(Message):
    class MetadataResponseBroker(StructBase):
        node_id: int
        """Id of the node."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class MetadataResponsePartition(StructBase):
        error_code: int
        """Error of the partition; 0 is none."""
        partition_index: int
        """Number of the partition."""
        leader_id: int
        """Id of the broker that leads the partition, or -1 if there is none."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        replica_nodes: list[int]
        """Ids of the brokers with a replica, the preferred leader first."""
        isr_nodes: list[int]
        """Ids of the replicas that are in sync with the leader."""
        offline_replicas: list[int]
        """Replicas whose broker or directory is offline."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            replica_nodes: list[int] = ...,
            isr_nodes: list[int] = ...,
            offline_replicas: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class MetadataResponseTopic(StructBase):
        error_code: int
        """Error of the topic; 0 is none."""
        name: str | None
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        is_internal: bool
        """Whether the topic belongs to Kafka itself."""
        partitions: list[MetadataResponse.MetadataResponsePartition]
        """The partitions, with the result of each."""
        topic_authorized_operations: int
        """Operations on the topic that the client is allowed, as bits; the lowest number if not asked for."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            name: str | None = ...,
            topic_id: UUID = ...,
            is_internal: bool = ...,
            partitions: list[MetadataResponse.MetadataResponsePartition] = ...,
            topic_authorized_operations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    brokers: list[MetadataResponse.MetadataResponseBroker]
    """The brokers."""
    cluster_id: str | None
    """Id of the cluster; null if it is unknown."""
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    topics: list[MetadataResponse.MetadataResponseTopic]
    """The topics, with the result of each."""
    cluster_authorized_operations: int
    """Operations on the cluster that the client is allowed, as bits; the lowest number if not asked for."""
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        brokers: list[MetadataResponse.MetadataResponseBroker] = ...,
        cluster_id: str | None = ...,
        controller_id: int = ...,
        topics: list[MetadataResponse.MetadataResponseTopic] = ...,
        cluster_authorized_operations: int = ...,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class LeaderAndIsrRequest(Message):
    class LeaderAndIsrPartitionState(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        controller_epoch: int
        """Epoch of the controller; older ones are refused."""
        leader: int
        """Id of the broker that leads the partition, or -1 if there is none."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        isr: list[int]
        """Ids of the replicas that are in sync with the leader."""
        partition_epoch: int
        """Epoch of the partition; it grows with every change of its replicas."""
        replicas: list[int]
        """Ids of the brokers with a replica, the preferred leader first."""
        adding_replicas: list[int]
        """Replicas that a reassignment adds."""
        removing_replicas: list[int]
        """Replicas that a reassignment removes."""
        is_new: bool
        """Whether the replica is new on this broker."""
        leader_recovery_state: int
        """1 if the leader still recovers from an unclean election, otherwise 0."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            controller_epoch: int = ...,
            leader: int = ...,
            leader_epoch: int = ...,
            isr: list[int] = ...,
            partition_epoch: int = ...,
            replicas: list[int] = ...,
            adding_replicas: list[int] = ...,
            removing_replicas: list[int] = ...,
            is_new: bool = ...,
            leader_recovery_state: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderAndIsrTopicState(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState]
        """The partitions, with their state."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderAndIsrLiveLeader(StructBase):
        broker_id: int
        """Id of the broker."""
        host_name: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            broker_id: int = ...,
            host_name: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    is_k_raft_controller: bool
    """Whether the sender is a KRaft controller."""
    controller_epoch: int
    """Epoch of the controller; older ones are refused."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    type: int
    """0 unknown, 1 a change, 2 the full state."""
    ungrouped_partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState]
    """The partitions, in versions that do not group them by topic."""
    topic_states: list[LeaderAndIsrRequest.LeaderAndIsrTopicState]
    """The topics, with the state of their partitions."""
    live_leaders: list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader]
    """Addresses of the leaders."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        type: int = ...,
        ungrouped_partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = ...,
        topic_states: list[LeaderAndIsrRequest.LeaderAndIsrTopicState] = ...,
        live_leaders: list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[LeaderAndIsrResponse]: ...

class LeaderAndIsrResponse(Message):
    class LeaderAndIsrPartitionError(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderAndIsrTopicError(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError]
        """The partitions, with the error of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError]
    """The partitions, with the error of each."""
    topics: list[LeaderAndIsrResponse.LeaderAndIsrTopicError]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = ...,
        topics: list[LeaderAndIsrResponse.LeaderAndIsrTopicError] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StopReplicaRequest(Message):
    class StopReplicaPartitionV0(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class StopReplicaTopicV1(StructBase):
        name: str
        """Name of the topic."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class StopReplicaPartitionState(StructBase):
        partition_index: int
        """Number of the partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        delete_partition: bool
        """Whether the log is deleted too."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            leader_epoch: int = ...,
            delete_partition: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class StopReplicaTopicState(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_states: list[StopReplicaRequest.StopReplicaPartitionState]
        """The partitions, with their state."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_states: list[StopReplicaRequest.StopReplicaPartitionState] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    is_k_raft_controller: bool
    """Whether the sender is a KRaft controller."""
    controller_epoch: int
    """Epoch of the controller; older ones are refused."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    delete_partitions: bool
    """Whether the log is deleted too."""
    ungrouped_partitions: list[StopReplicaRequest.StopReplicaPartitionV0]
    """The partitions, in versions that do not group them by topic."""
    topics: list[StopReplicaRequest.StopReplicaTopicV1]
    """The topics, with the request for each."""
    topic_states: list[StopReplicaRequest.StopReplicaTopicState]
    """The topics, with the state of their partitions."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        delete_partitions: bool = ...,
        ungrouped_partitions: list[StopReplicaRequest.StopReplicaPartitionV0] = ...,
        topics: list[StopReplicaRequest.StopReplicaTopicV1] = ...,
        topic_states: list[StopReplicaRequest.StopReplicaTopicState] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[StopReplicaResponse]: ...

class StopReplicaResponse(Message):
    class StopReplicaPartitionError(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    partition_errors: list[StopReplicaResponse.StopReplicaPartitionError]
    """The partitions, with the error of each."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[StopReplicaResponse.StopReplicaPartitionError] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UpdateMetadataRequest(Message):
    class UpdateMetadataPartitionState(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        controller_epoch: int
        """Epoch of the controller; older ones are refused."""
        leader: int
        """Id of the broker that leads the partition, or -1 if there is none."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        isr: list[int]
        """Ids of the replicas that are in sync with the leader."""
        zk_version: int
        """Version of the partition's state in ZooKeeper."""
        replicas: list[int]
        """Ids of the brokers with a replica, the preferred leader first."""
        offline_replicas: list[int]
        """Replicas whose broker or directory is offline."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            controller_epoch: int = ...,
            leader: int = ...,
            leader_epoch: int = ...,
            isr: list[int] = ...,
            zk_version: int = ...,
            replicas: list[int] = ...,
            offline_replicas: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class UpdateMetadataTopicState(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState]
        """The partitions, with their state."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class UpdateMetadataEndpoint(StructBase):
        port: int
        """TCP port."""
        host: str
        """Host name or address."""
        listener: str
        """Name of the listener."""
        security_protocol: int
        """Security protocol of the listener, as a number."""
        def __init__(
            self,
            *,
            port: int = ...,
            host: str = ...,
            listener: str = ...,
            security_protocol: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class UpdateMetadataBroker(StructBase):
        id: int
        """Id of the broker."""
        v0_host: str
        """Host name or address, in version 0."""
        v0_port: int
        """TCP port, in version 0."""
        endpoints: list[UpdateMetadataRequest.UpdateMetadataEndpoint]
        """Addresses of the listeners."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            id: int = ...,
            v0_host: str = ...,
            v0_port: int = ...,
            endpoints: list[UpdateMetadataRequest.UpdateMetadataEndpoint] = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    is_k_raft_controller: bool
    """Whether the sender is a KRaft controller."""
    type: int
    """0 unknown, 1 a change, 2 the full state."""
    controller_epoch: int
    """Epoch of the controller; older ones are refused."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    ungrouped_partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState]
    """The partitions, in versions that do not group them by topic."""
    topic_states: list[UpdateMetadataRequest.UpdateMetadataTopicState]
    """The topics, with the state of their partitions."""
    live_brokers: list[UpdateMetadataRequest.UpdateMetadataBroker]
    """Brokers that are alive, with their addresses."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_k_raft_controller: bool = ...,
        type: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        ungrouped_partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = ...,
        topic_states: list[UpdateMetadataRequest.UpdateMetadataTopicState] = ...,
        live_brokers: list[UpdateMetadataRequest.UpdateMetadataBroker] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[UpdateMetadataResponse]: ...

class UpdateMetadataResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ControlledShutdownRequest(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ControlledShutdownResponse]: ...

class ControlledShutdownResponse(Message):
    class RemainingPartition(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    remaining_partitions: list[ControlledShutdownResponse.RemainingPartition]
    """Partitions that the broker still leads."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        remaining_partitions: list[ControlledShutdownResponse.RemainingPartition] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetCommitRequest(Message):
    class OffsetCommitRequestPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        committed_offset: int
        """Offset of the next record that the group will read."""
        committed_leader_epoch: int
        """Leader epoch of the last record that was read, or -1."""
        commit_timestamp: int
        """Time of the commit in milliseconds since 1970, or -1 for now."""
        committed_metadata: str | None
        """Text of the client that is stored with the offset."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            commit_timestamp: int = ...,
            committed_metadata: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetCommitRequestTopic(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    generation_id_or_member_epoch: int
    """Generation of a classic group, or epoch of the member; -1 outside of groups."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    group_instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    retention_time_ms: int
    """Milliseconds for which the offset is kept, or -1 for the setting of the broker."""
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        retention_time_ms: int = ...,
        topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[OffsetCommitResponse]: ...

class OffsetCommitResponse(Message):
    class OffsetCommitResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetCommitResponseTopic(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetFetchRequest(Message):
    class OffsetFetchRequestTopic(StructBase):
        name: str
        """Name of the topic."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchRequestTopics(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchRequestGroup(StructBase):
        group_id: str
        """Name of the group."""
        member_id: str | None
        """Id of the member; the coordinator or the member itself creates it."""
        member_epoch: int
        """Epoch of the member; it follows that of the group."""
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None
        """Topics whose offsets are wanted; null for all."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            member_id: str | None = ...,
            member_epoch: int = ...,
            topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None
    """Topics whose offsets are wanted; null for all."""
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup]
    """The groups."""
    require_stable: bool
    """Whether offsets of open transactions are an error that can be retried."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = ...,
        groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = ...,
        require_stable: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[OffsetFetchResponse]: ...

class OffsetFetchResponse(Message):
    class OffsetFetchResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        committed_offset: int
        """Offset of the next record that the group will read."""
        committed_leader_epoch: int
        """Leader epoch of the last record that was read, or -1."""
        metadata: str | None
        """Text of the client that is stored with the offset."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchResponseTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchResponsePartitions(StructBase):
        partition_index: int
        """Number of the partition."""
        committed_offset: int
        """Offset of the next record that the group will read."""
        committed_leader_epoch: int
        """Leader epoch of the last record that was read, or -1."""
        metadata: str | None
        """Text of the client that is stored with the offset."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchResponseTopics(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetFetchResponseGroup(StructBase):
        group_id: str
        """Name of the group."""
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics]
        """The topics, with the result of each."""
        error_code: int
        """Error of the group; 0 is none."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic]
    """The topics, with the result of each."""
    error_code: int
    """Error of the whole request; 0 is none."""
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = ...,
        error_code: int = ...,
        groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class FindCoordinatorRequest(Message):
    key: str
    """Group or transactional id whose coordinator is wanted."""
    key_type: int
    """0 for a group, 1 for a transactional id, 2 for a share partition."""
    coordinator_keys: list[str]
    """Groups or transactional ids whose coordinators are wanted."""
    def __init__(
        self,
        *,
        key: str = ...,
        key_type: int = ...,
        coordinator_keys: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[FindCoordinatorResponse]: ...

class FindCoordinatorResponse(Message):
    class Coordinator(StructBase):
        key: str
        """Group or transactional id."""
        node_id: int
        """Id of the node."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        error_code: int
        """Error of the coordinator; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            key: str = ...,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    node_id: int
    """Id of the node."""
    host: str
    """Host name or address."""
    port: int
    """TCP port."""
    coordinators: list[FindCoordinatorResponse.Coordinator]
    """The coordinators, one per key."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        coordinators: list[FindCoordinatorResponse.Coordinator] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class JoinGroupRequest(Message):
    class JoinGroupRequestProtocol(StructBase):
        name: str
        """Name of the protocol (assignor)."""
        metadata: _Bytes
        """Metadata of the member in this protocol; for consumers, a subscription."""
        def __init__(
            self,
            *,
            name: str = ...,
            metadata: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    session_timeout_ms: int
    """Milliseconds without a heartbeat after which the member is removed."""
    rebalance_timeout_ms: int
    """Milliseconds that members have to join again after a rebalance began."""
    member_id: str
    """Id of the member; empty if it joins for the first time."""
    group_instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    protocol_type: str
    """Kind of group protocol, for example `consumer` or `connect`."""
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol]
    """Protocols (assignors) that the member supports, the preferred one first."""
    reason: str | None
    """Why the sender does this, for logs; null if it gives no reason."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        session_timeout_ms: int = ...,
        rebalance_timeout_ms: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str = ...,
        protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = ...,
        reason: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[JoinGroupResponse]: ...

class JoinGroupResponse(Message):
    class JoinGroupResponseMember(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        group_instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        metadata: _Bytes
        """Metadata of the member in the chosen protocol; for consumers, a subscription."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            metadata: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    generation_id: int
    """Generation of the group; it grows with every rebalance."""
    protocol_type: str | None
    """Kind of group protocol, for example `consumer` or `connect`."""
    protocol_name: str | None
    """Name of the protocol (assignor) that was chosen."""
    leader: str
    """Id of the member that computes the assignment."""
    skip_assignment: bool
    """Whether the leader must not compute an assignment, because the last one still holds."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    members: list[JoinGroupResponse.JoinGroupResponseMember]
    """Members of the group; only the leader gets them."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        generation_id: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        leader: str = ...,
        skip_assignment: bool = ...,
        member_id: str = ...,
        members: list[JoinGroupResponse.JoinGroupResponseMember] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class HeartbeatRequest(Message):
    group_id: str
    """Name of the group."""
    generation_id: int
    """Generation of the group; it grows with every rebalance."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    group_instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[HeartbeatResponse]: ...

class HeartbeatResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class LeaveGroupRequest(Message):
    class MemberIdentity(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        group_instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        reason: str | None
        """Why the sender does this, for logs; null if it gives no reason."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            reason: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    members: list[LeaveGroupRequest.MemberIdentity]
    """Members of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        members: list[LeaveGroupRequest.MemberIdentity] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[LeaveGroupResponse]: ...

class LeaveGroupResponse(Message):
    class MemberResponse(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        group_instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        error_code: int
        """Error of the member; 0 is none."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    members: list[LeaveGroupResponse.MemberResponse]
    """Members of the group."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        members: list[LeaveGroupResponse.MemberResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SyncGroupRequest(Message):
    class SyncGroupRequestAssignment(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        assignment: _Bytes
        """Assignment of the member, in bytes of the chosen protocol."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            assignment: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    generation_id: int
    """Generation of the group; it grows with every rebalance."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    group_instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    protocol_type: str | None
    """Kind of group protocol, for example `consumer` or `connect`."""
    protocol_name: str | None
    """Name of the protocol (assignor) that was chosen."""
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment]
    """The assignment of each member; only the leader sends them."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[SyncGroupResponse]: ...

class SyncGroupResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    protocol_type: str | None
    """Kind of group protocol, for example `consumer` or `connect`."""
    protocol_name: str | None
    """Name of the protocol (assignor) that was chosen."""
    assignment: _Bytes
    """Assignment of the member, in bytes of the chosen protocol."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignment: _Bytes = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeGroupsRequest(Message):
    groups: list[str]
    """The groups."""
    include_authorized_operations: bool
    """Whether the response lists the operations that the client is allowed."""
    def __init__(
        self,
        *,
        groups: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeGroupsResponse]: ...

class DescribeGroupsResponse(Message):
    class DescribedGroupMember(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        group_instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        client_id: str
        """Name that the client gives itself."""
        client_host: str
        """Address from which the client connects."""
        member_metadata: _Bytes
        """Metadata of the member in the chosen protocol; for consumers, a subscription."""
        member_assignment: _Bytes
        """Assignment of the member, in bytes of the chosen protocol."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            member_metadata: _Bytes = ...,
            member_assignment: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribedGroup(StructBase):
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        group_id: str
        """Name of the group."""
        group_state: str
        """State of the group, in words."""
        protocol_type: str
        """Kind of group protocol, for example `consumer` or `connect`."""
        protocol_data: str
        """Name of the protocol (assignor) that was chosen."""
        members: list[DescribeGroupsResponse.DescribedGroupMember]
        """Members of the group."""
        authorized_operations: int
        """Operations that the client is allowed, as bits; the lowest number if they were not asked for."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            protocol_type: str = ...,
            protocol_data: str = ...,
            members: list[DescribeGroupsResponse.DescribedGroupMember] = ...,
            authorized_operations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    groups: list[DescribeGroupsResponse.DescribedGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[DescribeGroupsResponse.DescribedGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ListGroupsRequest(Message):
    states_filter: list[str]
    """States of groups to return; empty returns all."""
    types_filter: list[str]
    """Types of groups to return; empty returns all."""
    def __init__(
        self,
        *,
        states_filter: list[str] = ...,
        types_filter: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ListGroupsResponse]: ...

class ListGroupsResponse(Message):
    class ListedGroup(StructBase):
        group_id: str
        """Name of the group."""
        protocol_type: str
        """Kind of group protocol, for example `consumer` or `connect`."""
        group_state: str
        """State of the group, in words."""
        group_type: str
        """Type of the group, in words."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            protocol_type: str = ...,
            group_state: str = ...,
            group_type: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    groups: list[ListGroupsResponse.ListedGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        groups: list[ListGroupsResponse.ListedGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SaslHandshakeRequest(Message):
    mechanism: str
    """SASL mechanism that the client wants."""
    def __init__(
        self,
        *,
        mechanism: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[SaslHandshakeResponse]: ...

class SaslHandshakeResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    mechanisms: list[str]
    """SASL mechanisms that the broker offers."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        mechanisms: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ApiVersionsRequest(Message):
    client_software_name: str
    """Name of the client's software."""
    client_software_version: str
    """Version of the client's software."""
    cluster_id: str | None
    """Cluster that the client expects; null if it expects none."""
    node_id: int
    """Broker that the client expects, or -1."""
    def __init__(
        self,
        *,
        client_software_name: str = ...,
        client_software_version: str = ...,
        cluster_id: str | None = ...,
        node_id: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ApiVersionsResponse]: ...

class ApiVersionsResponse(Message):
    class ApiVersion(StructBase):
        api_key: int
        """Number of the API."""
        min_version: int
        """Lowest version that is served."""
        max_version: int
        """Highest version that is served."""
        def __init__(
            self,
            *,
            api_key: int = ...,
            min_version: int = ...,
            max_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class SupportedFeatureKey(StructBase):
        name: str
        """Name of the feature."""
        min_version: int
        """Lowest version that is served."""
        max_version: int
        """Highest version that is served."""
        def __init__(
            self,
            *,
            name: str = ...,
            min_version: int = ...,
            max_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FinalizedFeatureKey(StructBase):
        name: str
        """Name of the feature."""
        max_version_level: int
        """Level of the feature that is or should be in force."""
        min_version_level: int
        """Lowest level that is in force."""
        def __init__(
            self,
            *,
            name: str = ...,
            max_version_level: int = ...,
            min_version_level: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    api_keys: list[ApiVersionsResponse.ApiVersion]
    """APIs that the broker serves, with their versions."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    supported_features: list[ApiVersionsResponse.SupportedFeatureKey]
    """Features that the broker supports, with their levels."""
    finalized_features_epoch: int
    """Epoch of the finalized features, or -1 if they are unknown."""
    finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey]
    """Features that are in force in the cluster, with their levels."""
    zk_migration_ready: bool
    """Whether the node is ready to migrate from ZooKeeper."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        api_keys: list[ApiVersionsResponse.ApiVersion] = ...,
        throttle_time_ms: int = ...,
        supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = ...,
        finalized_features_epoch: int = ...,
        finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = ...,
        zk_migration_ready: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class CreateTopicsRequest(Message):
    class CreatableReplicaAssignment(StructBase):
        partition_index: int
        """Number of the partition."""
        broker_ids: list[int]
        """Ids of the brokers for the replicas of the partition."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            broker_ids: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CreatableTopicConfig(StructBase):
        name: str
        """Name of the setting."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CreatableTopic(StructBase):
        name: str
        """Name of the topic."""
        num_partitions: int
        """Number of partitions, or -1 for the default."""
        replication_factor: int
        """Number of replicas of each partition."""
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment]
        """Replicas that the client places by hand; empty if the broker places them."""
        configs: list[CreateTopicsRequest.CreatableTopicConfig]
        """Settings."""
        def __init__(
            self,
            *,
            name: str = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = ...,
            configs: list[CreateTopicsRequest.CreatableTopicConfig] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[CreateTopicsRequest.CreatableTopic]
    """Topics to create."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        topics: list[CreateTopicsRequest.CreatableTopic] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[CreateTopicsResponse]: ...

class CreateTopicsResponse(Message):
    class CreatableTopicConfigs(StructBase):
        name: str
        """Name of the setting."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        read_only: bool
        """Whether the setting cannot be changed at run time."""
        config_source: int
        """Where the value comes from, as a number."""
        is_sensitive: bool
        """Whether the value is secret, and so not returned."""
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            read_only: bool = ...,
            config_source: int = ...,
            is_sensitive: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CreatableTopicResult(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        error_code: int
        """Error of the topic; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        topic_config_error_code: int
        """Error if the settings cannot be returned; 0 is none."""
        num_partitions: int
        """Number of partitions, or -1 for the default."""
        replication_factor: int
        """Number of replicas of each partition."""
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None
        """Settings."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            topic_config_error_code: int = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[CreateTopicsResponse.CreatableTopicResult]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[CreateTopicsResponse.CreatableTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteTopicsRequest(Message):
    class DeleteTopicState(StructBase):
        name: str | None
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        def __init__(
            self,
            *,
            name: str | None = ...,
            topic_id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DeleteTopicsRequest.DeleteTopicState]
    """Topics to delete."""
    topic_names: list[str]
    """Names of the topics."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    def __init__(
        self,
        *,
        topics: list[DeleteTopicsRequest.DeleteTopicState] = ...,
        topic_names: list[str] = ...,
        timeout_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteTopicsResponse]: ...

class DeleteTopicsResponse(Message):
    class DeletableTopicResult(StructBase):
        name: str | None
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        error_code: int
        """Error of the topic; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            name: str | None = ...,
            topic_id: UUID = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    responses: list[DeleteTopicsResponse.DeletableTopicResult]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[DeleteTopicsResponse.DeletableTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteRecordsRequest(Message):
    class DeleteRecordsPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        offset: int
        """Offset before which records are deleted; -1 deletes all."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DeleteRecordsTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DeleteRecordsRequest.DeleteRecordsTopic]
    """The topics, with the request for each."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    def __init__(
        self,
        *,
        topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = ...,
        timeout_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteRecordsResponse]: ...

class DeleteRecordsResponse(Message):
    class DeleteRecordsPartitionResult(StructBase):
        partition_index: int
        """Number of the partition."""
        low_watermark: int
        """First offset that remains."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            low_watermark: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DeleteRecordsTopicResult(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class InitProducerIdRequest(Message):
    transactional_id: str | None
    """Transactional id; null for an idempotent producer without transactions."""
    transaction_timeout_ms: int
    """Milliseconds after which the coordinator aborts an open transaction."""
    producer_id: int
    """Producer id that the client has, or -1."""
    producer_epoch: int
    """Producer epoch that the client has, or -1."""
    enable2_pc: bool
    """Whether the producer takes part in a two-phase commit."""
    keep_prepared_txn: bool
    """Whether the open transaction stays open."""
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        transaction_timeout_ms: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        enable2_pc: bool = ...,
        keep_prepared_txn: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[InitProducerIdResponse]: ...

class InitProducerIdResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    producer_id: int
    """Id that the broker gave to the producer."""
    producer_epoch: int
    """Epoch of the producer; an older epoch is fenced."""
    ongoing_txn_producer_id: int
    """Producer id of the open transaction, or -1."""
    ongoing_txn_producer_epoch: int
    """Producer epoch of the open transaction, or -1."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        ongoing_txn_producer_id: int = ...,
        ongoing_txn_producer_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochRequest(Message):
    class OffsetForLeaderPartition(StructBase):
        partition: int
        """Number of the partition."""
        current_leader_epoch: int
        """Epoch whose end is wanted."""
        leader_epoch: int
        """Epoch whose end is wanted."""
        def __init__(
            self,
            *,
            partition: int = ...,
            current_leader_epoch: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetForLeaderTopic(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    replica_id: int
    """Id of the follower that asks; -1 for a consumer."""
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        replica_id: int = ...,
        topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[OffsetForLeaderEpochResponse]: ...

class OffsetForLeaderEpochResponse(Message):
    class EpochEndOffset(StructBase):
        error_code: int
        """Error of the partition; 0 is none."""
        partition: int
        """Number of the partition."""
        leader_epoch: int
        """Largest epoch that the leader has, up to the one asked for; -1 if there is none."""
        end_offset: int
        """Offset after the last record of that epoch, or -1."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            partition: int = ...,
            leader_epoch: int = ...,
            end_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetForLeaderTopicResult(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnRequest(Message):
    class AddPartitionsToTxnTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions to add."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AddPartitionsToTxnTransaction(StructBase):
        transactional_id: str
        """Name under which the producer keeps transactions over restarts."""
        producer_id: int
        """Id that the broker gave to the producer."""
        producer_epoch: int
        """Epoch of the producer; an older epoch is fenced."""
        verify_only: bool
        """Whether the partitions are only looked up and not added."""
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]
        """Partitions to add."""
        def __init__(
            self,
            *,
            transactional_id: str = ...,
            producer_id: int = ...,
            producer_epoch: int = ...,
            verify_only: bool = ...,
            topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction]
    """The transactions, with their partitions."""
    v3_and_below_transactional_id: str
    """Transactional id, in versions with one transaction."""
    v3_and_below_producer_id: int
    """Producer id, in versions with one transaction."""
    v3_and_below_producer_epoch: int
    """Producer epoch, in versions with one transaction."""
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]
    """Partitions to add, in versions with one transaction."""
    def __init__(
        self,
        *,
        transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = ...,
        v3_and_below_transactional_id: str = ...,
        v3_and_below_producer_id: int = ...,
        v3_and_below_producer_epoch: int = ...,
        v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AddPartitionsToTxnResponse]: ...

class AddPartitionsToTxnResponse(Message):
    class AddPartitionsToTxnPartitionResult(StructBase):
        partition_index: int
        """Number of the partition."""
        partition_error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            partition_error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AddPartitionsToTxnTopicResult(StructBase):
        name: str
        """Name of the topic."""
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult]
        """The partitions, with the error of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AddPartitionsToTxnResult(StructBase):
        transactional_id: str
        """Name under which the producer keeps transactions over restarts."""
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]
        """The topics, with the result of each partition."""
        def __init__(
            self,
            *,
            transactional_id: str = ...,
            topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult]
    """The transactions, with the result of each partition."""
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]
    """The topics, in versions with one transaction."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = ...,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AddOffsetsToTxnRequest(Message):
    transactional_id: str
    """Name under which the producer keeps transactions over restarts."""
    producer_id: int
    """Id that the broker gave to the producer."""
    producer_epoch: int
    """Epoch of the producer; an older epoch is fenced."""
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AddOffsetsToTxnResponse]: ...

class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class EndTxnRequest(Message):
    transactional_id: str
    """Name under which the producer keeps transactions over restarts."""
    producer_id: int
    """Id that the broker gave to the producer."""
    producer_epoch: int
    """Epoch of the producer; an older epoch is fenced."""
    committed: bool
    """Whether the transaction is committed; otherwise it is aborted."""
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        committed: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[EndTxnResponse]: ...

class EndTxnResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    producer_id: int
    """Producer id for the next transaction, or -1 if it stays."""
    producer_epoch: int
    """Producer epoch for the next transaction, or -1 if it stays."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersRequest(Message):
    class WritableTxnMarkerTopic(StructBase):
        name: str
        """Name of the topic."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class WritableTxnMarker(StructBase):
        producer_id: int
        """Id that the broker gave to the producer."""
        producer_epoch: int
        """Epoch of the producer; an older epoch is fenced."""
        transaction_result: bool
        """Whether the transaction is committed; otherwise it is aborted."""
        topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic]
        """The topics, with the request for each."""
        coordinator_epoch: int
        """Epoch of the coordinator that sends or stores this."""
        transaction_version: int
        """Level of `transaction.version` of the transaction."""
        def __init__(
            self,
            *,
            producer_id: int = ...,
            producer_epoch: int = ...,
            transaction_result: bool = ...,
            topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = ...,
            coordinator_epoch: int = ...,
            transaction_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    markers: list[WriteTxnMarkersRequest.WritableTxnMarker]
    """Markers that end transactions."""
    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[WriteTxnMarkersResponse]: ...

class WriteTxnMarkersResponse(Message):
    class WritableTxnMarkerPartitionResult(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class WritableTxnMarkerTopicResult(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class WritableTxnMarkerResult(StructBase):
        producer_id: int
        """Id that the broker gave to the producer."""
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult]
        """The topics, with the result of each."""
        def __init__(
            self,
            *,
            producer_id: int = ...,
            topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult]
    """Markers that end transactions."""
    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitRequest(Message):
    class TxnOffsetCommitRequestPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        committed_offset: int
        """Offset of the next record that the group will read."""
        committed_leader_epoch: int
        """Leader epoch of the last record that was read, or -1."""
        committed_metadata: str | None
        """Text of the client that is stored with the offset."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            committed_metadata: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TxnOffsetCommitRequestTopic(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    transactional_id: str
    """Name under which the producer keeps transactions over restarts."""
    group_id: str
    """Name of the group."""
    producer_id: int
    """Id that the broker gave to the producer."""
    producer_epoch: int
    """Epoch of the producer; an older epoch is fenced."""
    generation_id_or_member_epoch: int
    """Generation of a classic group, or epoch of the member; -1 outside of groups."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    group_instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        group_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[TxnOffsetCommitResponse]: ...

class TxnOffsetCommitResponse(Message):
    class TxnOffsetCommitResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TxnOffsetCommitResponseTopic(StructBase):
        name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: UUID = ...,
            partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeAclsRequest(Message):
    resource_type_filter: int
    """Type of resource to match, as a number."""
    resource_name_filter: str | None
    """Name of the resource to match; null matches all."""
    pattern_type_filter: int
    """Type of pattern to match, as a number."""
    principal_filter: str | None
    """Principal to match; null matches all."""
    host_filter: str | None
    """Host to match; null matches all."""
    operation: int
    """Operation that the entry is about, as a number."""
    permission_type: int
    """Whether the entry allows or denies, as a number."""
    def __init__(
        self,
        *,
        resource_type_filter: int = ...,
        resource_name_filter: str | None = ...,
        pattern_type_filter: int = ...,
        principal_filter: str | None = ...,
        host_filter: str | None = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeAclsResponse]: ...

class DescribeAclsResponse(Message):
    class AclDescription(StructBase):
        principal: str
        """Principal, as `User:name`."""
        host: str
        """Host name or address."""
        operation: int
        """Operation that the entry is about, as a number."""
        permission_type: int
        """Whether the entry allows or denies, as a number."""
        def __init__(
            self,
            *,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeAclsResource(StructBase):
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        pattern_type: int
        """How the name of the resource matches: literal or prefixed, as a number."""
        acls: list[DescribeAclsResponse.AclDescription]
        """Access control entries of the resource."""
        def __init__(
            self,
            *,
            resource_type: int = ...,
            resource_name: str = ...,
            pattern_type: int = ...,
            acls: list[DescribeAclsResponse.AclDescription] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    resources: list[DescribeAclsResponse.DescribeAclsResource]
    """The resources, with their access control entries."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        resources: list[DescribeAclsResponse.DescribeAclsResource] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class CreateAclsRequest(Message):
    class AclCreation(StructBase):
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        resource_pattern_type: int
        """How the name of the resource matches: literal or prefixed, as a number."""
        principal: str
        """Principal, as `User:name`."""
        host: str
        """Host name or address."""
        operation: int
        """Operation that the entry is about, as a number."""
        permission_type: int
        """Whether the entry allows or denies, as a number."""
        def __init__(
            self,
            *,
            resource_type: int = ...,
            resource_name: str = ...,
            resource_pattern_type: int = ...,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    creations: list[CreateAclsRequest.AclCreation]
    """Access control entries to create."""
    def __init__(
        self,
        *,
        creations: list[CreateAclsRequest.AclCreation] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[CreateAclsResponse]: ...

class CreateAclsResponse(Message):
    class AclCreationResult(StructBase):
        error_code: int
        """Error of the entry; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[CreateAclsResponse.AclCreationResult]
    """The entries, in the order of the request, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[CreateAclsResponse.AclCreationResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteAclsRequest(Message):
    class DeleteAclsFilter(StructBase):
        resource_type_filter: int
        """Type of resource to match, as a number."""
        resource_name_filter: str | None
        """Name of the resource to match; null matches all."""
        pattern_type_filter: int
        """Type of pattern to match, as a number."""
        principal_filter: str | None
        """Principal to match; null matches all."""
        host_filter: str | None
        """Host to match; null matches all."""
        operation: int
        """Operation that the entry is about, as a number."""
        permission_type: int
        """Whether the entry allows or denies, as a number."""
        def __init__(
            self,
            *,
            resource_type_filter: int = ...,
            resource_name_filter: str | None = ...,
            pattern_type_filter: int = ...,
            principal_filter: str | None = ...,
            host_filter: str | None = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    filters: list[DeleteAclsRequest.DeleteAclsFilter]
    """Filters; entries that match one of them are deleted."""
    def __init__(
        self,
        *,
        filters: list[DeleteAclsRequest.DeleteAclsFilter] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteAclsResponse]: ...

class DeleteAclsResponse(Message):
    class DeleteAclsMatchingAcl(StructBase):
        error_code: int
        """Error of the entry; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        pattern_type: int
        """How the name of the resource matches: literal or prefixed, as a number."""
        principal: str
        """Principal, as `User:name`."""
        host: str
        """Host name or address."""
        operation: int
        """Operation that the entry is about, as a number."""
        permission_type: int
        """Whether the entry allows or denies, as a number."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            pattern_type: int = ...,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DeleteAclsFilterResult(StructBase):
        error_code: int
        """Error of the filter; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl]
        """Entries that matched the filter."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult]
    """The filters, with the entries that each has deleted."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeConfigsRequest(Message):
    class DescribeConfigsResource(StructBase):
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        configuration_keys: list[str] | None
        """Names of the settings to return; null returns all."""
        def __init__(
            self,
            *,
            resource_type: int = ...,
            resource_name: str = ...,
            configuration_keys: list[str] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    resources: list[DescribeConfigsRequest.DescribeConfigsResource]
    """The resources whose settings are wanted."""
    include_synonyms: bool
    """Whether the response lists the other sources of each value."""
    include_documentation: bool
    """Whether the response has a text about each setting."""
    def __init__(
        self,
        *,
        resources: list[DescribeConfigsRequest.DescribeConfigsResource] = ...,
        include_synonyms: bool = ...,
        include_documentation: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeConfigsResponse]: ...

class DescribeConfigsResponse(Message):
    class DescribeConfigsSynonym(StructBase):
        name: str
        """Name of the setting."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        source: int
        """Where the value comes from, as a number."""
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            source: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeConfigsResourceResult(StructBase):
        name: str
        """Name of the setting."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        read_only: bool
        """Whether the setting cannot be changed at run time."""
        config_source: int
        """Where the value comes from, as a number."""
        is_default: bool
        """Whether the value is the default."""
        is_sensitive: bool
        """Whether the value is secret, and so not returned."""
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym]
        """Other sources of the value, the strongest first."""
        config_type: int
        """Type of the value, as a number."""
        documentation: str | None
        """Text about the setting."""
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            read_only: bool = ...,
            config_source: int = ...,
            is_default: bool = ...,
            is_sensitive: bool = ...,
            synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = ...,
            config_type: int = ...,
            documentation: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeConfigsResult(StructBase):
        error_code: int
        """Error of the resource; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult]
        """Settings."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[DescribeConfigsResponse.DescribeConfigsResult]
    """The resources, with their settings."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DescribeConfigsResponse.DescribeConfigsResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterConfigsRequest(Message):
    class AlterableConfig(StructBase):
        name: str
        """Name of the setting."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterConfigsResource(StructBase):
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        configs: list[AlterConfigsRequest.AlterableConfig]
        """Settings."""
        def __init__(
            self,
            *,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: list[AlterConfigsRequest.AlterableConfig] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    resources: list[AlterConfigsRequest.AlterConfigsResource]
    """The resources, with the settings to change."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        resources: list[AlterConfigsRequest.AlterConfigsResource] = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterConfigsResponse]: ...

class AlterConfigsResponse(Message):
    class AlterConfigsResourceResponse(StructBase):
        error_code: int
        """Error of the resource; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse]
    """The resources, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsRequest(Message):
    class AlterReplicaLogDirTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterReplicaLogDir(StructBase):
        path: str
        """Absolute path of the log directory."""
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic]
        """The topics, with the request for each."""
        def __init__(
            self,
            *,
            path: str = ...,
            topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir]
    """Log directories, with the replicas to move there."""
    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterReplicaLogDirsResponse]: ...

class AlterReplicaLogDirsResponse(Message):
    class AlterReplicaLogDirPartitionResult(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterReplicaLogDirTopicResult(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult]
    """The topics, with the result of each replica."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsRequest(Message):
    class DescribableLogDirTopic(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None
    """Topics to describe; null for all."""
    def __init__(
        self,
        *,
        topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeLogDirsResponse]: ...

class DescribeLogDirsResponse(Message):
    class DescribeLogDirsPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        partition_size: int
        """Bytes of the log."""
        offset_lag: int
        """Records by which the replica is behind."""
        is_future_key: bool
        """Whether the log will replace the current one after a move."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            partition_size: int = ...,
            offset_lag: int = ...,
            is_future_key: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeLogDirsTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeLogDirsResult(StructBase):
        error_code: int
        """Error of the log directory; 0 is none."""
        log_dir: str
        """Absolute path of the log directory."""
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic]
        """The topics, with the result of each."""
        total_bytes: int
        """Size of the volume in bytes, or -1."""
        usable_bytes: int
        """Bytes that the volume has left, or -1."""
        is_cordoned: bool
        """Whether the directory gets no new partitions."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            log_dir: str = ...,
            topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = ...,
            total_bytes: int = ...,
            usable_bytes: int = ...,
            is_cordoned: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult]
    """The log directories, with their partitions."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SaslAuthenticateRequest(Message):
    auth_bytes: _Bytes
    """Token of the SASL mechanism."""
    def __init__(
        self,
        *,
        auth_bytes: _Bytes = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[SaslAuthenticateResponse]: ...

class SaslAuthenticateResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    auth_bytes: _Bytes
    """Token of the SASL mechanism."""
    session_lifetime_ms: int
    """Milliseconds after which the client must authenticate again; 0 is never."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        auth_bytes: _Bytes = ...,
        session_lifetime_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class CreatePartitionsRequest(Message):
    class CreatePartitionsAssignment(StructBase):
        broker_ids: list[int]
        """Ids of the brokers for the replicas of the partition."""
        def __init__(
            self,
            *,
            broker_ids: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CreatePartitionsTopic(StructBase):
        name: str
        """Name of the topic."""
        count: int
        """Number of partitions that the topic should have."""
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None
        """Replicas of the new partitions; null if the broker places them."""
        def __init__(
            self,
            *,
            name: str = ...,
            count: int = ...,
            assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[CreatePartitionsRequest.CreatePartitionsTopic]
    """The topics, with the request for each."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[CreatePartitionsResponse]: ...

class CreatePartitionsResponse(Message):
    class CreatePartitionsTopicResult(StructBase):
        name: str
        """Name of the topic."""
        error_code: int
        """Error of the topic; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            name: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class CreateDelegationTokenRequest(Message):
    class CreatableRenewers(StructBase):
        principal_type: str
        """Type of the principal, for example `User`."""
        principal_name: str
        """Name of the principal."""
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    owner_principal_type: str | None
    """Type of the principal that will own the token; null for the sender."""
    owner_principal_name: str | None
    """Name of the principal that will own the token; null for the sender."""
    renewers: list[CreateDelegationTokenRequest.CreatableRenewers]
    """Principals that may renew the token."""
    max_lifetime_ms: int
    """Milliseconds for which the token can be renewed, or -1 for the setting of the broker."""
    def __init__(
        self,
        *,
        owner_principal_type: str | None = ...,
        owner_principal_name: str | None = ...,
        renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = ...,
        max_lifetime_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[CreateDelegationTokenResponse]: ...

class CreateDelegationTokenResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    principal_type: str
    """Type of the principal, for example `User`."""
    principal_name: str
    """Name of the principal."""
    token_requester_principal_type: str
    """Type of the principal that asked for the token."""
    token_requester_principal_name: str
    """Name of the principal that asked for the token."""
    issue_timestamp_ms: int
    """Time at which the token was created, in milliseconds since 1970."""
    expiry_timestamp_ms: int
    """Time at which the token expires unless it is renewed, in milliseconds since 1970."""
    max_timestamp_ms: int
    """Time after which the token cannot be renewed, in milliseconds since 1970."""
    token_id: str
    """Id of the delegation token."""
    hmac: _Bytes
    """HMAC of the delegation token, which is its secret."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp_ms: int = ...,
        expiry_timestamp_ms: int = ...,
        max_timestamp_ms: int = ...,
        token_id: str = ...,
        hmac: _Bytes = ...,
        throttle_time_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RenewDelegationTokenRequest(Message):
    hmac: _Bytes
    """HMAC of the delegation token, which is its secret."""
    renew_period_ms: int
    """Milliseconds by which the token is renewed."""
    def __init__(
        self,
        *,
        hmac: _Bytes = ...,
        renew_period_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[RenewDelegationTokenResponse]: ...

class RenewDelegationTokenResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    expiry_timestamp_ms: int
    """Time at which the token expires unless it is renewed, in milliseconds since 1970."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ExpireDelegationTokenRequest(Message):
    hmac: _Bytes
    """HMAC of the delegation token, which is its secret."""
    expiry_time_period_ms: int
    """Milliseconds after which the token expires; negative expires it now."""
    def __init__(
        self,
        *,
        hmac: _Bytes = ...,
        expiry_time_period_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ExpireDelegationTokenResponse]: ...

class ExpireDelegationTokenResponse(Message):
    error_code: int
    """Error of the whole request; 0 is none."""
    expiry_timestamp_ms: int
    """Time at which the token expires unless it is renewed, in milliseconds since 1970."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenRequest(Message):
    class DescribeDelegationTokenOwner(StructBase):
        principal_type: str
        """Type of the principal, for example `User`."""
        principal_name: str
        """Name of the principal."""
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None
    """Owners whose tokens are wanted; null for all."""
    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeDelegationTokenResponse]: ...

class DescribeDelegationTokenResponse(Message):
    class DescribedDelegationTokenRenewer(StructBase):
        principal_type: str
        """Type of the principal, for example `User`."""
        principal_name: str
        """Name of the principal."""
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribedDelegationToken(StructBase):
        principal_type: str
        """Type of the principal, for example `User`."""
        principal_name: str
        """Name of the principal."""
        token_requester_principal_type: str
        """Type of the principal that asked for the token."""
        token_requester_principal_name: str
        """Name of the principal that asked for the token."""
        issue_timestamp: int
        """Time at which the token was created, in milliseconds since 1970."""
        expiry_timestamp: int
        """Time at which the token expires unless it is renewed, in milliseconds since 1970."""
        max_timestamp: int
        """Time after which the token cannot be renewed, in milliseconds since 1970."""
        token_id: str
        """Id of the delegation token."""
        hmac: _Bytes
        """HMAC of the delegation token, which is its secret."""
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer]
        """Principals that may renew the token."""
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            token_requester_principal_type: str = ...,
            token_requester_principal_name: str = ...,
            issue_timestamp: int = ...,
            expiry_timestamp: int = ...,
            max_timestamp: int = ...,
            token_id: str = ...,
            hmac: _Bytes = ...,
            renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken]
    """The tokens."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = ...,
        throttle_time_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteGroupsRequest(Message):
    groups_names: list[str]
    """Names of the groups."""
    def __init__(
        self,
        *,
        groups_names: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteGroupsResponse]: ...

class DeleteGroupsResponse(Message):
    class DeletableGroupResult(StructBase):
        group_id: str
        """Name of the group."""
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[DeleteGroupsResponse.DeletableGroupResult]
    """The groups, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DeleteGroupsResponse.DeletableGroupResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ElectLeadersRequest(Message):
    class TopicPartitions(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    election_type: int
    """0 elects the preferred leader, 1 any replica even if it lost records."""
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None
    """The topics, with their partitions."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    def __init__(
        self,
        *,
        election_type: int = ...,
        topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = ...,
        timeout_ms: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ElectLeadersResponse]: ...

class ElectLeadersResponse(Message):
    class PartitionResult(StructBase):
        partition_id: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition_id: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReplicaElectionResult(StructBase):
        topic: str
        """Name of the topic."""
        partition_result: list[ElectLeadersResponse.PartitionResult]
        """The partitions, with the result of each election."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partition_result: list[ElectLeadersResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult]
    """The topics, with the result of each election."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsRequest(Message):
    class AlterableConfig(StructBase):
        name: str
        """Name of the setting."""
        config_operation: int
        """0 set, 1 delete, 2 append to a list, 3 remove from a list."""
        value: str | None
        """Value of the setting; null is the default, or a secret that is not returned."""
        def __init__(
            self,
            *,
            name: str = ...,
            config_operation: int = ...,
            value: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterConfigsResource(StructBase):
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        configs: list[IncrementalAlterConfigsRequest.AlterableConfig]
        """Settings."""
        def __init__(
            self,
            *,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: list[IncrementalAlterConfigsRequest.AlterableConfig] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource]
    """The resources, with the settings to change."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[IncrementalAlterConfigsResponse]: ...

class IncrementalAlterConfigsResponse(Message):
    class AlterConfigsResourceResponse(StructBase):
        error_code: int
        """Error of the resource; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        resource_type: int
        """Type of the resource, as a number."""
        resource_name: str
        """Name of the resource."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse]
    """The resources, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequest(Message):
    class ReassignablePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        replicas: list[int] | None
        """Ids of the brokers with a replica, the preferred leader first."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            replicas: list[int] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReassignableTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    allow_replication_factor_change: bool
    """Whether a reassignment may change the number of replicas."""
    topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterPartitionReassignmentsResponse]: ...

class AlterPartitionReassignmentsResponse(Message):
    class ReassignablePartitionResponse(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReassignableTopicResponse(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    allow_replication_factor_change: bool
    """Whether a reassignment may change the number of replicas."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsRequest(Message):
    class ListPartitionReassignmentsTopics(StructBase):
        name: str
        """Name of the topic."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None
    """Topics to list; null for all."""
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ListPartitionReassignmentsResponse]: ...

class ListPartitionReassignmentsResponse(Message):
    class OngoingPartitionReassignment(StructBase):
        partition_index: int
        """Number of the partition."""
        replicas: list[int]
        """Ids of the brokers with a replica, the preferred leader first."""
        adding_replicas: list[int]
        """Replicas that a reassignment adds."""
        removing_replicas: list[int]
        """Replicas that a reassignment removes."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            replicas: list[int] = ...,
            adding_replicas: list[int] = ...,
            removing_replicas: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OngoingTopicReassignment(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetDeleteRequest(Message):
    class OffsetDeleteRequestPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetDeleteRequestTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[OffsetDeleteResponse]: ...

class OffsetDeleteResponse(Message):
    class OffsetDeleteResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OffsetDeleteResponseTopic(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        throttle_time_ms: int = ...,
        topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasRequest(Message):
    class ComponentData(StructBase):
        entity_type: str
        """Kind of the entity: `user`, `client-id` or `ip`."""
        match_type: int
        """0 an exact name, 1 the default, 2 any name."""
        match: str | None
        """Name to match; null if the type of match needs none."""
        def __init__(
            self,
            *,
            entity_type: str = ...,
            match_type: int = ...,
            match: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    components: list[DescribeClientQuotasRequest.ComponentData]
    """Parts of the entities to match."""
    strict: bool
    """Whether entities with further parts are left out."""
    def __init__(
        self,
        *,
        components: list[DescribeClientQuotasRequest.ComponentData] = ...,
        strict: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeClientQuotasResponse]: ...

class DescribeClientQuotasResponse(Message):
    class EntityData(StructBase):
        entity_type: str
        """Kind of the entity: `user`, `client-id` or `ip`."""
        entity_name: str | None
        """Name of the entity; null is the default of its kind."""
        def __init__(
            self,
            *,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ValueData(StructBase):
        key: str
        """Name of the quota, for example `producer_byte_rate`."""
        value: float
        """Value of the quota."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: float = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class EntryData(StructBase):
        entity: list[DescribeClientQuotasResponse.EntityData]
        """The parts of the entity, for example a user and a client id."""
        values: list[DescribeClientQuotasResponse.ValueData]
        """Quotas of the entity."""
        def __init__(
            self,
            *,
            entity: list[DescribeClientQuotasResponse.EntityData] = ...,
            values: list[DescribeClientQuotasResponse.ValueData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    entries: list[DescribeClientQuotasResponse.EntryData] | None
    """The entities, with their quotas."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        entries: list[DescribeClientQuotasResponse.EntryData] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasRequest(Message):
    class EntityData(StructBase):
        entity_type: str
        """Kind of the entity: `user`, `client-id` or `ip`."""
        entity_name: str | None
        """Name of the entity; null is the default of its kind."""
        def __init__(
            self,
            *,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class OpData(StructBase):
        key: str
        """Name of the quota, for example `producer_byte_rate`."""
        value: float
        """Value of the quota."""
        remove: bool
        """Whether the quota is removed."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: float = ...,
            remove: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class EntryData(StructBase):
        entity: list[AlterClientQuotasRequest.EntityData]
        """The parts of the entity, for example a user and a client id."""
        ops: list[AlterClientQuotasRequest.OpData]
        """Changes of quotas."""
        def __init__(
            self,
            *,
            entity: list[AlterClientQuotasRequest.EntityData] = ...,
            ops: list[AlterClientQuotasRequest.OpData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    entries: list[AlterClientQuotasRequest.EntryData]
    """The entities, with their quotas."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        entries: list[AlterClientQuotasRequest.EntryData] = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterClientQuotasResponse]: ...

class AlterClientQuotasResponse(Message):
    class EntityData(StructBase):
        entity_type: str
        """Kind of the entity: `user`, `client-id` or `ip`."""
        entity_name: str | None
        """Name of the entity; null is the default of its kind."""
        def __init__(
            self,
            *,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class EntryData(StructBase):
        error_code: int
        """Error of the entity; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        entity: list[AlterClientQuotasResponse.EntityData]
        """The parts of the entity, for example a user and a client id."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            entity: list[AlterClientQuotasResponse.EntityData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    entries: list[AlterClientQuotasResponse.EntryData]
    """The entities, with their quotas."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        entries: list[AlterClientQuotasResponse.EntryData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsRequest(Message):
    class UserName(StructBase):
        name: str
        """Name of the user."""
        def __init__(
            self,
            *,
            name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    users: list[DescribeUserScramCredentialsRequest.UserName] | None
    """Users to describe; null or empty for all."""
    def __init__(
        self,
        *,
        users: list[DescribeUserScramCredentialsRequest.UserName] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeUserScramCredentialsResponse]: ...

class DescribeUserScramCredentialsResponse(Message):
    class CredentialInfo(StructBase):
        mechanism: int
        """SCRAM mechanism: 1 SHA-256, 2 SHA-512."""
        iterations: int
        """Number of iterations of the SCRAM hash."""
        def __init__(
            self,
            *,
            mechanism: int = ...,
            iterations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeUserScramCredentialsResult(StructBase):
        user: str
        """Name of the user."""
        error_code: int
        """Error of the user; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo]
        """Credentials of the user, without secrets."""
        def __init__(
            self,
            *,
            user: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult]
    """The users, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsRequest(Message):
    class ScramCredentialDeletion(StructBase):
        name: str
        """Name of the user."""
        mechanism: int
        """SCRAM mechanism: 1 SHA-256, 2 SHA-512."""
        def __init__(
            self,
            *,
            name: str = ...,
            mechanism: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ScramCredentialUpsertion(StructBase):
        name: str
        """Name of the user."""
        mechanism: int
        """SCRAM mechanism: 1 SHA-256, 2 SHA-512."""
        iterations: int
        """Number of iterations of the SCRAM hash."""
        salt: _Bytes
        """Salt of the SCRAM hash."""
        salted_password: _Bytes
        """Salted and hashed password, which is a secret."""
        def __init__(
            self,
            *,
            name: str = ...,
            mechanism: int = ...,
            iterations: int = ...,
            salt: _Bytes = ...,
            salted_password: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion]
    """Credentials to delete."""
    upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion]
    """Credentials to create or replace."""
    def __init__(
        self,
        *,
        deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = ...,
        upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterUserScramCredentialsResponse]: ...

class AlterUserScramCredentialsResponse(Message):
    class AlterUserScramCredentialsResult(StructBase):
        user: str
        """Name of the user."""
        error_code: int
        """Error of the user; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            user: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult]
    """The users, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class VoteRequest(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        replica_epoch: int
        """Epoch of the candidate."""
        replica_id: int
        """Id of the candidate."""
        replica_directory_id: UUID
        """Id of the directory in which the replica keeps its log."""
        voter_directory_id: UUID
        """Id of the directory in which the voter keeps its log."""
        last_offset_epoch: int
        """Epoch of the last record of the voter."""
        last_offset: int
        """Offset after the last record of the candidate."""
        pre_vote: bool
        """Whether the vote only asks if an election could succeed."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            replica_epoch: int = ...,
            replica_id: int = ...,
            replica_directory_id: UUID = ...,
            voter_directory_id: UUID = ...,
            last_offset_epoch: int = ...,
            last_offset: int = ...,
            pre_vote: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[VoteRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[VoteRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    voter_id: int
    """Id of the voter."""
    topics: list[VoteRequest.TopicData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: list[VoteRequest.TopicData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[VoteResponse]: ...

class VoteResponse(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        vote_granted: bool
        """Whether the vote is granted."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            vote_granted: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[VoteResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[VoteResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    topics: list[VoteResponse.TopicData]
    """The topics, with the result of each."""
    node_endpoints: list[VoteResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[VoteResponse.TopicData] = ...,
        node_endpoints: list[VoteResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochRequest(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        voter_directory_id: UUID
        """Id of the directory in which the voter keeps its log."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            voter_directory_id: UUID = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[BeginQuorumEpochRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[BeginQuorumEpochRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderEndpoint(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    voter_id: int
    """Id of the voter."""
    topics: list[BeginQuorumEpochRequest.TopicData]
    """The topics, with the request for each."""
    leader_endpoints: list[BeginQuorumEpochRequest.LeaderEndpoint]
    """Addresses of the leader."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: list[BeginQuorumEpochRequest.TopicData] = ...,
        leader_endpoints: list[BeginQuorumEpochRequest.LeaderEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[BeginQuorumEpochResponse]: ...

class BeginQuorumEpochResponse(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[BeginQuorumEpochResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[BeginQuorumEpochResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    topics: list[BeginQuorumEpochResponse.TopicData]
    """The topics, with the result of each."""
    node_endpoints: list[BeginQuorumEpochResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[BeginQuorumEpochResponse.TopicData] = ...,
        node_endpoints: list[BeginQuorumEpochResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequest(Message):
    class ReplicaInfo(StructBase):
        candidate_id: int
        """Id of the voter."""
        candidate_directory_id: UUID
        """Id of the directory in which the voter keeps its log."""
        def __init__(
            self,
            *,
            candidate_id: int = ...,
            candidate_directory_id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        preferred_successors: list[int]
        """Voters that should become leader, the best first."""
        preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo]
        """Voters that should become leader, the best first."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            preferred_successors: list[int] = ...,
            preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[EndQuorumEpochRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[EndQuorumEpochRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderEndpoint(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    topics: list[EndQuorumEpochRequest.TopicData]
    """The topics, with the request for each."""
    leader_endpoints: list[EndQuorumEpochRequest.LeaderEndpoint]
    """Addresses of the leader."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        topics: list[EndQuorumEpochRequest.TopicData] = ...,
        leader_endpoints: list[EndQuorumEpochRequest.LeaderEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[EndQuorumEpochResponse]: ...

class EndQuorumEpochResponse(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[EndQuorumEpochResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[EndQuorumEpochResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    topics: list[EndQuorumEpochResponse.TopicData]
    """The topics, with the result of each."""
    node_endpoints: list[EndQuorumEpochResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[EndQuorumEpochResponse.TopicData] = ...,
        node_endpoints: list[EndQuorumEpochResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeQuorumRequest(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[DescribeQuorumRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[DescribeQuorumRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DescribeQuorumRequest.TopicData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        topics: list[DescribeQuorumRequest.TopicData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeQuorumResponse]: ...

class DescribeQuorumResponse(Message):
    class ReplicaState(StructBase):
        replica_id: int
        """Id of the follower, or -1 for a consumer."""
        replica_directory_id: UUID
        """Id of the directory in which the replica keeps its log."""
        log_end_offset: int
        """Offset after the last record of the replica."""
        last_fetch_timestamp: int
        """Time of the last fetch of the replica, in milliseconds since 1970, or -1."""
        last_caught_up_timestamp: int
        """Time at which the replica last had all records, in milliseconds since 1970, or -1."""
        def __init__(
            self,
            *,
            replica_id: int = ...,
            replica_directory_id: UUID = ...,
            log_end_offset: int = ...,
            last_fetch_timestamp: int = ...,
            last_caught_up_timestamp: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        leader_id: int
        """Id of the leader of the quorum, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        high_watermark: int
        """Offset up to which records are replicated and visible."""
        current_voters: list[DescribeQuorumResponse.ReplicaState]
        """Voters of the quorum, with their progress."""
        observers: list[DescribeQuorumResponse.ReplicaState]
        """Nodes that follow the log without a vote, with their progress."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            high_watermark: int = ...,
            current_voters: list[DescribeQuorumResponse.ReplicaState] = ...,
            observers: list[DescribeQuorumResponse.ReplicaState] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[DescribeQuorumResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[DescribeQuorumResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Listener(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Node(StructBase):
        node_id: int
        """Id of the node."""
        listeners: list[DescribeQuorumResponse.Listener]
        """Listeners of the node."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            listeners: list[DescribeQuorumResponse.Listener] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    topics: list[DescribeQuorumResponse.TopicData]
    """The topics, with the result of each."""
    nodes: list[DescribeQuorumResponse.Node]
    """The nodes, with their addresses."""
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[DescribeQuorumResponse.TopicData] = ...,
        nodes: list[DescribeQuorumResponse.Node] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterPartitionRequest(Message):
    class BrokerState(StructBase):
        broker_id: int
        """Id of the broker."""
        broker_epoch: int
        """Epoch of the broker, given at its registration; older ones are refused."""
        def __init__(
            self,
            *,
            broker_id: int = ...,
            broker_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        new_isr: list[int]
        """Replicas that should be in sync."""
        new_isr_with_epochs: list[AlterPartitionRequest.BrokerState]
        """Replicas that should be in sync, with the epochs of their brokers."""
        leader_recovery_state: int
        """1 if the leader still recovers from an unclean election, otherwise 0."""
        partition_epoch: int
        """Epoch of the partition; it grows with every change of its replicas."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            leader_epoch: int = ...,
            new_isr: list[int] = ...,
            new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] = ...,
            leader_recovery_state: int = ...,
            partition_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[AlterPartitionRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partitions: list[AlterPartitionRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    topics: list[AlterPartitionRequest.TopicData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        topics: list[AlterPartitionRequest.TopicData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterPartitionResponse]: ...

class AlterPartitionResponse(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        leader_id: int
        """Id of the broker that leads the partition, or -1 if there is none."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        isr: list[int]
        """Ids of the replicas that are in sync with the leader."""
        leader_recovery_state: int
        """1 if the leader still recovers from an unclean election, otherwise 0."""
        partition_epoch: int
        """Epoch of the partition; it grows with every change of its replicas."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            isr: list[int] = ...,
            leader_recovery_state: int = ...,
            partition_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[AlterPartitionResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partitions: list[AlterPartitionResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    topics: list[AlterPartitionResponse.TopicData]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[AlterPartitionResponse.TopicData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UpdateFeaturesRequest(Message):
    class FeatureUpdateKey(StructBase):
        feature: str
        """Name of the feature."""
        max_version_level: int
        """Level of the feature that is or should be in force."""
        allow_downgrade: bool
        """Whether the level may fall."""
        upgrade_type: int
        """1 only upgrades, 2 also safe downgrades, 3 also downgrades that lose data."""
        def __init__(
            self,
            *,
            feature: str = ...,
            max_version_level: int = ...,
            allow_downgrade: bool = ...,
            upgrade_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey]
    """Features to change."""
    validate_only: bool
    """Whether the request is only checked and nothing is changed."""
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = ...,
        validate_only: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[UpdateFeaturesResponse]: ...

class UpdateFeaturesResponse(Message):
    class UpdatableFeatureResult(StructBase):
        feature: str
        """Name of the feature."""
        error_code: int
        """Error of the feature; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            feature: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    results: list[UpdateFeaturesResponse.UpdatableFeatureResult]
    """The features, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class EnvelopeRequest(Message):
    request_data: _Bytes
    """The forwarded request, with its header."""
    request_principal: _Bytes | None
    """Principal that sent the request, as bytes of the principal builder."""
    client_host_address: _Bytes
    """Address of the client that sent the request."""
    def __init__(
        self,
        *,
        request_data: _Bytes = ...,
        request_principal: _Bytes | None = ...,
        client_host_address: _Bytes = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[EnvelopeResponse]: ...

class EnvelopeResponse(Message):
    response_data: _Bytes | None
    """The response, with its header; null if there is an error."""
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        response_data: _Bytes | None = ...,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class FetchSnapshotRequest(Message):
    class SnapshotId(StructBase):
        end_offset: int
        """Offset after the last record."""
        epoch: int
        """Epoch of the last record in the snapshot."""
        def __init__(
            self,
            *,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionSnapshot(StructBase):
        partition: int
        """Number of the partition."""
        current_leader_epoch: int
        """Leader epoch that the sender knows, or -1; the broker refuses another one."""
        snapshot_id: FetchSnapshotRequest.SnapshotId
        """Snapshot, named by the offset and the epoch at its end."""
        position: int
        """Position in the snapshot, in bytes."""
        replica_directory_id: UUID
        """Id of the directory in which the replica keeps its log."""
        def __init__(
            self,
            *,
            partition: int = ...,
            current_leader_epoch: int = ...,
            snapshot_id: FetchSnapshotRequest.SnapshotId = ...,
            position: int = ...,
            replica_directory_id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicSnapshot(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[FetchSnapshotRequest.PartitionSnapshot]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[FetchSnapshotRequest.PartitionSnapshot] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    replica_id: int
    """Id of the follower that asks; -1 for a consumer."""
    max_bytes: int
    """Most bytes that the response should have; the first batch comes even if it is larger."""
    topics: list[FetchSnapshotRequest.TopicSnapshot]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        max_bytes: int = ...,
        topics: list[FetchSnapshotRequest.TopicSnapshot] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[FetchSnapshotResponse]: ...

class FetchSnapshotResponse(Message):
    class SnapshotId(StructBase):
        end_offset: int
        """Offset after the last record."""
        epoch: int
        """Epoch of the last record in the snapshot."""
        def __init__(
            self,
            *,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class LeaderIdAndEpoch(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionSnapshot(StructBase):
        index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        snapshot_id: FetchSnapshotResponse.SnapshotId
        """Snapshot, named by the offset and the epoch at its end."""
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch
        """Leader of the partition, if the client asked the wrong broker."""
        size: int
        """Size of the snapshot in bytes."""
        position: int
        """Position in the snapshot, in bytes."""
        unaligned_records: _Bytes
        """Bytes of the snapshot, which may begin and end within a batch."""
        def __init__(
            self,
            *,
            index: int = ...,
            error_code: int = ...,
            snapshot_id: FetchSnapshotResponse.SnapshotId = ...,
            current_leader: FetchSnapshotResponse.LeaderIdAndEpoch = ...,
            size: int = ...,
            position: int = ...,
            unaligned_records: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicSnapshot(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[FetchSnapshotResponse.PartitionSnapshot]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[FetchSnapshotResponse.PartitionSnapshot] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    topics: list[FetchSnapshotResponse.TopicSnapshot]
    """The topics, with the result of each."""
    node_endpoints: list[FetchSnapshotResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[FetchSnapshotResponse.TopicSnapshot] = ...,
        node_endpoints: list[FetchSnapshotResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: bool
    """Whether the response lists the operations on the cluster that the client is allowed."""
    endpoint_type: int
    """1 for brokers, 2 for controllers."""
    include_fenced_brokers: bool
    """Whether fenced brokers are returned too."""
    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = ...,
        endpoint_type: int = ...,
        include_fenced_brokers: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeClusterResponse]: ...

class DescribeClusterResponse(Message):
    class DescribeClusterBroker(StructBase):
        broker_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        is_fenced: bool
        """Whether the broker is fenced."""
        def __init__(
            self,
            *,
            broker_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            is_fenced: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    endpoint_type: int
    """1 for brokers, 2 for controllers."""
    cluster_id: str
    """Id of the cluster."""
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    brokers: list[DescribeClusterResponse.DescribeClusterBroker]
    """The brokers."""
    cluster_authorized_operations: int
    """Operations on the cluster that the client is allowed, as bits; the lowest number if not asked for."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        endpoint_type: int = ...,
        cluster_id: str = ...,
        controller_id: int = ...,
        brokers: list[DescribeClusterResponse.DescribeClusterBroker] = ...,
        cluster_authorized_operations: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeProducersRequest(Message):
    class TopicRequest(StructBase):
        name: str
        """Name of the topic."""
        partition_indexes: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DescribeProducersRequest.TopicRequest]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        topics: list[DescribeProducersRequest.TopicRequest] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeProducersResponse]: ...

class DescribeProducersResponse(Message):
    class ProducerState(StructBase):
        producer_id: int
        """Id that the broker gave to the producer."""
        producer_epoch: int
        """Epoch of the producer; an older epoch is fenced."""
        last_sequence: int
        """Sequence of the last record of the producer."""
        last_timestamp: int
        """Time of the last record of the producer, in milliseconds since 1970."""
        coordinator_epoch: int
        """Epoch of the coordinator that sends or stores this."""
        current_txn_start_offset: int
        """First offset of the open transaction, or -1."""
        def __init__(
            self,
            *,
            producer_id: int = ...,
            producer_epoch: int = ...,
            last_sequence: int = ...,
            last_timestamp: int = ...,
            coordinator_epoch: int = ...,
            current_txn_start_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionResponse(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        active_producers: list[DescribeProducersResponse.ProducerState]
        """Producers that the partition knows."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            active_producers: list[DescribeProducersResponse.ProducerState] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicResponse(StructBase):
        name: str
        """Name of the topic."""
        partitions: list[DescribeProducersResponse.PartitionResponse]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[DescribeProducersResponse.PartitionResponse] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[DescribeProducersResponse.TopicResponse]
    """The topics, with the result of each."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DescribeProducersResponse.TopicResponse] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationRequest(Message):
    class Listener(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        security_protocol: int
        """Security protocol of the listener, as a number."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Feature(StructBase):
        name: str
        """Name of the feature."""
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    broker_id: int
    """Id of the broker."""
    cluster_id: str
    """Id of the cluster."""
    incarnation_id: UUID
    """Random id of this start of the process."""
    listeners: list[BrokerRegistrationRequest.Listener]
    """Listeners of the node."""
    features: list[BrokerRegistrationRequest.Feature]
    """Features, with the levels that the sender supports."""
    rack: str | None
    """Rack of the broker; null if it has none."""
    is_migrating_zk_broker: bool
    """Whether the broker runs with ZooKeeper and is about to migrate."""
    log_dirs: list[UUID]
    """Ids of the log directories of the broker."""
    previous_broker_epoch: int
    """Epoch of the broker before its last shutdown, or -1."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        cluster_id: str = ...,
        incarnation_id: UUID = ...,
        listeners: list[BrokerRegistrationRequest.Listener] = ...,
        features: list[BrokerRegistrationRequest.Feature] = ...,
        rack: str | None = ...,
        is_migrating_zk_broker: bool = ...,
        log_dirs: list[UUID] = ...,
        previous_broker_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[BrokerRegistrationResponse]: ...

class BrokerRegistrationResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        broker_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class BrokerHeartbeatRequest(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    current_metadata_offset: int
    """Last offset of the metadata log that the broker has applied."""
    want_fence: bool
    """Whether the broker wants to be fenced."""
    want_shut_down: bool
    """Whether the broker wants to shut down in order."""
    offline_log_dirs: list[UUID]
    """Ids of log directories that failed."""
    cordoned_log_dirs: list[UUID] | None
    """Ids of log directories that get no new partitions."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        current_metadata_offset: int = ...,
        want_fence: bool = ...,
        want_shut_down: bool = ...,
        offline_log_dirs: list[UUID] = ...,
        cordoned_log_dirs: list[UUID] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[BrokerHeartbeatResponse]: ...

class BrokerHeartbeatResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    is_caught_up: bool
    """Whether the broker has applied nearly all metadata."""
    is_fenced: bool
    """Whether the broker is fenced."""
    should_shut_down: bool
    """Whether the broker may shut down now."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        is_caught_up: bool = ...,
        is_fenced: bool = ...,
        should_shut_down: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UnregisterBrokerRequest(Message):
    broker_id: int
    """Id of the broker."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[UnregisterBrokerResponse]: ...

class UnregisterBrokerResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeTransactionsRequest(Message):
    transactional_ids: list[str]
    """Transactional ids to describe."""
    def __init__(
        self,
        *,
        transactional_ids: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeTransactionsResponse]: ...

class DescribeTransactionsResponse(Message):
    class TopicData(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TransactionState(StructBase):
        error_code: int
        """Error of the transaction; 0 is none."""
        transactional_id: str
        """Name under which the producer keeps transactions over restarts."""
        transaction_state: str
        """State of the transaction, in words."""
        transaction_timeout_ms: int
        """Milliseconds after which the coordinator aborts an open transaction."""
        transaction_start_time_ms: int
        """Time at which the transaction began, in milliseconds since 1970."""
        producer_id: int
        """Id that the broker gave to the producer."""
        producer_epoch: int
        """Epoch of the producer; an older epoch is fenced."""
        topics: list[DescribeTransactionsResponse.TopicData]
        """The topics, with the result of each."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            transactional_id: str = ...,
            transaction_state: str = ...,
            transaction_timeout_ms: int = ...,
            transaction_start_time_ms: int = ...,
            producer_id: int = ...,
            producer_epoch: int = ...,
            topics: list[DescribeTransactionsResponse.TopicData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    transaction_states: list[DescribeTransactionsResponse.TransactionState]
    """The transactions, with their state."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        transaction_states: list[DescribeTransactionsResponse.TransactionState] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ListTransactionsRequest(Message):
    state_filters: list[str]
    """States of transactions to return; empty returns all."""
    producer_id_filters: list[int]
    """Producer ids to return; empty returns all."""
    duration_filter: int
    """Milliseconds for which a transaction must be open at least; negative for no filter."""
    transactional_id_pattern: str | None
    """Regular expression that transactional ids must match; null for no filter."""
    def __init__(
        self,
        *,
        state_filters: list[str] = ...,
        producer_id_filters: list[int] = ...,
        duration_filter: int = ...,
        transactional_id_pattern: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ListTransactionsResponse]: ...

class ListTransactionsResponse(Message):
    class TransactionState(StructBase):
        transactional_id: str
        """Name under which the producer keeps transactions over restarts."""
        producer_id: int
        """Id that the broker gave to the producer."""
        transaction_state: str
        """State of the transaction, in words."""
        def __init__(
            self,
            *,
            transactional_id: str = ...,
            producer_id: int = ...,
            transaction_state: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    unknown_state_filters: list[str]
    """States of the filter that the broker does not know."""
    transaction_states: list[ListTransactionsResponse.TransactionState]
    """The transactions, with their state."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_state_filters: list[str] = ...,
        transaction_states: list[ListTransactionsResponse.TransactionState] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AllocateProducerIdsRequest(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AllocateProducerIdsResponse]: ...

class AllocateProducerIdsResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    producer_id_start: int
    """First producer id of the block."""
    producer_id_len: int
    """Number of producer ids in the block."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id_start: int = ...,
        producer_id_len: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatRequest(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member: 0 joins, -1 leaves, -2 leaves as a static member for a while."""
    instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    rebalance_timeout_ms: int
    """Milliseconds that the member has to give up partitions; -1 if it has not changed."""
    subscribed_topic_names: list[str] | None
    """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
    subscribed_topic_regex: str | None
    """Regular expression of the subscribed topics; null if it has not changed."""
    server_assignor: str | None
    """Name of the assignor that the member asks for; null if it has not changed."""
    topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None
    """Partitions that the member owns; null if they have not changed."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        subscribed_topic_names: list[str] | None = ...,
        subscribed_topic_regex: str | None = ...,
        server_assignor: str | None = ...,
        topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ConsumerGroupHeartbeatResponse]: ...

class ConsumerGroupHeartbeatResponse(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Assignment(StructBase):
        topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions]
        """The topics, with their partitions."""
        def __init__(
            self,
            *,
            topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    member_id: str | None
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    heartbeat_interval_ms: int
    """Milliseconds between two heartbeats that the coordinator wants."""
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None
    """Assignment of the member; null if it has not changed."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ConsumerGroupHeartbeatResponse.Assignment | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeRequest(Message):
    group_ids: list[str]
    """Names of the groups."""
    include_authorized_operations: bool
    """Whether the response lists the operations that the client is allowed."""
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ConsumerGroupDescribeResponse]: ...

class ConsumerGroupDescribeResponse(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Assignment(StructBase):
        topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions]
        """The topics, with their partitions."""
        def __init__(
            self,
            *,
            topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Member(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        rack_id: str | None
        """Rack of the client or the broker; empty or null if it is unknown."""
        member_epoch: int
        """Epoch of the member; it follows that of the group."""
        client_id: str
        """Name that the client gives itself."""
        client_host: str
        """Address from which the client connects."""
        subscribed_topic_names: list[str]
        """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
        subscribed_topic_regex: str | None
        """Regular expression of the subscribed topics; null if it has not changed."""
        assignment: ConsumerGroupDescribeResponse.Assignment
        """Assignment of the member."""
        target_assignment: ConsumerGroupDescribeResponse.Assignment
        """Assignment that the member should reach."""
        member_type: int
        """0 for the classic protocol, 1 for the consumer protocol, -1 if unknown."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            instance_id: str | None = ...,
            rack_id: str | None = ...,
            member_epoch: int = ...,
            client_id: str = ...,
            client_host: str = ...,
            subscribed_topic_names: list[str] = ...,
            subscribed_topic_regex: str | None = ...,
            assignment: ConsumerGroupDescribeResponse.Assignment = ...,
            target_assignment: ConsumerGroupDescribeResponse.Assignment = ...,
            member_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribedGroup(StructBase):
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        group_id: str
        """Name of the group."""
        group_state: str
        """State of the group, in words."""
        group_epoch: int
        """Epoch of the group; it grows when members or subscriptions change."""
        assignment_epoch: int
        """Epoch of the target assignment."""
        assignor_name: str
        """Name of the assignor that computes the target assignment."""
        members: list[ConsumerGroupDescribeResponse.Member]
        """Members of the group."""
        authorized_operations: int
        """Operations that the client is allowed, as bits; the lowest number if they were not asked for."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            assignor_name: str = ...,
            members: list[ConsumerGroupDescribeResponse.Member] = ...,
            authorized_operations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    groups: list[ConsumerGroupDescribeResponse.DescribedGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ControllerRegistrationRequest(Message):
    class Listener(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        security_protocol: int
        """Security protocol of the listener, as a number."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Feature(StructBase):
        name: str
        """Name of the feature."""
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    incarnation_id: UUID
    """Random id of this start of the process."""
    zk_migration_ready: bool
    """Whether the node is ready to migrate from ZooKeeper."""
    listeners: list[ControllerRegistrationRequest.Listener]
    """Listeners of the node."""
    features: list[ControllerRegistrationRequest.Feature]
    """Features, with the levels that the sender supports."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        incarnation_id: UUID = ...,
        zk_migration_ready: bool = ...,
        listeners: list[ControllerRegistrationRequest.Listener] = ...,
        features: list[ControllerRegistrationRequest.Feature] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ControllerRegistrationResponse]: ...

class ControllerRegistrationResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class GetTelemetrySubscriptionsRequest(Message):
    client_instance_id: UUID
    """Id of the client; all zeros asks the broker for one."""
    def __init__(
        self,
        *,
        client_instance_id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[GetTelemetrySubscriptionsResponse]: ...

class GetTelemetrySubscriptionsResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    client_instance_id: UUID
    """Id of the client; all zeros asks the broker for one."""
    subscription_id: int
    """Id of the set of metrics that the broker wants."""
    accepted_compression_types: list[int]
    """Codecs in which metrics may be sent, as numbers, the preferred one first."""
    push_interval_ms: int
    """Milliseconds between two pushes."""
    telemetry_max_bytes: int
    """Most bytes of a push."""
    delta_temporality: bool
    """Whether counters are sent as differences; otherwise as totals."""
    requested_metrics: list[str]
    """Prefixes of metrics to send; empty for none, one empty prefix for all."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        client_instance_id: UUID = ...,
        subscription_id: int = ...,
        accepted_compression_types: list[int] = ...,
        push_interval_ms: int = ...,
        telemetry_max_bytes: int = ...,
        delta_temporality: bool = ...,
        requested_metrics: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class PushTelemetryRequest(Message):
    client_instance_id: UUID
    """Id of the client."""
    subscription_id: int
    """Id of the set of metrics that the broker wants."""
    terminating: bool
    """Whether the client ends after this push."""
    compression_type: int
    """Codec of the metrics, as a number."""
    metrics: _Bytes
    """Metrics in the format of OpenTelemetry."""
    def __init__(
        self,
        *,
        client_instance_id: UUID = ...,
        subscription_id: int = ...,
        terminating: bool = ...,
        compression_type: int = ...,
        metrics: _Bytes = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[PushTelemetryResponse]: ...

class PushTelemetryResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsRequest(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[AssignReplicasToDirsRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[AssignReplicasToDirsRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DirectoryData(StructBase):
        id: UUID
        """Id of the log directory."""
        topics: list[AssignReplicasToDirsRequest.TopicData]
        """The topics, with the request for each."""
        def __init__(
            self,
            *,
            id: UUID = ...,
            topics: list[AssignReplicasToDirsRequest.TopicData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    directories: list[AssignReplicasToDirsRequest.DirectoryData]
    """Log directories, with their partitions."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        directories: list[AssignReplicasToDirsRequest.DirectoryData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AssignReplicasToDirsResponse]: ...

class AssignReplicasToDirsResponse(Message):
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[AssignReplicasToDirsResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[AssignReplicasToDirsResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DirectoryData(StructBase):
        id: UUID
        """Id of the log directory."""
        topics: list[AssignReplicasToDirsResponse.TopicData]
        """The topics, with the result of each."""
        def __init__(
            self,
            *,
            id: UUID = ...,
            topics: list[AssignReplicasToDirsResponse.TopicData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    directories: list[AssignReplicasToDirsResponse.DirectoryData]
    """Log directories, with their partitions."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        directories: list[AssignReplicasToDirsResponse.DirectoryData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ListConfigResourcesRequest(Message):
    resource_types: list[int]
    """Types of resources to list, as numbers; empty for all."""
    def __init__(
        self,
        *,
        resource_types: list[int] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ListConfigResourcesResponse]: ...

class ListConfigResourcesResponse(Message):
    class ConfigResource(StructBase):
        resource_name: str
        """Name of the resource."""
        resource_type: int
        """Type of the resource, as a number."""
        def __init__(
            self,
            *,
            resource_name: str = ...,
            resource_type: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    config_resources: list[ListConfigResourcesResponse.ConfigResource]
    """Resources that have settings."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        config_resources: list[ListConfigResourcesResponse.ConfigResource] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsRequest(Message):
    class TopicRequest(StructBase):
        name: str
        """Name of the topic."""
        def __init__(
            self,
            *,
            name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Cursor(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[DescribeTopicPartitionsRequest.TopicRequest]
    """The topics, with the request for each."""
    response_partition_limit: int
    """Most partitions in the response."""
    cursor: DescribeTopicPartitionsRequest.Cursor | None
    """Where to continue; null begins with the first topic."""
    def __init__(
        self,
        *,
        topics: list[DescribeTopicPartitionsRequest.TopicRequest] = ...,
        response_partition_limit: int = ...,
        cursor: DescribeTopicPartitionsRequest.Cursor | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeTopicPartitionsResponse]: ...

class DescribeTopicPartitionsResponse(Message):
    class DescribeTopicPartitionsResponsePartition(StructBase):
        error_code: int
        """Error of the partition; 0 is none."""
        partition_index: int
        """Number of the partition."""
        leader_id: int
        """Id of the broker that leads the partition, or -1 if there is none."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        replica_nodes: list[int]
        """Ids of the brokers with a replica, the preferred leader first."""
        isr_nodes: list[int]
        """Ids of the replicas that are in sync with the leader."""
        eligible_leader_replicas: list[int] | None
        """Replicas that may be elected although they left the ISR, because they have all committed records."""
        last_known_elr: list[int] | None
        """Replicas that were the last eligible leaders."""
        offline_replicas: list[int]
        """Replicas whose broker or directory is offline."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            replica_nodes: list[int] = ...,
            isr_nodes: list[int] = ...,
            eligible_leader_replicas: list[int] | None = ...,
            last_known_elr: list[int] | None = ...,
            offline_replicas: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeTopicPartitionsResponseTopic(StructBase):
        error_code: int
        """Error of the topic; 0 is none."""
        name: str | None
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        is_internal: bool
        """Whether the topic belongs to Kafka itself."""
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition]
        """The partitions, with the result of each."""
        topic_authorized_operations: int
        """Operations on the topic that the client is allowed, as bits; the lowest number if not asked for."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            name: str | None = ...,
            topic_id: UUID = ...,
            is_internal: bool = ...,
            partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = ...,
            topic_authorized_operations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Cursor(StructBase):
        topic_name: str
        """Name of the topic."""
        partition_index: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic]
    """The topics, with the result of each."""
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None
    """Where to continue with the next request; null if this is the end."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = ...,
        next_cursor: DescribeTopicPartitionsResponse.Cursor | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupHeartbeatRequest(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member: 0 joins, -1 leaves, -2 leaves as a static member for a while."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    subscribed_topic_names: list[str] | None
    """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        rack_id: str | None = ...,
        subscribed_topic_names: list[str] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ShareGroupHeartbeatResponse]: ...

class ShareGroupHeartbeatResponse(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Assignment(StructBase):
        topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions]
        """The topics, with their partitions."""
        def __init__(
            self,
            *,
            topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    member_id: str | None
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    heartbeat_interval_ms: int
    """Milliseconds between two heartbeats that the coordinator wants."""
    assignment: ShareGroupHeartbeatResponse.Assignment | None
    """Assignment of the member; null if it has not changed."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ShareGroupHeartbeatResponse.Assignment | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeRequest(Message):
    group_ids: list[str]
    """Names of the groups."""
    include_authorized_operations: bool
    """Whether the response lists the operations that the client is allowed."""
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ShareGroupDescribeResponse]: ...

class ShareGroupDescribeResponse(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Assignment(StructBase):
        topic_partitions: list[ShareGroupDescribeResponse.TopicPartitions]
        """The topics, with their partitions."""
        def __init__(
            self,
            *,
            topic_partitions: list[ShareGroupDescribeResponse.TopicPartitions] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Member(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        rack_id: str | None
        """Rack of the client or the broker; empty or null if it is unknown."""
        member_epoch: int
        """Epoch of the member; it follows that of the group."""
        client_id: str
        """Name that the client gives itself."""
        client_host: str
        """Address from which the client connects."""
        subscribed_topic_names: list[str]
        """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
        assignment: ShareGroupDescribeResponse.Assignment
        """Assignment of the member."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            rack_id: str | None = ...,
            member_epoch: int = ...,
            client_id: str = ...,
            client_host: str = ...,
            subscribed_topic_names: list[str] = ...,
            assignment: ShareGroupDescribeResponse.Assignment = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribedGroup(StructBase):
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        group_id: str
        """Name of the group."""
        group_state: str
        """State of the group, in words."""
        group_epoch: int
        """Epoch of the group; it grows when members or subscriptions change."""
        assignment_epoch: int
        """Epoch of the target assignment."""
        assignor_name: str
        """Name of the assignor that computes the target assignment."""
        members: list[ShareGroupDescribeResponse.Member]
        """Members of the group."""
        authorized_operations: int
        """Operations that the client is allowed, as bits; the lowest number if they were not asked for."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            assignor_name: str = ...,
            members: list[ShareGroupDescribeResponse.Member] = ...,
            authorized_operations: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    groups: list[ShareGroupDescribeResponse.DescribedGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[ShareGroupDescribeResponse.DescribedGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareFetchRequest(Message):
    class AcknowledgementBatch(StructBase):
        first_offset: int
        """First offset of the acknowledged range."""
        last_offset: int
        """Last offset of the acknowledged range."""
        acknowledge_types: list[int]
        """0 gap, 1 accept, 2 release, 3 reject, 4 renew; one number for all, or one per record."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            acknowledge_types: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FetchPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        partition_max_bytes: int
        """Most bytes from this partition."""
        acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch]
        """Acknowledgements, as ranges of offsets."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            partition_max_bytes: int = ...,
            acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class FetchTopic(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ShareFetchRequest.FetchPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ShareFetchRequest.FetchPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ForgottenTopic(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str | None
    """Name of the group."""
    member_id: str | None
    """Id of the member; the coordinator or the member itself creates it."""
    share_session_epoch: int
    """Epoch of the share session: 0 opens one, -1 closes it."""
    max_wait_ms: int
    """Milliseconds to wait for MinBytes."""
    min_bytes: int
    """Bytes for which the broker waits before it answers."""
    max_bytes: int
    """Most bytes that the response should have; the first batch comes even if it is larger."""
    max_records: int
    """Most records to acquire."""
    batch_size: int
    """Records that an acquired batch should have at most."""
    share_acquire_mode: int
    """0 counts whole batches against MaxRecords, 1 acquires exactly MaxRecords at most."""
    is_renew_ack: bool
    """Whether the request also renews locks of acquired records."""
    topics: list[ShareFetchRequest.FetchTopic]
    """The topics, with the request for each."""
    forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic]
    """Partitions to remove from the session."""
    def __init__(
        self,
        *,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        max_records: int = ...,
        batch_size: int = ...,
        share_acquire_mode: int = ...,
        is_renew_ack: bool = ...,
        topics: list[ShareFetchRequest.FetchTopic] = ...,
        forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ShareFetchResponse]: ...

class ShareFetchResponse(Message):
    class LeaderIdAndEpoch(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AcquiredRecords(StructBase):
        first_offset: int
        """First offset of the range."""
        last_offset: int
        """Last offset of the range, inclusive."""
        delivery_count: int
        """How many times the records were delivered."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        acknowledge_error_code: int
        """Error of the acknowledgements; 0 is none."""
        acknowledge_error_message: str | None
        """Text that explains the error of the acknowledgements."""
        current_leader: ShareFetchResponse.LeaderIdAndEpoch
        """Leader of the partition, if the client asked the wrong broker."""
        records: _Bytes | None
        """Record batches, the last of which may be cut."""
        acquired_records: list[ShareFetchResponse.AcquiredRecords]
        """Ranges of records that the member now holds."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            acknowledge_error_code: int = ...,
            acknowledge_error_message: str | None = ...,
            current_leader: ShareFetchResponse.LeaderIdAndEpoch = ...,
            records: _Bytes | None = ...,
            acquired_records: list[ShareFetchResponse.AcquiredRecords] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ShareFetchableTopicResponse(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ShareFetchResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ShareFetchResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    acquisition_lock_timeout_ms: int
    """Milliseconds for which acquired records are locked."""
    responses: list[ShareFetchResponse.ShareFetchableTopicResponse]
    """The topics, with the result of each partition."""
    node_endpoints: list[ShareFetchResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: list[ShareFetchResponse.ShareFetchableTopicResponse] = ...,
        node_endpoints: list[ShareFetchResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeRequest(Message):
    class AcknowledgementBatch(StructBase):
        first_offset: int
        """First offset of the acknowledged range."""
        last_offset: int
        """Last offset of the acknowledged range."""
        acknowledge_types: list[int]
        """0 gap, 1 accept, 2 release, 3 reject, 4 renew; one number for all, or one per record."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            acknowledge_types: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AcknowledgePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch]
        """Acknowledgements, as ranges of offsets."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AcknowledgeTopic(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ShareAcknowledgeRequest.AcknowledgePartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ShareAcknowledgeRequest.AcknowledgePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str | None
    """Name of the group."""
    member_id: str | None
    """Id of the member; the coordinator or the member itself creates it."""
    share_session_epoch: int
    """Epoch of the share session: 0 opens one, -1 closes it."""
    is_renew_ack: bool
    """Whether the request also renews locks of acquired records."""
    topics: list[ShareAcknowledgeRequest.AcknowledgeTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        is_renew_ack: bool = ...,
        topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ShareAcknowledgeResponse]: ...

class ShareAcknowledgeResponse(Message):
    class LeaderIdAndEpoch(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch
        """Leader of the partition, if the client asked the wrong broker."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ShareAcknowledgeTopicResponse(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ShareAcknowledgeResponse.PartitionData]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ShareAcknowledgeResponse.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class NodeEndpoint(StructBase):
        node_id: int
        """Id of the broker."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        rack: str | None
        """Rack of the broker; null if it has none."""
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    acquisition_lock_timeout_ms: int
    """Milliseconds for which acquired records are locked."""
    responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse]
    """The topics, with the result of each partition."""
    node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint]
    """Addresses of the leaders that the response names."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = ...,
        node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AddRaftVoterRequest(Message):
    class Listener(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    timeout_ms: int
    """Milliseconds that the broker may take before it answers."""
    voter_id: int
    """Id of the voter."""
    voter_directory_id: UUID
    """Id of the directory in which the voter keeps its log."""
    listeners: list[AddRaftVoterRequest.Listener]
    """Listeners of the node."""
    ack_when_committed: bool
    """Whether the answer waits until the new set of voters is committed."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        timeout_ms: int = ...,
        voter_id: int = ...,
        voter_directory_id: UUID = ...,
        listeners: list[AddRaftVoterRequest.Listener] = ...,
        ack_when_committed: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AddRaftVoterResponse]: ...

class AddRaftVoterResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoveRaftVoterRequest(Message):
    cluster_id: str | None
    """Id of the cluster."""
    voter_id: int
    """Id of the voter."""
    voter_directory_id: UUID
    """Id of the directory in which the voter keeps its log."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        voter_directory_id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[RemoveRaftVoterResponse]: ...

class RemoveRaftVoterResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterRequest(Message):
    class Listener(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class KRaftVersionFeature(StructBase):
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str | None
    """Id of the cluster."""
    current_leader_epoch: int
    """Leader epoch that the sender knows, or -1; the broker refuses another one."""
    voter_id: int
    """Id of the voter."""
    voter_directory_id: UUID
    """Id of the directory in which the voter keeps its log."""
    listeners: list[UpdateRaftVoterRequest.Listener]
    """Listeners of the node."""
    k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature
    """Range of `kraft.version` that the voter supports."""
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        current_leader_epoch: int = ...,
        voter_id: int = ...,
        voter_directory_id: UUID = ...,
        listeners: list[UpdateRaftVoterRequest.Listener] = ...,
        k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[UpdateRaftVoterResponse]: ...

class UpdateRaftVoterResponse(Message):
    class CurrentLeader(StructBase):
        leader_id: int
        """Id of the leader, or -1 if it is unknown."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    current_leader: UpdateRaftVoterResponse.CurrentLeader
    """Leader of the partition, if the client asked the wrong broker."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        current_leader: UpdateRaftVoterResponse.CurrentLeader = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateRequest(Message):
    class PartitionData(StructBase):
        partition: int
        """Number of the partition."""
        state_epoch: int
        """Epoch of the state of the share partition."""
        start_offset: int
        """First offset of the range."""
        def __init__(
            self,
            *,
            partition: int = ...,
            state_epoch: int = ...,
            start_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class InitializeStateData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[InitializeShareGroupStateRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[InitializeShareGroupStateRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[InitializeShareGroupStateRequest.InitializeStateData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[InitializeShareGroupStateRequest.InitializeStateData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[InitializeShareGroupStateResponse]: ...

class InitializeShareGroupStateResponse(Message):
    class PartitionResult(StructBase):
        partition: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class InitializeStateResult(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[InitializeShareGroupStateResponse.PartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[InitializeShareGroupStateResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    results: list[InitializeShareGroupStateResponse.InitializeStateResult]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        results: list[InitializeShareGroupStateResponse.InitializeStateResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateRequest(Message):
    class PartitionData(StructBase):
        partition: int
        """Number of the partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReadStateData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ReadShareGroupStateRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ReadShareGroupStateRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[ReadShareGroupStateRequest.ReadStateData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[ReadShareGroupStateRequest.ReadStateData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ReadShareGroupStateResponse]: ...

class ReadShareGroupStateResponse(Message):
    class StateBatch(StructBase):
        first_offset: int
        """First offset of the range."""
        last_offset: int
        """Last offset of the range, inclusive."""
        delivery_state: int
        """State of delivery: 0 available, 2 acknowledged, 4 archived."""
        delivery_count: int
        """How many times the records were delivered."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionResult(StructBase):
        partition: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        state_epoch: int
        """Epoch of the state of the share partition."""
        start_offset: int
        """First offset of the range."""
        state_batches: list[ReadShareGroupStateResponse.StateBatch]
        """Runs of records in the same state of delivery."""
        def __init__(
            self,
            *,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            state_epoch: int = ...,
            start_offset: int = ...,
            state_batches: list[ReadShareGroupStateResponse.StateBatch] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReadStateResult(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ReadShareGroupStateResponse.PartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ReadShareGroupStateResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    results: list[ReadShareGroupStateResponse.ReadStateResult]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        results: list[ReadShareGroupStateResponse.ReadStateResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateRequest(Message):
    class StateBatch(StructBase):
        first_offset: int
        """First offset of the range."""
        last_offset: int
        """Last offset of the range, inclusive."""
        delivery_state: int
        """State of delivery: 0 available, 2 acknowledged, 4 archived."""
        delivery_count: int
        """How many times the records were delivered."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionData(StructBase):
        partition: int
        """Number of the partition."""
        state_epoch: int
        """Epoch of the state of the share partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        start_offset: int
        """First offset of the range."""
        delivery_complete_count: int
        """Number of records after the start offset whose delivery is complete, or -1."""
        state_batches: list[WriteShareGroupStateRequest.StateBatch]
        """Runs of records in the same state of delivery."""
        def __init__(
            self,
            *,
            partition: int = ...,
            state_epoch: int = ...,
            leader_epoch: int = ...,
            start_offset: int = ...,
            delivery_complete_count: int = ...,
            state_batches: list[WriteShareGroupStateRequest.StateBatch] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class WriteStateData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[WriteShareGroupStateRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[WriteShareGroupStateRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[WriteShareGroupStateRequest.WriteStateData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[WriteShareGroupStateRequest.WriteStateData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[WriteShareGroupStateResponse]: ...

class WriteShareGroupStateResponse(Message):
    class PartitionResult(StructBase):
        partition: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class WriteStateResult(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[WriteShareGroupStateResponse.PartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[WriteShareGroupStateResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    results: list[WriteShareGroupStateResponse.WriteStateResult]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        results: list[WriteShareGroupStateResponse.WriteStateResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateRequest(Message):
    class PartitionData(StructBase):
        partition: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            partition: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DeleteStateData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[DeleteShareGroupStateRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[DeleteShareGroupStateRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[DeleteShareGroupStateRequest.DeleteStateData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DeleteShareGroupStateRequest.DeleteStateData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteShareGroupStateResponse]: ...

class DeleteShareGroupStateResponse(Message):
    class PartitionResult(StructBase):
        partition: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DeleteStateResult(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[DeleteShareGroupStateResponse.PartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[DeleteShareGroupStateResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    results: list[DeleteShareGroupStateResponse.DeleteStateResult]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        results: list[DeleteShareGroupStateResponse.DeleteStateResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryRequest(Message):
    class PartitionData(StructBase):
        partition: int
        """Number of the partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        def __init__(
            self,
            *,
            partition: int = ...,
            leader_epoch: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReadStateSummaryData(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ReadShareGroupStateSummaryRequest.PartitionData]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ReadShareGroupStateSummaryRequest.PartitionData] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[ReadShareGroupStateSummaryResponse]: ...

class ReadShareGroupStateSummaryResponse(Message):
    class PartitionResult(StructBase):
        partition: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        state_epoch: int
        """Epoch of the state of the share partition."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        start_offset: int
        """First offset of the range."""
        delivery_complete_count: int
        """Number of records after the start offset whose delivery is complete, or -1."""
        def __init__(
            self,
            *,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            state_epoch: int = ...,
            leader_epoch: int = ...,
            start_offset: int = ...,
            delivery_complete_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ReadStateSummaryResult(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[ReadShareGroupStateSummaryResponse.PartitionResult]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[ReadShareGroupStateSummaryResponse.PartitionResult] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequest(Message):
    class KeyValue(StructBase):
        key: str
        """Name of the setting."""
        value: str
        """Value of the setting."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicInfo(StructBase):
        name: str
        """Name of the internal topic."""
        partitions: int
        """Number of partitions, or 0 if the coordinator decides."""
        replication_factor: int
        """Number of replicas, or 0 for the default."""
        topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue]
        """Settings of the internal topic."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CopartitionGroup(StructBase):
        source_topics: list[int]
        """Topics that the subtopology reads."""
        source_topic_regex: list[int]
        """Regular expressions of topics that the subtopology reads."""
        repartition_source_topics: list[int]
        """Internal topics through which the subtopology gets repartitioned records."""
        def __init__(
            self,
            *,
            source_topics: list[int] = ...,
            source_topic_regex: list[int] = ...,
            repartition_source_topics: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Subtopology(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        source_topics: list[str]
        """Topics that the subtopology reads."""
        source_topic_regex: list[str]
        """Regular expressions of topics that the subtopology reads."""
        state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo]
        """Internal topics that back up the state stores."""
        repartition_sink_topics: list[str]
        """Internal topics into which the subtopology writes records for others."""
        repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo]
        """Internal topics through which the subtopology gets repartitioned records."""
        copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup]
        """Topics that need equal numbers of partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            source_topics: list[str] = ...,
            source_topic_regex: list[str] = ...,
            state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = ...,
            repartition_sink_topics: list[str] = ...,
            repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = ...,
            copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Topology(StructBase):
        epoch: int
        """Epoch of the topology."""
        subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology]
        """The subtopologies."""
        def __init__(
            self,
            *,
            epoch: int = ...,
            subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskIds(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Endpoint(StructBase):
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskOffset(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partition: int
        """Number of the partition."""
        offset: int
        """Sum of the offsets."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partition: int = ...,
            offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member: 0 joins, -1 leaves, -2 leaves as a static member for a while."""
    endpoint_information_epoch: int
    """Epoch of the addresses of applications."""
    instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    rebalance_timeout_ms: int
    """Milliseconds that the member has to give up partitions; -1 if it has not changed."""
    topology: StreamsGroupHeartbeatRequest.Topology | None
    """The topology that the member runs; null if it has not changed."""
    active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    """Tasks that process records; null if they have not changed."""
    standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    """Tasks that keep a copy of the state; null if they have not changed."""
    warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    """Tasks that restore state before they become active; null if they have not changed."""
    process_id: str | None
    """Id of the process; its members share state directories."""
    user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None
    """Address at which the application of the member answers queries, or null."""
    client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None
    """Tags of the client, which the assignment of standby tasks uses."""
    task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None
    """Sums of the offsets of the tasks' changelogs."""
    task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None
    """Sums of the end offsets of the tasks' changelogs."""
    shutdown_application: bool
    """Whether all members of the application should stop."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        endpoint_information_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        topology: StreamsGroupHeartbeatRequest.Topology | None = ...,
        active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ...,
        standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ...,
        warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ...,
        process_id: str | None = ...,
        user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = ...,
        client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None = ...,
        task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = ...,
        task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = ...,
        shutdown_application: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[StreamsGroupHeartbeatResponse]: ...

class StreamsGroupHeartbeatResponse(Message):
    class Status(StructBase):
        status_code: int
        """Kind of the problem, as a number."""
        status_detail: str
        """Text that explains the problem."""
        def __init__(
            self,
            *,
            status_code: int = ...,
            status_detail: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskIds(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Endpoint(StructBase):
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicPartition(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class EndpointToPartitions(StructBase):
        user_endpoint: StreamsGroupHeartbeatResponse.Endpoint
        """Address at which the application of the member answers queries, or null."""
        active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition]
        """Partitions that the application processes."""
        standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition]
        """Partitions of which the application keeps a copy."""
        def __init__(
            self,
            *,
            user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = ...,
            active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = ...,
            standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    heartbeat_interval_ms: int
    """Milliseconds between two heartbeats that the coordinator wants."""
    acceptable_recovery_lag_legacy: int
    """Lag of a changelog at which a task counts as caught up, in version 0."""
    task_offset_interval_ms: int
    """Milliseconds between two reports of task offsets."""
    acceptable_recovery_lag: int
    """Lag of a changelog at which a task counts as caught up, or -1."""
    status: list[StreamsGroupHeartbeatResponse.Status] | None
    """Problems of the group; null if they have not changed."""
    active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    """Tasks that process records; null if they have not changed."""
    standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    """Tasks that keep a copy of the state; null if they have not changed."""
    warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    """Tasks that restore state before they become active; null if they have not changed."""
    topology_description_required: bool
    """Whether the member should send the description of its topology."""
    endpoint_information_epoch: int
    """Epoch of the addresses of applications."""
    partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None
    """Partitions of each application address; null if they have not changed."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        acceptable_recovery_lag_legacy: int = ...,
        task_offset_interval_ms: int = ...,
        acceptable_recovery_lag: int = ...,
        status: list[StreamsGroupHeartbeatResponse.Status] | None = ...,
        active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ...,
        standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ...,
        warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ...,
        topology_description_required: bool = ...,
        endpoint_information_epoch: int = ...,
        partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeRequest(Message):
    group_ids: list[str]
    """Names of the groups."""
    include_authorized_operations: bool
    """Whether the response lists the operations that the client is allowed."""
    include_topology_description: bool
    """Whether the response describes the topology in detail."""
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        include_topology_description: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[StreamsGroupDescribeResponse]: ...

class StreamsGroupDescribeResponse(Message):
    class KeyValue(StructBase):
        key: str
        """Name of the setting."""
        value: str
        """Value of the setting."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicInfo(StructBase):
        name: str
        """Name of the internal topic."""
        partitions: int
        """Number of partitions, or 0 if the coordinator decides."""
        replication_factor: int
        """Number of replicas, or 0 for the default."""
        topic_configs: list[StreamsGroupDescribeResponse.KeyValue]
        """Settings of the internal topic."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: list[StreamsGroupDescribeResponse.KeyValue] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Subtopology(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        source_topics: list[str]
        """Topics that the subtopology reads."""
        repartition_sink_topics: list[str]
        """Internal topics into which the subtopology writes records for others."""
        state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo]
        """Internal topics that back up the state stores."""
        repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo]
        """Internal topics through which the subtopology gets repartitioned records."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            source_topics: list[str] = ...,
            repartition_sink_topics: list[str] = ...,
            state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo] = ...,
            repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Topology(StructBase):
        epoch: int
        """Epoch of the topology."""
        subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None
        """The subtopologies."""
        def __init__(
            self,
            *,
            epoch: int = ...,
            subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Endpoint(StructBase):
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskOffset(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partition: int
        """Number of the partition."""
        offset: int
        """Sum of the offsets."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partition: int = ...,
            offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskIds(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Assignment(StructBase):
        active_tasks: list[StreamsGroupDescribeResponse.TaskIds]
        """Tasks that process records; null if they have not changed."""
        standby_tasks: list[StreamsGroupDescribeResponse.TaskIds]
        """Tasks that keep a copy of the state; null if they have not changed."""
        warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds]
        """Tasks that restore state before they become active; null if they have not changed."""
        def __init__(
            self,
            *,
            active_tasks: list[StreamsGroupDescribeResponse.TaskIds] = ...,
            standby_tasks: list[StreamsGroupDescribeResponse.TaskIds] = ...,
            warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Member(StructBase):
        member_id: str
        """Id of the member; the coordinator or the member itself creates it."""
        member_epoch: int
        """Epoch of the member; it follows that of the group."""
        instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        rack_id: str | None
        """Rack of the client or the broker; empty or null if it is unknown."""
        client_id: str
        """Name that the client gives itself."""
        client_host: str
        """Address from which the client connects."""
        topology_epoch: int
        """Epoch of the topology that the member runs."""
        process_id: str
        """Id of the process; its members share state directories."""
        user_endpoint: StreamsGroupDescribeResponse.Endpoint | None
        """Address at which the application of the member answers queries, or null."""
        client_tags: list[StreamsGroupDescribeResponse.KeyValue]
        """Tags of the client, which the assignment of standby tasks uses."""
        task_offsets: list[StreamsGroupDescribeResponse.TaskOffset]
        """Sums of the offsets of the tasks' changelogs."""
        task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset]
        """Sums of the end offsets of the tasks' changelogs."""
        assignment: StreamsGroupDescribeResponse.Assignment
        """Assignment of the member."""
        target_assignment: StreamsGroupDescribeResponse.Assignment
        """Assignment that the member should reach."""
        is_classic: bool
        """Whether the member uses the classic protocol."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            member_epoch: int = ...,
            instance_id: str | None = ...,
            rack_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            topology_epoch: int = ...,
            process_id: str = ...,
            user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = ...,
            client_tags: list[StreamsGroupDescribeResponse.KeyValue] = ...,
            task_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = ...,
            task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = ...,
            assignment: StreamsGroupDescribeResponse.Assignment = ...,
            target_assignment: StreamsGroupDescribeResponse.Assignment = ...,
            is_classic: bool = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescriptionNode(StructBase):
        name: str
        """Name of the node."""
        node_type: int
        """Kind of the node: source, processor or sink."""
        source_topics: list[str]
        """Topics that the subtopology reads."""
        sink_topic: str | None
        """Topic that a sink writes to."""
        stores: list[str]
        """State stores of the node."""
        successors: list[str]
        """Names of the nodes that follow."""
        def __init__(
            self,
            *,
            name: str = ...,
            node_type: int = ...,
            source_topics: list[str] = ...,
            sink_topic: str | None = ...,
            stores: list[str] = ...,
            successors: list[str] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescriptionSubtopology(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode]
        """The nodes, with their addresses."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescriptionGlobalStore(StructBase):
        source: StreamsGroupDescribeResponse.TopologyDescriptionNode
        """The source node that feeds the store."""
        processor: StreamsGroupDescribeResponse.TopologyDescriptionNode
        """The processor that fills the store."""
        def __init__(
            self,
            *,
            source: StreamsGroupDescribeResponse.TopologyDescriptionNode = ...,
            processor: StreamsGroupDescribeResponse.TopologyDescriptionNode = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescription(StructBase):
        subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology]
        """The subtopologies."""
        global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore]
        """Stores that every instance has completely."""
        def __init__(
            self,
            *,
            subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology] = ...,
            global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribedGroup(StructBase):
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        group_id: str
        """Name of the group."""
        group_state: str
        """State of the group, in words."""
        group_epoch: int
        """Epoch of the group; it grows when members or subscriptions change."""
        assignment_epoch: int
        """Epoch of the target assignment."""
        topology: StreamsGroupDescribeResponse.Topology | None
        """The topology that the member runs; null if it has not changed."""
        members: list[StreamsGroupDescribeResponse.Member]
        """Members of the group."""
        authorized_operations: int
        """Operations that the client is allowed, as bits; the lowest number if they were not asked for."""
        topology_description: StreamsGroupDescribeResponse.TopologyDescription | None
        """The topology in detail, for tools."""
        topology_description_status: int
        """Whether a description of the topology is stored, as a number."""
        assignor_name: str | None
        """Name of the assignor that computes the target assignment."""
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            topology: StreamsGroupDescribeResponse.Topology | None = ...,
            members: list[StreamsGroupDescribeResponse.Member] = ...,
            authorized_operations: int = ...,
            topology_description: StreamsGroupDescribeResponse.TopologyDescription | None = ...,
            topology_description_status: int = ...,
            assignor_name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    groups: list[StreamsGroupDescribeResponse.DescribedGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[StreamsGroupDescribeResponse.DescribedGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsRequest(Message):
    class DescribeShareGroupOffsetsRequestTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeShareGroupOffsetsRequestGroup(StructBase):
        group_id: str
        """Name of the group."""
        topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None
        """The topics, with the request for each."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup]
    """The groups."""
    def __init__(
        self,
        *,
        groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DescribeShareGroupOffsetsResponse]: ...

class DescribeShareGroupOffsetsResponse(Message):
    class DescribeShareGroupOffsetsResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        start_offset: int
        """First offset of the range."""
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        lag: int
        """Records that are not delivered yet, or -1."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            start_offset: int = ...,
            leader_epoch: int = ...,
            lag: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeShareGroupOffsetsResponseTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class DescribeShareGroupOffsetsResponseGroup(StructBase):
        group_id: str
        """Name of the group."""
        topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic]
        """The topics, with the result of each."""
        error_code: int
        """Error of the group; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            group_id: str = ...,
            topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic] = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup]
    """The groups."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsRequest(Message):
    class AlterShareGroupOffsetsRequestPartition(StructBase):
        partition_index: int
        """Number of the partition."""
        start_offset: int
        """First offset of the range."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            start_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterShareGroupOffsetsRequestTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition]
        """The partitions, with the request for each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[AlterShareGroupOffsetsResponse]: ...

class AlterShareGroupOffsetsResponse(Message):
    class AlterShareGroupOffsetsResponsePartition(StructBase):
        partition_index: int
        """Number of the partition."""
        error_code: int
        """Error of the partition; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class AlterShareGroupOffsetsResponseTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition]
        """The partitions, with the result of each."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsRequest(Message):
    class DeleteShareGroupOffsetsRequestTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic]
    """The topics, with the request for each."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[DeleteShareGroupOffsetsResponse]: ...

class DeleteShareGroupOffsetsResponse(Message):
    class DeleteShareGroupOffsetsResponseTopic(StructBase):
        topic_name: str
        """Name of the topic."""
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        error_code: int
        """Error of the topic; 0 is none."""
        error_message: str | None
        """Text that explains the error; null if there is none."""
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: UUID = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic]
    """The topics, with the result of each partition."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    class TopologyDescriptionNode(StructBase):
        name: str
        """Name of the node."""
        node_type: int
        """Kind of the node: source, processor or sink."""
        source_topics: list[str]
        """Topics that the subtopology reads."""
        sink_topic: str | None
        """Topic that a sink writes to."""
        stores: list[str]
        """State stores of the node."""
        successors: list[str]
        """Names of the nodes that follow."""
        def __init__(
            self,
            *,
            name: str = ...,
            node_type: int = ...,
            source_topics: list[str] = ...,
            sink_topic: str | None = ...,
            stores: list[str] = ...,
            successors: list[str] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescriptionSubtopology(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode]
        """The nodes, with their addresses."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescriptionGlobalStore(StructBase):
        source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode
        """The source node that feeds the store."""
        processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode
        """The processor that fills the store."""
        def __init__(
            self,
            *,
            source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = ...,
            processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopologyDescription(StructBase):
        subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology]
        """The subtopologies."""
        global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore]
        """Stores that every instance has completely."""
        def __init__(
            self,
            *,
            subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology] = ...,
            global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    topology_epoch: int
    """Epoch of the topology that the member runs."""
    topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription
    """The topology in detail, for tools."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        topology_epoch: int = ...,
        topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[StreamsGroupTopologyDescriptionUpdateResponse]: ...

class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UnregisterControllerRequest(Message):
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
    @classmethod
    def response_class(cls) -> _type[UnregisterControllerResponse]: ...

class UnregisterControllerResponse(Message):
    throttle_time_ms: int
    """Milliseconds for which the client must not send, because it exceeded a quota."""
    error_code: int
    """Error of the whole request; 0 is none."""
    error_message: str | None
    """Text that explains the error; null if there is none."""
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AbortedTxn(Message):
    producer_id: int
    """Id that the broker gave to the producer."""
    first_offset: int
    """First offset of the transaction."""
    last_offset: int
    """Offset of the marker that aborted the transaction."""
    last_stable_offset: int
    """Last stable offset when the transaction was aborted."""
    def __init__(
        self,
        *,
        producer_id: int = ...,
        first_offset: int = ...,
        last_offset: int = ...,
        last_stable_offset: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolAssignment(Message):
    class TopicPartition(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition]
    """Partitions that are assigned to the member."""
    user_data: _Bytes | None
    """Bytes of the assignor."""
    def __init__(
        self,
        *,
        assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = ...,
        user_data: _Bytes | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolSubscription(Message):
    class TopicPartition(StructBase):
        topic: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[str]
    """Names of the subscribed topics."""
    user_data: _Bytes | None
    """Bytes of the assignor."""
    owned_partitions: list[ConsumerProtocolSubscription.TopicPartition]
    """Partitions that the member owns at the moment."""
    generation_id: int
    """Generation in which the owned partitions were assigned, or -1."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    def __init__(
        self,
        *,
        topics: list[str] = ...,
        user_data: _Bytes | None = ...,
        owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = ...,
        generation_id: int = ...,
        rack_id: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ControlRecordTypeSchema(Message):
    type: int
    """0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 kraft.version, 6 voters."""
    def __init__(
        self,
        *,
        type: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DefaultPrincipalData(Message):
    type: str
    """Type of the principal, for example `User`."""
    name: str
    """Name of the principal."""
    token_authenticated: bool
    """Whether the principal authenticated by a delegation token."""
    def __init__(
        self,
        *,
        type: str = ...,
        name: str = ...,
        token_authenticated: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class EndTxnMarker(Message):
    coordinator_epoch: int
    """Epoch of the coordinator that sends or stores this."""
    def __init__(
        self,
        *,
        coordinator_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class KRaftVersionRecord(Message):
    version: int
    """Version of the content of this control record."""
    k_raft_version: int
    """Level of `kraft.version`."""
    def __init__(
        self,
        *,
        version: int = ...,
        k_raft_version: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class LeaderChangeMessage(Message):
    class Voter(StructBase):
        voter_id: int
        """Id of the voter."""
        voter_directory_id: UUID
        """Id of the directory in which the voter keeps its log."""
        def __init__(
            self,
            *,
            voter_id: int = ...,
            voter_directory_id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    version: int
    """Version of the content of this control record."""
    leader_id: int
    """Id of the leader of the quorum, or -1 if it is unknown."""
    voters: list[LeaderChangeMessage.Voter]
    """Voters of the quorum."""
    granting_voters: list[LeaderChangeMessage.Voter]
    """Voters that voted for the leader."""
    def __init__(
        self,
        *,
        version: int = ...,
        leader_id: int = ...,
        voters: list[LeaderChangeMessage.Voter] = ...,
        granting_voters: list[LeaderChangeMessage.Voter] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RequestHeader(Message):
    request_api_key: int
    """Number of the API."""
    request_api_version: int
    """Version of the API."""
    correlation_id: int
    """Number that connects a response with its request."""
    client_id: str | None
    """Name that the client gives itself; null if it gives none."""
    def __init__(
        self,
        *,
        request_api_key: int = ...,
        request_api_version: int = ...,
        correlation_id: int = ...,
        client_id: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ResponseHeader(Message):
    correlation_id: int
    """Number that connects a response with its request."""
    def __init__(
        self,
        *,
        correlation_id: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SnapshotFooterRecord(Message):
    version: int
    """Version of the content of this control record."""
    def __init__(
        self,
        *,
        version: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SnapshotHeaderRecord(Message):
    version: int
    """Version of the content of this control record."""
    last_contained_log_timestamp: int
    """Time of the last record in the snapshot, in milliseconds since 1970."""
    def __init__(
        self,
        *,
        version: int = ...,
        last_contained_log_timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class VotersRecord(Message):
    class Endpoint(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class KRaftVersionFeature(StructBase):
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Voter(StructBase):
        voter_id: int
        """Id of the voter."""
        voter_directory_id: UUID
        """Id of the directory in which the voter keeps its log."""
        endpoints: list[VotersRecord.Endpoint]
        """Addresses of the listeners."""
        k_raft_version_feature: VotersRecord.KRaftVersionFeature
        """Range of `kraft.version` that the voter supports."""
        def __init__(
            self,
            *,
            voter_id: int = ...,
            voter_directory_id: UUID = ...,
            endpoints: list[VotersRecord.Endpoint] = ...,
            k_raft_version_feature: VotersRecord.KRaftVersionFeature = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    version: int
    """Version of the content of this control record."""
    voters: list[VotersRecord.Voter]
    """Voters of the quorum."""
    def __init__(
        self,
        *,
        version: int = ...,
        voters: list[VotersRecord.Voter] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentValue(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        assignment_epochs: list[int] | None
        """Epochs in which the partitions were assigned to the member."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            assignment_epochs: list[int] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    previous_member_epoch: int
    """Epoch of the member before the last change."""
    state: int
    """State of the member: 0 stable, 1 gives up partitions, 2 waits for partitions."""
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]
    """Partitions that are assigned to the member."""
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]
    """Partitions that the member has to give up first."""
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = ...,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataValue(Message):
    class ClassicProtocol(StructBase):
        name: str
        """Name of the protocol (assignor)."""
        metadata: _Bytes
        """Metadata of the member in this protocol; for consumers, a subscription."""
        def __init__(
            self,
            *,
            name: str = ...,
            metadata: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ClassicMemberMetadata(StructBase):
        session_timeout_ms: int
        """Milliseconds without a heartbeat after which the member is removed."""
        supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol]
        """Protocols (assignors) that the member supports."""
        def __init__(
            self,
            *,
            session_timeout_ms: int = ...,
            supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    client_id: str
    """Name that the client gives itself."""
    client_host: str
    """Address from which the client connects."""
    subscribed_topic_names: list[str]
    """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
    subscribed_topic_regex: str | None
    """Regular expression of the subscribed topics; null if it has not changed."""
    rebalance_timeout_ms: int
    """Milliseconds that members have to join again after a rebalance began."""
    server_assignor: str | None
    """Name of the assignor that the member asks for; null if it has not changed."""
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None
    """What the member would have in the classic protocol; null for a member of the new one."""
    def __init__(
        self,
        *,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        subscribed_topic_regex: str | None = ...,
        rebalance_timeout_ms: int = ...,
        server_assignor: str | None = ...,
        classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMetadataValue(Message):
    epoch: int
    """Epoch of the group; it grows when members or subscriptions change."""
    metadata_hash: int
    """Hash of the metadata of the subscribed topics."""
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataValue(Message):
    class PartitionMetadata(StructBase):
        partition: int
        """Number of the partition."""
        racks: list[str]
        """Racks of the replicas."""
        def __init__(
            self,
            *,
            partition: int = ...,
            racks: list[str] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicMetadata(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        num_partitions: int
        """Number of partitions, or -1 for the default."""
        partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata]
        """The partitions, with the racks of their replicas."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            num_partitions: int = ...,
            partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata]
    """The topics."""
    def __init__(
        self,
        *,
        topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionKey(Message):
    group_id: str
    """Name of the group."""
    regular_expression: str
    """Regular expression of a subscription."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        regular_expression: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionValue(Message):
    topics: list[str]
    """Names of the topics that match."""
    version: int
    """Version of the topics' metadata for which the expression was evaluated."""
    timestamp: int
    """Time of the evaluation in milliseconds since 1970."""
    def __init__(
        self,
        *,
        topics: list[str] = ...,
        version: int = ...,
        timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberValue(Message):
    class TopicPartition(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition]
    """The topics, with their partitions."""
    def __init__(
        self,
        *,
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    """Epoch of the target assignment."""
    assignment_timestamp: int
    """Time of the assignment in milliseconds since 1970."""
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class GroupMetadataKey(Message):
    group: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class GroupMetadataValue(Message):
    class MemberMetadata(StructBase):
        member_id: str
        """Id of the member."""
        group_instance_id: str | None
        """Fixed name of a static member; null for a dynamic one."""
        client_id: str
        """Name that the client gives itself."""
        client_host: str
        """Address from which the client connects."""
        rebalance_timeout: int
        """Milliseconds that members have to join again after a rebalance began."""
        session_timeout: int
        """Milliseconds without a heartbeat after which the member is removed."""
        subscription: _Bytes
        """Subscription of the member in the chosen protocol."""
        assignment: _Bytes
        """Assignment of the member in the chosen protocol."""
        def __init__(
            self,
            *,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            rebalance_timeout: int = ...,
            session_timeout: int = ...,
            subscription: _Bytes = ...,
            assignment: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    protocol_type: str
    """Kind of group protocol, for example `consumer` or `connect`."""
    generation: int
    """Generation of the group; it grows with every rebalance."""
    protocol: str | None
    """Name of the protocol (assignor) that was chosen; null without members."""
    leader: str | None
    """Member that computes the assignment; null without members."""
    current_state_timestamp: int
    """Time of the last change of state in milliseconds since 1970, or -1."""
    members: list[GroupMetadataValue.MemberMetadata]
    """Members of the group."""
    def __init__(
        self,
        *,
        protocol_type: str = ...,
        generation: int = ...,
        protocol: str | None = ...,
        leader: str | None = ...,
        current_state_timestamp: int = ...,
        members: list[GroupMetadataValue.MemberMetadata] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class LegacyOffsetCommitKey(Message):
    group: str
    """Name of the group."""
    topic: str
    """Name of the topic."""
    partition: int
    """Number of the partition."""
    def __init__(
        self,
        *,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class LegacyOffsetCommitValue(Message):
    offset: int
    """Offset of the next record that the group will read."""
    metadata: str
    """Text of the client that is stored with the offset."""
    commit_timestamp: int
    """Time of the commit in milliseconds since 1970."""
    def __init__(
        self,
        *,
        offset: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetCommitKey(Message):
    group: str
    """Name of the group."""
    topic: str
    """Name of the topic."""
    partition: int
    """Number of the partition."""
    def __init__(
        self,
        *,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class OffsetCommitValue(Message):
    offset: int
    """Offset of the next record that the group will read."""
    leader_epoch: int
    """Leader epoch of the last record that was read before the offset, or -1."""
    metadata: str
    """Text of the client that is stored with the offset."""
    commit_timestamp: int
    """Time of the commit in milliseconds since 1970."""
    expire_timestamp: int
    """Time at which the offset expires, in milliseconds since 1970."""
    topic_id: UUID
    """Id of the topic; all zeros if it is not known."""
    def __init__(
        self,
        *,
        offset: int = ...,
        leader_epoch: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        expire_timestamp: int = ...,
        topic_id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentValue(Message):
    class TopicPartitions(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    previous_member_epoch: int
    """Epoch of the member before the last change."""
    state: int
    """State of the member, as a number."""
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions]
    """Partitions that are assigned to the member."""
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupMemberMetadataKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupMemberMetadataValue(Message):
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    client_id: str
    """Name that the client gives itself."""
    client_host: str
    """Address from which the client connects."""
    subscribed_topic_names: list[str]
    """Names of the subscribed topics; null if they have not changed since the last heartbeat."""
    def __init__(
        self,
        *,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupMetadataValue(Message):
    epoch: int
    """Epoch of the group; it grows when members or subscriptions change."""
    metadata_hash: int
    """Hash of the metadata of the subscribed topics."""
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupPartitionMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupPartitionMetadataValue(Message):
    class PartitionMetadata(StructBase):
        partition: int
        """Number of the partition."""
        racks: list[str]
        """Racks of the replicas."""
        def __init__(
            self,
            *,
            partition: int = ...,
            racks: list[str] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicMetadata(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        num_partitions: int
        """Number of partitions, or -1 for the default."""
        partition_metadata: list[ShareGroupPartitionMetadataValue.PartitionMetadata]
        """The partitions, with the racks of their replicas."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            num_partitions: int = ...,
            partition_metadata: list[ShareGroupPartitionMetadataValue.PartitionMetadata] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topics: list[ShareGroupPartitionMetadataValue.TopicMetadata]
    """The topics."""
    def __init__(
        self,
        *,
        topics: list[ShareGroupPartitionMetadataValue.TopicMetadata] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataValue(Message):
    class TopicPartitionsInfo(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicInfo(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        topic_name: str
        """Name of the topic."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            topic_name: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo]
    """Topics whose share state is being created."""
    initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo]
    """Topics whose share state exists."""
    deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo]
    """Topics whose share state is being deleted."""
    def __init__(
        self,
        *,
        initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = ...,
        initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = ...,
        deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberValue(Message):
    class TopicPartition(StructBase):
        topic_id: UUID
        """Id of the topic; a topic that is created again gets another one."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic_id: UUID = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition]
    """The topics, with their partitions."""
    def __init__(
        self,
        *,
        topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    """Epoch of the target assignment."""
    assignment_timestamp: int
    """Time of the assignment in milliseconds since 1970."""
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentValue(Message):
    class TaskIds(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partitions: list[int]
        """Numbers of the partitions."""
        assignment_epochs: list[int] | None
        """Epochs in which the partitions were assigned to the member."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partitions: list[int] = ...,
            assignment_epochs: list[int] | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    member_epoch: int
    """Epoch of the member; it follows that of the group."""
    previous_member_epoch: int
    """Epoch of the member before the last change."""
    state: int
    """State of the member, as a number."""
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Tasks that process records; null if they have not changed."""
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Tasks that keep a copy of the state; null if they have not changed."""
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Tasks that restore state before they become active; null if they have not changed."""
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Active tasks that the member has to give up first."""
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Standby tasks that the member has to give up first."""
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]
    """Warm-up tasks that the member has to give up first."""
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataValue(Message):
    class Endpoint(StructBase):
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        def __init__(
            self,
            *,
            host: str = ...,
            port: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class KeyValue(StructBase):
        key: str
        """Name of the setting."""
        value: str
        """Value of the setting."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    instance_id: str | None
    """Fixed name of a static member; null for a dynamic one."""
    rack_id: str | None
    """Rack of the client or the broker; empty or null if it is unknown."""
    client_id: str
    """Name that the client gives itself."""
    client_host: str
    """Address from which the client connects."""
    rebalance_timeout_ms: int
    """Milliseconds that members have to join again after a rebalance began."""
    topology_epoch: int
    """Epoch of the topology that the member runs."""
    process_id: str
    """Id of the process; its members share state directories."""
    user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None
    """Address at which the application of the member answers queries, or null."""
    client_tags: list[StreamsGroupMemberMetadataValue.KeyValue]
    """Tags of the client, which the assignment of standby tasks uses."""
    def __init__(
        self,
        *,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        rebalance_timeout_ms: int = ...,
        topology_epoch: int = ...,
        process_id: str = ...,
        user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = ...,
        client_tags: list[StreamsGroupMemberMetadataValue.KeyValue] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupMetadataValue(Message):
    class LastAssignmentConfig(StructBase):
        key: str
        """Name of the setting."""
        value: str
        """Value of the setting."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    epoch: int
    """Epoch of the group; it grows when members or subscriptions change."""
    metadata_hash: int
    """Hash of the metadata of the subscribed topics."""
    validated_topology_epoch: int
    """Epoch of the topology whose topics were checked, or -1."""
    last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None
    """Settings that the last assignment used."""
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        validated_topology_epoch: int = ...,
        last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberKey(Message):
    group_id: str
    """Name of the group."""
    member_id: str
    """Id of the member; the coordinator or the member itself creates it."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberValue(Message):
    class TaskIds(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        partitions: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            partitions: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds]
    """Tasks that process records; null if they have not changed."""
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds]
    """Tasks that keep a copy of the state; null if they have not changed."""
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds]
    """Tasks that restore state before they become active; null if they have not changed."""
    def __init__(
        self,
        *,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = ...,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = ...,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    """Epoch of the target assignment."""
    assignment_timestamp: int
    """Time of the assignment in milliseconds since 1970."""
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyKey(Message):
    group_id: str
    """Name of the group."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValue(Message):
    class TopicConfig(StructBase):
        key: str
        """Name of the setting."""
        value: str
        """Value of the setting."""
        def __init__(
            self,
            *,
            key: str = ...,
            value: str = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TopicInfo(StructBase):
        name: str
        """Name of the internal topic."""
        partitions: int
        """Number of partitions, or 0 if the coordinator decides."""
        replication_factor: int
        """Number of replicas, or 0 for the default."""
        topic_configs: list[StreamsGroupTopologyValue.TopicConfig]
        """Settings of the internal topic."""
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: list[StreamsGroupTopologyValue.TopicConfig] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class CopartitionGroup(StructBase):
        source_topics: list[int]
        """Topics that the subtopology reads."""
        source_topic_regex: list[int]
        """Regular expressions of topics that the subtopology reads."""
        repartition_source_topics: list[int]
        """Internal topics through which the subtopology gets repartitioned records."""
        def __init__(
            self,
            *,
            source_topics: list[int] = ...,
            source_topic_regex: list[int] = ...,
            repartition_source_topics: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class Subtopology(StructBase):
        subtopology_id: str
        """Id of the subtopology."""
        source_topics: list[str]
        """Topics that the subtopology reads."""
        source_topic_regex: list[str]
        """Regular expressions of topics that the subtopology reads."""
        state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo]
        """Internal topics that back up the state stores."""
        repartition_sink_topics: list[str]
        """Internal topics into which the subtopology writes records for others."""
        repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo]
        """Internal topics through which the subtopology gets repartitioned records."""
        copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup]
        """Topics that need equal numbers of partitions."""
        def __init__(
            self,
            *,
            subtopology_id: str = ...,
            source_topics: list[str] = ...,
            source_topic_regex: list[str] = ...,
            state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo] = ...,
            repartition_sink_topics: list[str] = ...,
            repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo] = ...,
            copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    epoch: int
    """Epoch of the topology."""
    subtopologies: list[StreamsGroupTopologyValue.Subtopology]
    """The subtopologies."""
    def __init__(
        self,
        *,
        epoch: int = ...,
        subtopologies: list[StreamsGroupTopologyValue.Subtopology] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AbortTransactionRecord(Message):
    reason: str | None
    """Why the transaction was aborted, for logs."""
    def __init__(
        self,
        *,
        reason: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class AccessControlEntryRecord(Message):
    id: UUID
    """Id of the access control entry."""
    resource_type: int
    """Type of the resource, as a number."""
    resource_name: str
    """Name of the resource."""
    pattern_type: int
    """How the name of the resource matches: literal or prefixed, as a number."""
    principal: str
    """Principal, as `User:name`."""
    host: str
    """Host name or address."""
    operation: int
    """Operation that the entry is about, as a number."""
    permission_type: int
    """Whether the entry allows or denies, as a number."""
    def __init__(
        self,
        *,
        id: UUID = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class BeginTransactionRecord(Message):
    name: str | None
    """Name of the transaction, for logs."""
    def __init__(
        self,
        *,
        name: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationChangeRecord(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    fenced: int
    """Whether the broker is fenced."""
    in_controlled_shutdown: int
    """Whether the broker is shutting down in order."""
    log_dirs: list[UUID]
    """Ids of the log directories of the broker."""
    cordoned_log_dirs: list[UUID] | None
    """Ids of log directories that get no new partitions."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        fenced: int = ...,
        in_controlled_shutdown: int = ...,
        log_dirs: list[UUID] = ...,
        cordoned_log_dirs: list[UUID] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ClearElrRecord(Message):
    topic_name: str
    """Name of the topic."""
    def __init__(
        self,
        *,
        topic_name: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ClientQuotaRecord(Message):
    class EntityData(StructBase):
        entity_type: str
        """Kind of the entity: `user`, `client-id` or `ip`."""
        entity_name: str | None
        """Name of the entity; null is the default of its kind."""
        def __init__(
            self,
            *,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    entity: list[ClientQuotaRecord.EntityData]
    """The parts of the entity, for example a user and a client id."""
    key: str
    """Name of the quota, for example `producer_byte_rate`."""
    value: float
    """Value of the quota."""
    remove: bool
    """Whether the quota is removed."""
    def __init__(
        self,
        *,
        entity: list[ClientQuotaRecord.EntityData] = ...,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ConfigRecord(Message):
    resource_type: int
    """Type of the resource, as a number."""
    resource_name: str
    """Name of the resource."""
    name: str
    """Name of the setting."""
    value: str | None
    """Value of the setting; null removes it."""
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        name: str = ...,
        value: str | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class DelegationTokenRecord(Message):
    owner: str
    """Principal that owns the token."""
    requester: str
    """Principal that asked for the token."""
    renewers: list[str]
    """Principals that may renew the token."""
    issue_timestamp: int
    """Time at which the token was created, in milliseconds since 1970."""
    max_timestamp: int
    """Time after which the token cannot be renewed, in milliseconds since 1970."""
    expiration_timestamp: int
    """Time at which the token expires unless it is renewed, in milliseconds since 1970."""
    token_id: str
    """Id of the delegation token."""
    def __init__(
        self,
        *,
        owner: str = ...,
        requester: str = ...,
        renewers: list[str] = ...,
        issue_timestamp: int = ...,
        max_timestamp: int = ...,
        expiration_timestamp: int = ...,
        token_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class EndTransactionRecord(Message):
    def __init__(
        self,
        *,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class FeatureLevelRecord(Message):
    name: str
    """Name of the feature."""
    feature_level: int
    """Level of the feature that is in force; 0 removes it."""
    def __init__(
        self,
        *,
        name: str = ...,
        feature_level: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class FenceBrokerRecord(Message):
    id: int
    """Id of the broker."""
    epoch: int
    """Epoch of the broker, given at its registration."""
    def __init__(
        self,
        *,
        id: int = ...,
        epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class NoOpRecord(Message):
    def __init__(
        self,
        *,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class PartitionChangeRecord(Message):
    partition_id: int
    """Number of the partition."""
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    isr: list[int] | None
    """Replicas that are in sync with the leader; null if they have not changed."""
    leader: int
    """New leader; -1 for none, -2 if it has not changed."""
    replicas: list[int] | None
    """Ids of the brokers with a replica; null if they have not changed."""
    removing_replicas: list[int] | None
    """Replicas that a reassignment removes."""
    adding_replicas: list[int] | None
    """Replicas that a reassignment adds."""
    leader_recovery_state: int
    """1 if the leader still recovers from an unclean election; -1 if it has not changed."""
    directories: list[UUID] | None
    """Ids of the log directories of the replicas, in their order."""
    eligible_leader_replicas: list[int] | None
    """Replicas that may be elected although they left the ISR, because they have all committed records."""
    last_known_elr: list[int] | None
    """Replicas that were the last eligible leaders."""
    def __init__(
        self,
        *,
        partition_id: int = ...,
        topic_id: UUID = ...,
        isr: list[int] | None = ...,
        leader: int = ...,
        replicas: list[int] | None = ...,
        removing_replicas: list[int] | None = ...,
        adding_replicas: list[int] | None = ...,
        leader_recovery_state: int = ...,
        directories: list[UUID] | None = ...,
        eligible_leader_replicas: list[int] | None = ...,
        last_known_elr: list[int] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class PartitionRecord(Message):
    partition_id: int
    """Number of the partition."""
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    replicas: list[int]
    """Ids of the brokers with a replica, the preferred leader first."""
    isr: list[int]
    """Ids of the replicas that are in sync with the leader."""
    removing_replicas: list[int]
    """Replicas that a reassignment removes."""
    adding_replicas: list[int]
    """Replicas that a reassignment adds."""
    leader: int
    """Id of the broker that leads the partition, or -1 if there is none."""
    leader_recovery_state: int
    """1 if the leader still recovers from an unclean election, otherwise 0."""
    leader_epoch: int
    """Epoch of the leader; it grows with every election."""
    partition_epoch: int
    """Epoch of the partition; it grows with every change of its replicas."""
    directories: list[UUID]
    """Ids of the log directories of the replicas, in their order."""
    eligible_leader_replicas: list[int] | None
    """Replicas that may be elected although they left the ISR, because they have all committed records."""
    last_known_elr: list[int] | None
    """Replicas that were the last eligible leaders."""
    def __init__(
        self,
        *,
        partition_id: int = ...,
        topic_id: UUID = ...,
        replicas: list[int] = ...,
        isr: list[int] = ...,
        removing_replicas: list[int] = ...,
        adding_replicas: list[int] = ...,
        leader: int = ...,
        leader_recovery_state: int = ...,
        leader_epoch: int = ...,
        partition_epoch: int = ...,
        directories: list[UUID] = ...,
        eligible_leader_replicas: list[int] | None = ...,
        last_known_elr: list[int] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ProducerIdsRecord(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    next_producer_id: int
    """Producer id that follows."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        next_producer_id: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RegisterBrokerRecord(Message):
    class BrokerEndpoint(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        security_protocol: int
        """Security protocol of the listener, as a number."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class BrokerFeature(StructBase):
        name: str
        """Name of the feature."""
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    broker_id: int
    """Id of the broker."""
    is_migrating_zk_broker: bool
    """Whether the broker runs with ZooKeeper and is about to migrate."""
    incarnation_id: UUID
    """Random id of this start of the process."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    end_points: list[RegisterBrokerRecord.BrokerEndpoint]
    """Addresses of the listeners."""
    features: list[RegisterBrokerRecord.BrokerFeature]
    """Features, with the levels that the sender supports."""
    rack: str | None
    """Rack of the broker; null if it has none."""
    fenced: bool
    """Whether the broker is fenced."""
    in_controlled_shutdown: bool
    """Whether the broker is shutting down in order."""
    log_dirs: list[UUID]
    """Ids of the log directories of the broker."""
    cordoned_log_dirs: list[UUID] | None
    """Ids of log directories that get no new partitions."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        is_migrating_zk_broker: bool = ...,
        incarnation_id: UUID = ...,
        broker_epoch: int = ...,
        end_points: list[RegisterBrokerRecord.BrokerEndpoint] = ...,
        features: list[RegisterBrokerRecord.BrokerFeature] = ...,
        rack: str | None = ...,
        fenced: bool = ...,
        in_controlled_shutdown: bool = ...,
        log_dirs: list[UUID] = ...,
        cordoned_log_dirs: list[UUID] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RegisterControllerRecord(Message):
    class ControllerEndpoint(StructBase):
        name: str
        """Name of the listener."""
        host: str
        """Host name or address."""
        port: int
        """TCP port."""
        security_protocol: int
        """Security protocol of the listener, as a number."""
        def __init__(
            self,
            *,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ControllerFeature(StructBase):
        name: str
        """Name of the feature."""
        min_supported_version: int
        """Lowest level that is supported."""
        max_supported_version: int
        """Highest level that is supported."""
        def __init__(
            self,
            *,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    controller_id: int
    """Id of the controller, or -1 if it is unknown."""
    incarnation_id: UUID
    """Random id of this start of the process."""
    zk_migration_ready: bool
    """Whether the node is ready to migrate from ZooKeeper."""
    end_points: list[RegisterControllerRecord.ControllerEndpoint]
    """Addresses of the listeners."""
    features: list[RegisterControllerRecord.ControllerFeature]
    """Features, with the levels that the sender supports."""
    def __init__(
        self,
        *,
        controller_id: int = ...,
        incarnation_id: UUID = ...,
        zk_migration_ready: bool = ...,
        end_points: list[RegisterControllerRecord.ControllerEndpoint] = ...,
        features: list[RegisterControllerRecord.ControllerFeature] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoveAccessControlEntryRecord(Message):
    id: UUID
    """Id of the access control entry."""
    def __init__(
        self,
        *,
        id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoveDelegationTokenRecord(Message):
    token_id: str
    """Id of the delegation token."""
    def __init__(
        self,
        *,
        token_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoveTopicRecord(Message):
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    def __init__(
        self,
        *,
        topic_id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoveUserScramCredentialRecord(Message):
    name: str
    """Name of the user."""
    mechanism: int
    """SCRAM mechanism: 1 SHA-256, 2 SHA-512."""
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class TopicRecord(Message):
    name: str
    """Name of the topic."""
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: UUID = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UnfenceBrokerRecord(Message):
    id: int
    """Id of the broker."""
    epoch: int
    """Epoch of the broker, given at its registration."""
    def __init__(
        self,
        *,
        id: int = ...,
        epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UnregisterBrokerRecord(Message):
    broker_id: int
    """Id of the broker."""
    broker_epoch: int
    """Epoch of the broker, given at its registration; older ones are refused."""
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class UserScramCredentialRecord(Message):
    name: str
    """Name of the user."""
    mechanism: int
    """SCRAM mechanism: 1 SHA-256, 2 SHA-512."""
    salt: _Bytes
    """Salt of the SCRAM hash."""
    stored_key: _Bytes
    """SCRAM's stored key, with which the broker checks a proof."""
    server_key: _Bytes
    """SCRAM's server key, with which the broker proves itself."""
    iterations: int
    """Number of iterations of the SCRAM hash."""
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        salt: _Bytes = ...,
        stored_key: _Bytes = ...,
        server_key: _Bytes = ...,
        iterations: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ZkMigrationStateRecord(Message):
    zk_migration_state: int
    """State of the migration from ZooKeeper, as a number."""
    def __init__(
        self,
        *,
        zk_migration_state: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class QuorumStateData(Message):
    class Voter(StructBase):
        voter_id: int
        """Id of the voter."""
        def __init__(
            self,
            *,
            voter_id: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    cluster_id: str
    """Id of the cluster."""
    leader_id: int
    """Id of the leader, or -1 if it is unknown."""
    leader_epoch: int
    """Epoch of the quorum."""
    voted_id: int
    """Id of the voter that this node voted for, or -1."""
    voted_directory_id: UUID
    """Directory of the voter that this node voted for."""
    applied_offset: int
    """Offset up to which the voter had applied the log; kept for older versions."""
    current_voters: list[QuorumStateData.Voter] | None
    """Voters of the quorum, with their progress."""
    def __init__(
        self,
        *,
        cluster_id: str = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        voted_id: int = ...,
        voted_directory_id: UUID = ...,
        applied_offset: int = ...,
        current_voters: list[QuorumStateData.Voter] | None = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareSnapshotKey(Message):
    group_id: str
    """Name of the group."""
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    partition: int
    """Number of the partition."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topic_id: UUID = ...,
        partition: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareSnapshotValue(Message):
    class StateBatch(StructBase):
        first_offset: int
        """First offset of the range."""
        last_offset: int
        """Last offset of the range, inclusive."""
        delivery_state: int
        """State of delivery: 0 available, 2 acknowledged, 4 archived."""
        delivery_count: int
        """How many times the records were delivered."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    snapshot_epoch: int
    """Number of the snapshot; updates refer to it."""
    state_epoch: int
    """Epoch of the state of the share partition."""
    leader_epoch: int
    """Epoch of the leader; it grows with every election."""
    start_offset: int
    """First offset of the range."""
    delivery_complete_count: int
    """Number of records after the start offset whose delivery is complete, or -1."""
    create_timestamp: int
    """Time of the snapshot in milliseconds since 1970."""
    write_timestamp: int
    """Time of the last write in milliseconds since 1970."""
    state_batches: list[ShareSnapshotValue.StateBatch]
    """Runs of records in the same state of delivery."""
    def __init__(
        self,
        *,
        snapshot_epoch: int = ...,
        state_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        create_timestamp: int = ...,
        write_timestamp: int = ...,
        state_batches: list[ShareSnapshotValue.StateBatch] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareUpdateKey(Message):
    group_id: str
    """Name of the group."""
    topic_id: UUID
    """Id of the topic; a topic that is created again gets another one."""
    partition: int
    """Number of the partition."""
    def __init__(
        self,
        *,
        group_id: str = ...,
        topic_id: UUID = ...,
        partition: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ShareUpdateValue(Message):
    class StateBatch(StructBase):
        first_offset: int
        """First offset of the range."""
        last_offset: int
        """Last offset of the range, inclusive."""
        delivery_state: int
        """State of delivery: 0 available, 2 acknowledged, 4 archived."""
        delivery_count: int
        """How many times the records were delivered."""
        def __init__(
            self,
            *,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    snapshot_epoch: int
    """Number of the snapshot; updates refer to it."""
    leader_epoch: int
    """Epoch of the leader; it grows with every election."""
    start_offset: int
    """First offset of the range."""
    delivery_complete_count: int
    """Number of records after the start offset whose delivery is complete, or -1."""
    state_batches: list[ShareUpdateValue.StateBatch]
    """Runs of records in the same state of delivery."""
    def __init__(
        self,
        *,
        snapshot_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        state_batches: list[ShareUpdateValue.StateBatch] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class ProducerSnapshot(Message):
    class ProducerEntry(StructBase):
        producer_id: int
        """Id that the broker gave to the producer."""
        epoch: int
        """Epoch of the producer."""
        last_sequence: int
        """Sequence of the last record of the producer."""
        last_offset: int
        """Offset of the last record of the producer."""
        offset_delta: int
        """Last offset minus first offset of the last batch."""
        timestamp: int
        """Time of the last batch in milliseconds since 1970."""
        coordinator_epoch: int
        """Epoch of the coordinator that sends or stores this."""
        current_txn_first_offset: int
        """First offset of the open transaction, or -1."""
        def __init__(
            self,
            *,
            producer_id: int = ...,
            epoch: int = ...,
            last_sequence: int = ...,
            last_offset: int = ...,
            offset_delta: int = ...,
            timestamp: int = ...,
            coordinator_epoch: int = ...,
            current_txn_first_offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    crc: int
    """CRC-32C of the bytes after it."""
    producer_entries: list[ProducerSnapshot.ProducerEntry]
    """Producers of the partition."""
    def __init__(
        self,
        *,
        crc: int = ...,
        producer_entries: list[ProducerSnapshot.ProducerEntry] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecord(Message):
    class TopicIdPartitionEntry(StructBase):
        name: str
        """Name of the topic."""
        id: UUID
        """Id of the topic."""
        partition: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            name: str = ...,
            id: UUID = ...,
            partition: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class RemoteLogSegmentIdEntry(StructBase):
        topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry
        """The topic and the partition."""
        id: UUID
        """Random id of the segment."""
        def __init__(
            self,
            *,
            topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry = ...,
            id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class SegmentLeaderEpochEntry(StructBase):
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        offset: int
        """First offset of the epoch."""
        def __init__(
            self,
            *,
            leader_epoch: int = ...,
            offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry
    """Id of the remote segment."""
    start_offset: int
    """First offset of the range."""
    end_offset: int
    """Offset after the last record."""
    broker_id: int
    """Id of the broker."""
    max_timestamp_ms: int
    """Time after which the token cannot be renewed, in milliseconds since 1970."""
    event_timestamp_ms: int
    """Time of the event in milliseconds since 1970."""
    segment_leader_epochs: list[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry]
    """Leader epochs of the segment, with their start offsets."""
    segment_size_in_bytes: int
    """Size of the segment in bytes."""
    custom_metadata: _Bytes | None
    """Bytes of the plugin of remote storage."""
    remote_log_segment_state: int
    """State of the remote segment: copy or deletion, started or finished."""
    txn_index_empty: bool
    """Whether the segment has no aborted transactions."""
    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: list[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: _Bytes | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataSnapshotRecord(Message):
    class SegmentLeaderEpochEntry(StructBase):
        leader_epoch: int
        """Epoch of the leader; it grows with every election."""
        offset: int
        """First offset of the epoch."""
        def __init__(
            self,
            *,
            leader_epoch: int = ...,
            offset: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    segment_id: UUID
    """Id of the remote segment."""
    start_offset: int
    """First offset of the range."""
    end_offset: int
    """Offset after the last record."""
    broker_id: int
    """Id of the broker."""
    max_timestamp_ms: int
    """Time after which the token cannot be renewed, in milliseconds since 1970."""
    event_timestamp_ms: int
    """Time of the event in milliseconds since 1970."""
    segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry]
    """Leader epochs of the segment, with their start offsets."""
    segment_size_in_bytes: int
    """Size of the segment in bytes."""
    custom_metadata: _Bytes | None
    """Bytes of the plugin of remote storage."""
    remote_log_segment_state: int
    """State of the remote segment: copy or deletion, started or finished."""
    txn_index_empty: bool
    """Whether the segment has no aborted transactions."""
    def __init__(
        self,
        *,
        segment_id: UUID = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: _Bytes | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataUpdateRecord(Message):
    class TopicIdPartitionEntry(StructBase):
        name: str
        """Name of the topic."""
        id: UUID
        """Id of the topic."""
        partition: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            name: str = ...,
            id: UUID = ...,
            partition: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class RemoteLogSegmentIdEntry(StructBase):
        topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry
        """The topic and the partition."""
        id: UUID
        """Random id of the segment."""
        def __init__(
            self,
            *,
            topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry = ...,
            id: UUID = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry
    """Id of the remote segment."""
    broker_id: int
    """Id of the broker."""
    event_timestamp_ms: int
    """Time of the event in milliseconds since 1970."""
    custom_metadata: _Bytes | None
    """Bytes of the plugin of remote storage."""
    remote_log_segment_state: int
    """State of the remote segment: copy or deletion, started or finished."""
    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        custom_metadata: _Bytes | None = ...,
        remote_log_segment_state: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class RemotePartitionDeleteMetadataRecord(Message):
    class TopicIdPartitionEntry(StructBase):
        name: str
        """Name of the topic."""
        id: UUID
        """Id of the topic."""
        partition: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            name: str = ...,
            id: UUID = ...,
            partition: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry
    """The topic and the partition."""
    broker_id: int
    """Id of the broker."""
    event_timestamp_ms: int
    """Time of the event in milliseconds since 1970."""
    remote_partition_delete_state: int
    """State of the deletion: marked, started or finished."""
    def __init__(
        self,
        *,
        topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        remote_partition_delete_state: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class SubscriptionInfoData(Message):
    class TaskId(StructBase):
        topic_group_id: int
        """Number of the subtopology."""
        partition: int
        """Number of the partition."""
        def __init__(
            self,
            *,
            topic_group_id: int = ...,
            partition: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class PartitionToOffsetSum(StructBase):
        partition: int
        """Number of the partition."""
        offset_sum: int
        """Sum of the offsets of the task's changelogs."""
        def __init__(
            self,
            *,
            partition: int = ...,
            offset_sum: int = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class TaskOffsetSum(StructBase):
        topic_group_id: int
        """Number of the subtopology."""
        partition: int
        """Number of the partition."""
        offset_sum: int
        """Sum of the offsets of the task's changelogs."""
        named_topology: str | None
        """Name of the topology of the task, or null."""
        partition_to_offset_sum: list[SubscriptionInfoData.PartitionToOffsetSum]
        """Partitions of the subtopology, with their progress."""
        def __init__(
            self,
            *,
            topic_group_id: int = ...,
            partition: int = ...,
            offset_sum: int = ...,
            named_topology: str | None = ...,
            partition_to_offset_sum: list[SubscriptionInfoData.PartitionToOffsetSum] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    class ClientTag(StructBase):
        key: _Bytes
        """Name of the tag."""
        value: _Bytes
        """Value of the tag."""
        def __init__(
            self,
            *,
            key: _Bytes = ...,
            value: _Bytes = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    version: int
    """Version of the subscription."""
    latest_supported_version: int
    """Latest version of the subscription that the sender can read."""
    process_id: UUID
    """Id of the process; its members share state directories."""
    prev_tasks: list[SubscriptionInfoData.TaskId]
    """Tasks that were active before."""
    standby_tasks: list[SubscriptionInfoData.TaskId]
    """Tasks that were standby before."""
    user_end_point: _Bytes
    """Address at which the application answers queries."""
    task_offset_sums: list[SubscriptionInfoData.TaskOffsetSum]
    """Progress of each task."""
    unique_field: int
    """Number that changes with every subscription, so that the assignment is computed again."""
    error_code: int
    """Error that the instance reports; 0 is none."""
    client_tags: list[SubscriptionInfoData.ClientTag]
    """Tags of the client, which the assignment of standby tasks uses."""
    def __init__(
        self,
        *,
        version: int = ...,
        latest_supported_version: int = ...,
        process_id: UUID = ...,
        prev_tasks: list[SubscriptionInfoData.TaskId] = ...,
        standby_tasks: list[SubscriptionInfoData.TaskId] = ...,
        user_end_point: _Bytes = ...,
        task_offset_sums: list[SubscriptionInfoData.TaskOffsetSum] = ...,
        unique_field: int = ...,
        error_code: int = ...,
        client_tags: list[SubscriptionInfoData.ClientTag] = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class TransactionLogKey(Message):
    transactional_id: str
    """Name under which the producer keeps transactions over restarts."""
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...

class TransactionLogValue(Message):
    class PartitionsSchema(StructBase):
        topic: str
        """Name of the topic."""
        partition_ids: list[int]
        """Numbers of the partitions."""
        def __init__(
            self,
            *,
            topic: str = ...,
            partition_ids: list[int] = ...,
            unknown_tagged_fields: _Tags = ...,
        ) -> None: ...
    producer_id: int
    """Id that the broker gave to the producer."""
    previous_producer_id: int
    """Producer id before the current one, or -1."""
    next_producer_id: int
    """Producer id that follows."""
    producer_epoch: int
    """Epoch of the producer; an older epoch is fenced."""
    next_producer_epoch: int
    """Producer epoch of the next producer id."""
    transaction_timeout_ms: int
    """Milliseconds after which the coordinator aborts an open transaction."""
    transaction_status: int
    """State of the transaction, as a number."""
    transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None
    """Partitions in the transaction; null if it is empty."""
    transaction_last_update_timestamp_ms: int
    """Time of the last change in milliseconds since 1970."""
    transaction_start_timestamp_ms: int
    """Time at which the transaction began, in milliseconds since 1970, or -1."""
    client_transaction_version: int
    """Level of `transaction.version` that the client uses."""
    def __init__(
        self,
        *,
        producer_id: int = ...,
        previous_producer_id: int = ...,
        next_producer_id: int = ...,
        producer_epoch: int = ...,
        next_producer_epoch: int = ...,
        transaction_timeout_ms: int = ...,
        transaction_status: int = ...,
        transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = ...,
        transaction_last_update_timestamp_ms: int = ...,
        transaction_start_timestamp_ms: int = ...,
        client_transaction_version: int = ...,
        unknown_tagged_fields: _Tags = ...,
    ) -> None: ...
