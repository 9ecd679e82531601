"""Clients of a Kafka cluster.

`Producer`, `Consumer` and `Admin` are for asyncio; `kafkawire.client.blocking` has the same names for plain calls, and
`kafkawire.client.fetch` reads offset ranges in bulk, as Arrow batches, without an event loop. Names are imported when
they are first asked for, so that each of them loads only what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.loading import load_when_asked

if TYPE_CHECKING:
    from kafkawire.client.admin import Admin
    from kafkawire.client.committing import OffsetAndMetadata
    from kafkawire.client.consumer import Consumer
    from kafkawire.client.decoding import ConsumerRecord
    from kafkawire.client.described import (
        AdminErrors,
        ClusterDescription,
        ConfigEntry,
        ConfigResource,
        ConfigSource,
        GroupDescription,
        GroupListing,
        GroupMember,
        LogDirEntry,
        NewTopic,
        ResourceType,
    )
    from kafkawire.client.errors import (
        AuthenticationFailedError,
        BufferFullError,
        ClientError,
        ClosedError,
        ConnectionLostError,
        CorruptFetchError,
        GroupError,
        LogTruncatedError,
        NoOffsetError,
        OptionError,
        RecordTooLargeError,
        RequestTimeoutError,
        UnknownPartitionError,
    )
    from kafkawire.client.metadata import Node, PartitionInfo, TopicInfo, TopicPartition
    from kafkawire.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, OffsetAndTimestamp
    from kafkawire.client.outcome import RecordFuture, RecordMetadata
    from kafkawire.client.producer import Producer
    from kafkawire.client.subscription import RebalanceListener

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "Admin",
    "AdminErrors",
    "AuthenticationFailedError",
    "BufferFullError",
    "ClientError",
    "ClosedError",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConnectionLostError",
    "Consumer",
    "ConsumerRecord",
    "CorruptFetchError",
    "GroupDescription",
    "GroupError",
    "GroupListing",
    "GroupMember",
    "LogDirEntry",
    "LogTruncatedError",
    "NewTopic",
    "NoOffsetError",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OptionError",
    "PartitionInfo",
    "Producer",
    "RebalanceListener",
    "RecordFuture",
    "RecordMetadata",
    "RecordTooLargeError",
    "RequestTimeoutError",
    "ResourceType",
    "TopicInfo",
    "TopicPartition",
    "UnknownPartitionError",
]

_HOMES = {
    "Admin": "admin",
    "AdminErrors": "described",
    "AuthenticationFailedError": "errors",
    "BufferFullError": "errors",
    "ClientError": "errors",
    "ClosedError": "errors",
    "ClusterDescription": "described",
    "ConfigEntry": "described",
    "ConfigResource": "described",
    "ConfigSource": "described",
    "ConnectionLostError": "errors",
    "Consumer": "consumer",
    "ConsumerRecord": "decoding",
    "CorruptFetchError": "errors",
    "EARLIEST": "offsets",
    "GroupDescription": "described",
    "GroupError": "errors",
    "GroupListing": "described",
    "GroupMember": "described",
    "LATEST": "offsets",
    "LogDirEntry": "described",
    "LogTruncatedError": "errors",
    "MAX_TIMESTAMP": "offsets",
    "NewTopic": "described",
    "NoOffsetError": "errors",
    "Node": "metadata",
    "OffsetAndMetadata": "committing",
    "OffsetAndTimestamp": "offsets",
    "OptionError": "errors",
    "PartitionInfo": "metadata",
    "Producer": "producer",
    "RebalanceListener": "subscription",
    "RecordFuture": "outcome",
    "RecordMetadata": "outcome",
    "RecordTooLargeError": "errors",
    "RequestTimeoutError": "errors",
    "ResourceType": "described",
    "TopicInfo": "metadata",
    "TopicPartition": "metadata",
    "UnknownPartitionError": "errors",
}

if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
