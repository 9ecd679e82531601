"""What the admin client takes and gives: topics to make, and things as the cluster describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.client.metadata import Node, TopicPartition
    from kafkawire.messages.errors import KafkaError


class AdminErrors(ClientError):  # noqa: N818 - several errors, each with its name
    """Several things failed; `errors` has each of them by name."""

    def __init__(self, errors: Mapping[str, KafkaError]) -> None:
        self.errors = dict(errors)
        super().__init__(self.errors)

    def __str__(self) -> str:
        return "; ".join(f"{name}: {error}" for name, error in self.errors.items())


@dataclass(frozen=True)
class NewTopic:
    """A topic to make; -1 leaves a number to the broker's default, replicas by partition override both."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    topic_configs: Mapping[str, str | None] = field(default_factory=dict)


class ResourceType(IntEnum):
    """What configs may belong to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Something that has configs; the name of all brokers together is empty."""

    type: ResourceType
    name: str


class ConfigSource(IntEnum):
    """Where a config's value comes from."""

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
    """A group as the list has it."""

    group_id: str
    protocol_type: str
    state: str
    type: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[TopicPartition]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members."""

    group_id: str
    state: str
    protocol_type: str
    strategy: str
    coordinator: int
    members: list[GroupMember]
    type: str = "classic"


@dataclass(frozen=True, slots=True)
class LogDirEntry:
    """A partition in a log directory of a broker."""

    node_id: int
    log_dir: str
    partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool
