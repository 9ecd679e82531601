"""The types of the admin client: new topics, and descriptions of what a cluster has."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.client._cluster.metadata import Node, TopicPartition
    from kafkawire.messages.errors import KafkaError


class AdminErrors(ClientError):  # noqa: N818 - several errors, each with its name
    """Several items of a call failed; `errors` has the error of each by name."""

    def __init__(self, errors: Mapping[str, KafkaError]) -> None:
        self.errors = dict(errors)
        super().__init__(self.errors)

    def __str__(self) -> str:
        return "; ".join(f"{name}: {error}" for name, error in self.errors.items())


@dataclass(frozen=True)
class NewTopic:
    """A topic to create; -1 means the default of the broker, and replicas by partition override both numbers."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    topic_configs: Mapping[str, str | None] = field(default_factory=dict)


class ResourceType(IntEnum):
    """The kinds of resources that have configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """A resource that has configs; an empty name means all brokers."""

    type: ResourceType
    name: str


class ConfigSource(IntEnum):
    """The source of the value of a config."""

    UNKNOWN = -1
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a resource."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster and its brokers."""

    cluster_id: str | None
    controller_id: int
    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class GroupListing:
    """An entry of the list of groups."""

    group_id: str
    protocol_type: str
    state: str
    type: str
    coordinator: int


class StreamsTasks(NamedTuple):
    """The tasks of a member of a streams group, each a subtopology and a partition."""

    active: list[tuple[str, int]]
    standby: list[tuple[str, int]]
    warmup: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class StreamsSubtopology:
    """A part of the topology of a streams group, by its topics."""

    sources: list[str]
    repartition_sources: list[str]
    changelogs: list[str]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group.

    Members of consumer, share and streams groups also have an epoch, and those of consumer groups a target that they
    are to reach. The assignment of a streams member has the partitions that its active tasks read.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[TopicPartition]
    epoch: int | None = None
    target: list[TopicPartition] | None = None
    tasks: StreamsTasks | None = None
    target_tasks: StreamsTasks | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members; groups that are not classic also have the epochs of the group and of its targets."""

    group_id: str
    state: str
    protocol_type: str
    strategy: str
    coordinator: int
    members: list[GroupMember]
    type: str = "classic"
    epoch: int | None = None
    assignment_epoch: int | None = None
    topology: dict[str, StreamsSubtopology] | None = None


class ShareOffset(NamedTuple):
    """The progress of a share group in a partition: the first offset that may be delivered, and the records left.

    Both are None if they are not known.
    """

    start_offset: int | None
    lag: int | None
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class LogDirEntry:
    """A partition in a log directory of a broker."""

    node_id: int
    log_dir: str
    partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """An entry of the list of transactions."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id, its producer, and the partitions of its transaction; the start is None if none is open."""

    transactional_id: str
    coordinator: int
    state: str
    timeout_ms: int
    start_ms: int | None
    producer_id: int
    producer_epoch: int
    partitions: list[TopicPartition]


class ProducerState(NamedTuple):
    """A producer that a partition remembers; `open_since` is the first offset of its open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    open_since: int | None


class HangingTransaction(NamedTuple):
    """A transaction that is open in a partition, and that no coordinator knows."""

    partition: TopicPartition
    producer: ProducerState


def raise_errors(errors: Mapping[str, KafkaError]) -> None:
    """Raise the error if there is one, or AdminErrors if there are several."""
    if len(errors) == 1:
        raise next(iter(errors.values()))
    if errors:
        raise AdminErrors(errors)
