"""Clients of a Kafka cluster.

`Producer`, `Consumer` and `Admin` are for asyncio; `kafkawire.client.blocking` has the same names for plain calls.
`BulkReader` and `BulkWriter` read and write offset ranges in bulk, as Arrow batches, without an event loop. Names are
imported on first use, so that each of them loads only its own modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.client._admin.admin import Admin
    from kafkawire.client._admin.quotas import quota_entity_text
    from kafkawire.client._admin.tokens import DelegationToken
    from kafkawire.client._admin.transactions import TransactionAdmin
    from kafkawire.client._admin.types import (
        AdminErrors,
        ClusterDescription,
        ConfigEntry,
        ConfigResource,
        ConfigSource,
        GroupDescription,
        GroupListing,
        GroupMember,
        HangingTransaction,
        LogDirEntry,
        NewTopic,
        ProducerState,
        ResourceType,
        ShareOffset,
        StreamsSubtopology,
        StreamsTasks,
        TransactionDescription,
        TransactionListing,
    )
    from kafkawire.client._bulk.arrow import ARROW_COLUMNS
    from kafkawire.client._bulk.reader import FETCH_BYTES, BulkReader
    from kafkawire.client._bulk.writer import BulkWriter
    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.metadata import Node, PartitionInfo, TopicInfo, TopicPartition
    from kafkawire.client._cluster.oauth import OAuthToken
    from kafkawire.client._consume.commits import (
        ConsumerGroupMetadata,
        OffsetAndMetadata,
        commit_offsets,
        fetch_committed,
    )
    from kafkawire.client._consume.consumer import Consumer
    from kafkawire.client._consume.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, OffsetAndTimestamp
    from kafkawire.client._consume.records import ConsumerRecord
    from kafkawire.client._consume.subscription import RebalanceListener, SubscriptionPattern
    from kafkawire.client._produce.partitioner import partition_of_key
    from kafkawire.client._produce.producer import Producer
    from kafkawire.client._produce.results import Delivery, RecordFuture, RecordMetadata
    from kafkawire.client._share.acknowledgements import AcknowledgeType, ShareRecord
    from kafkawire.client._share.consumer import ShareConsumer
    from kafkawire.client._trace.events import TraceEvent
    from kafkawire.client._transactions.prepared import PreparedTransaction
    from kafkawire.client.errors import (
        AbortableTransactionError,
        AuthenticationFailedError,
        BufferFullError,
        ClientError,
        ClosedError,
        ConnectionLostError,
        CorruptFetchError,
        FatalTransactionError,
        FencedError,
        GroupError,
        LogTruncatedError,
        NoOffsetError,
        OptionError,
        RecordTooLargeError,
        RequestTimeoutError,
        TransactionError,
        TransactionStateError,
        UnknownPartitionError,
    )

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "AbortableTransactionError",
    "AcknowledgeType",
    "Admin",
    "AdminErrors",
    "AuthenticationFailedError",
    "BufferFullError",
    "BulkReader",
    "BulkWriter",
    "ClientError",
    "ClosedError",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConnectionLostError",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "CorruptFetchError",
    "DelegationToken",
    "FatalTransactionError",
    "FencedError",
    "GroupDescription",
    "GroupError",
    "GroupListing",
    "GroupMember",
    "HangingTransaction",
    "LogDirEntry",
    "LogTruncatedError",
    "NewTopic",
    "NoOffsetError",
    "Node",
    "OAuthToken",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OptionError",
    "PartitionInfo",
    "PreparedTransaction",
    "Producer",
    "ProducerState",
    "RebalanceListener",
    "RecordFuture",
    "RecordMetadata",
    "RecordTooLargeError",
    "RequestTimeoutError",
    "ResourceType",
    "ShareConsumer",
    "ShareOffset",
    "ShareRecord",
    "StreamsSubtopology",
    "StreamsTasks",
    "SubscriptionPattern",
    "TopicInfo",
    "TopicPartition",
    "TraceEvent",
    "TransactionDescription",
    "TransactionError",
    "TransactionListing",
    "TransactionStateError",
    "UnknownPartitionError",
]


_HOMES = {
    "AbortableTransactionError": "errors",
    "AcknowledgeType": "_share.acknowledgements",
    "Admin": "_admin.admin",
    "AdminErrors": "_admin.types",
    "AuthenticationFailedError": "errors",
    "BufferFullError": "errors",
    "BulkReader": "_bulk.reader",
    "BulkWriter": "_bulk.writer",
    "ClientError": "errors",
    "ClosedError": "errors",
    "ClusterDescription": "_admin.types",
    "ConfigEntry": "_admin.types",
    "ConfigResource": "_admin.types",
    "ConfigSource": "_admin.types",
    "ConnectionLostError": "errors",
    "Consumer": "_consume.consumer",
    "ConsumerGroupMetadata": "_consume.commits",
    "ConsumerRecord": "_consume.records",
    "CorruptFetchError": "errors",
    "DelegationToken": "_admin.tokens",
    "EARLIEST": "_consume.offsets",
    "FatalTransactionError": "errors",
    "FencedError": "errors",
    "GroupDescription": "_admin.types",
    "GroupError": "errors",
    "GroupListing": "_admin.types",
    "GroupMember": "_admin.types",
    "HangingTransaction": "_admin.types",
    "LATEST": "_consume.offsets",
    "LogDirEntry": "_admin.types",
    "LogTruncatedError": "errors",
    "MAX_TIMESTAMP": "_consume.offsets",
    "NewTopic": "_admin.types",
    "NoOffsetError": "errors",
    "Node": "_cluster.metadata",
    "OAuthToken": "_cluster.oauth",
    "OffsetAndMetadata": "_consume.commits",
    "OffsetAndTimestamp": "_consume.offsets",
    "OptionError": "errors",
    "PartitionInfo": "_cluster.metadata",
    "PreparedTransaction": "_transactions.prepared",
    "Producer": "_produce.producer",
    "ProducerState": "_admin.types",
    "RebalanceListener": "_consume.subscription",
    "RecordFuture": "_produce.results",
    "RecordMetadata": "_produce.results",
    "RecordTooLargeError": "errors",
    "RequestTimeoutError": "errors",
    "ResourceType": "_admin.types",
    "ShareConsumer": "_share.consumer",
    "ShareOffset": "_admin.types",
    "ShareRecord": "_share.acknowledgements",
    "StreamsSubtopology": "_admin.types",
    "StreamsTasks": "_admin.types",
    "SubscriptionPattern": "_consume.subscription",
    "TopicInfo": "_cluster.metadata",
    "TopicPartition": "_cluster.metadata",
    "TraceEvent": "_trace.events",
    "TransactionDescription": "_admin.types",
    "TransactionError": "errors",
    "TransactionListing": "_admin.types",
    "TransactionStateError": "errors",
    "UnknownPartitionError": "errors",
}


# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "ARROW_COLUMNS": "_bulk.arrow",
    "Cluster": "_cluster.cluster",
    "Delivery": "_produce.results",
    "FETCH_BYTES": "_bulk.reader",
    "TransactionAdmin": "_admin.transactions",
    "commit_offsets": "_consume.commits",
    "fetch_committed": "_consume.commits",
    "partition_of_key": "_produce.partitioner",
    "quota_entity_text": "_admin.quotas",
}

if not TYPE_CHECKING:  # a type checker that saw it would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)


def __dir__() -> list[str]:
    return __all__
