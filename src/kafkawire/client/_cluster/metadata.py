"""Metadata of a cluster: its brokers, topics, partitions and leaders.

Rules:
- The leader of a partition is only replaced by one of the same or a later epoch, because brokers may answer with old
  metadata. If the topic was recreated (its id changed), any leader is accepted.
- A topic that the cluster reports as missing is forgotten; a topic that was not asked for stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.messages import MetadataResponse

NO_ID: Final = UUID(int=0)


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Node(NamedTuple):
    """A broker and its address."""

    id: int
    host: str
    port: int
    rack: str | None = None


class PartitionInfo(NamedTuple):
    """A partition in the latest metadata; the leader is -1 if there is none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    error: int = 0


@dataclass(slots=True)
class TopicInfo:
    """A topic in the latest metadata."""

    name: str
    id: UUID
    is_internal: bool
    partitions: dict[int, PartitionInfo]

    def available(self) -> list[int]:
        """The partitions that have a leader; all of them if none has."""
        return [number for number, each in self.partitions.items() if each.leader >= 0] or list(self.partitions)


@dataclass(slots=True)
class Metadata:
    """The latest metadata of every topic."""

    cluster_id: str | None = None
    controller_id: int = -1
    nodes: dict[int, Node] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    names: dict[UUID, str] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    updated_at: float = float("-inf")

    def clear(self) -> None:
        """Forget everything, because the next answer may come from another cluster."""
        for known in (self.nodes, self.topics, self.names, self.errors):
            known.clear()

    def update(self, response: MetadataResponse, *, is_complete: bool, now: float) -> None:
        """Apply an answer; a complete answer lists all topics."""
        self.cluster_id, self.controller_id = response.cluster_id, response.controller_id
        self.nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
        if is_complete:
            listed = {topic.name for topic in response.topics}
            for gone in self.topics.keys() - listed:
                self._forget(gone)
        for topic in response.topics:
            name = topic.name or self.names.get(topic.topic_id)
            if name is None:
                continue
            if topic.error_code:
                self.errors[name] = topic.error_code
                if topic.error_code != ErrorCode.LEADER_NOT_AVAILABLE:
                    self._forget(name)
                    continue
            else:
                self.errors.pop(name, None)
            self._take(name, topic)
        self.updated_at = now

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        known = self.topics.get(topic)
        return None if known is None else known.partitions.get(partition)

    def leader(self, topic: str, partition: int) -> Node | None:
        """The broker that leads a partition, if there is one."""
        info = self.partition(topic, partition)
        return None if info is None else self.nodes.get(info.leader)

    def move_leader(self, topic: str, partition: int, leader: int, epoch: int) -> bool:
        """Apply a leader that another answer names; returns whether it is new and known."""
        info = self.partition(topic, partition)
        if info is None or leader not in self.nodes or epoch <= info.leader_epoch:
            return False
        self.topics[topic].partitions[partition] = PartitionInfo(
            partition, leader, epoch, info.replicas, info.isr, info.offline
        )
        return True

    def _take(self, name: str, topic: MetadataResponse.MetadataResponseTopic) -> None:
        before = self.topics.get(name)
        known = before.partitions if before is not None and before.id == topic.topic_id else {}
        if before is not None and before.id != topic.topic_id:
            self.names.pop(before.id, None)
        partitions = {}
        for each in sorted(topic.partitions, key=lambda entry: entry.partition_index):
            old = known.get(each.partition_index)
            if old is not None and -1 < each.leader_epoch < old.leader_epoch:
                partitions[each.partition_index] = old
                continue
            partitions[each.partition_index] = PartitionInfo(
                each.partition_index,
                each.leader_id,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                tuple(each.offline_replicas),
                each.error_code,
            )
        self.topics[name] = TopicInfo(name, topic.topic_id, topic.is_internal, partitions)
        if topic.topic_id != NO_ID:
            self.names[topic.topic_id] = name

    def _forget(self, name: str) -> None:
        gone = self.topics.pop(name, None)
        if gone is not None:
            self.names.pop(gone.id, None)
