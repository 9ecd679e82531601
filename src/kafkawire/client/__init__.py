"""Clients of a Kafka cluster.

`Producer`, `Consumer` and `Admin` are for asyncio; `kafkawire.client.blocking` has the same names for plain calls, and
`kafkawire.client.fetch` reads offset ranges in bulk, as Arrow batches, without an event loop.
"""

from kafkawire.client.admin import Admin
from kafkawire.client.batches import RecordMetadata
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
    GroupError,
    NoOffsetError,
    OptionError,
    RecordTooLargeError,
    RequestTimeoutError,
    UnknownPartitionError,
)
from kafkawire.client.metadata import Node, PartitionInfo, TopicInfo, TopicPartition
from kafkawire.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, OffsetAndTimestamp
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
    "GroupDescription",
    "GroupError",
    "GroupListing",
    "GroupMember",
    "LogDirEntry",
    "NewTopic",
    "NoOffsetError",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OptionError",
    "PartitionInfo",
    "Producer",
    "RebalanceListener",
    "RecordMetadata",
    "RecordTooLargeError",
    "RequestTimeoutError",
    "ResourceType",
    "TopicInfo",
    "TopicPartition",
    "UnknownPartitionError",
]
