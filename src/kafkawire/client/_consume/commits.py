"""Committed offsets of a group: OffsetCommit and OffsetFetch.

Rules:
- A commit carries member and generation if there are any, so that the coordinator can refuse a late one.
- One request has the offsets of all partitions; the first error in the answer is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client._cluster.cluster import GROUP
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.messages import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from kafkawire.messages.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.client._cluster.cluster import Cluster

_NAMED_BY_TOPIC: Final = 9  # the last versions of OffsetCommit and OffsetFetch that name topics instead of their ids
_GROUPS_FROM: Final = 8
_MEMBERS_FROM: Final = 9


class OffsetAndMetadata(NamedTuple):
    """A committed offset, and the text that was committed with it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class ConsumerGroupMetadata(NamedTuple):
    """A group, and the member that commits for it; without a member the coordinator does not check the generation."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


def as_offsets(offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets with or without metadata, as one type.

    >>> as_offsets({("orders", 0): 5})
    {TopicPartition(topic='orders', partition=0): OffsetAndMetadata(offset=5, metadata='', leader_epoch=-1)}
    """
    return {
        TopicPartition(*each): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for each, offset in offsets.items()
    }


async def commit_offsets(
    cluster: Cluster,
    group: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    member_id: str = "",
    generation: int = -1,
    instance_id: str | None = None,
) -> None:
    """Commit offsets once; raises errors, and forgets a coordinator that has moved."""
    topics: dict[str, OffsetCommitRequest.OffsetCommitRequestTopic] = {}
    for (name, partition), each in offsets.items():
        topic = topics.setdefault(name, OffsetCommitRequest.OffsetCommitRequestTopic(name=name))
        topic.partitions.append(
            OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                committed_metadata=each.metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=list(topics.values()),
    )
    node = await cluster.coordinator(GROUP, group)
    connection = await cluster.connection(node)
    version = min(connection.version("OffsetCommit"), _NAMED_BY_TOPIC)
    response = await connection.request(request, OffsetCommitResponse, version=version)
    for topic_answer in response.topics:
        for answer in topic_answer.partitions:
            _check(cluster, group, answer.error_code, f"{topic_answer.name}-{answer.partition_index}")


async def fetch_committed(
    cluster: Cluster,
    group: str,
    partitions: Iterable[TopicPartition] | None,
    *,
    stable: bool = False,
    member_id: str = "",
    epoch: int = -1,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The committed offsets of these partitions, or of all; partitions without one are left out.

    With `stable`, as in Java's consumer, offsets of a partition in an open transaction are a retriable error (KIP-447).
    With an epoch, the coordinator refuses a member that is not in this epoch (KIP-848).
    """
    node = await cluster.coordinator(GROUP, group)
    connection = await cluster.connection(node)
    version = min(connection.version("OffsetFetch"), _NAMED_BY_TOPIC)
    numbers: dict[str, list[int]] = {}
    for name, number in partitions or ():
        numbers.setdefault(name, []).append(number)
    names = list(numbers.items())
    request = OffsetFetchRequest(require_stable=stable and version >= 7)
    if version >= _GROUPS_FROM:
        wanted = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group)
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in names
        ]
        wanted.topics = None if partitions is None else topics
        if epoch > 0 and version >= _MEMBERS_FROM:
            wanted.member_id, wanted.member_epoch = member_id, epoch
        request.groups = [wanted]
    else:
        request.group_id = group
        single = [OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=each) for name, each in names]
        request.topics = None if partitions is None else single
    response = await connection.request(request, OffsetFetchResponse, version=version)
    answer = response.groups[0] if response.groups else response
    _check(cluster, group, answer.error_code, f"group {group!r}")
    found = {}
    for topic in answer.topics:
        for each in topic.partitions:
            _check(cluster, group, each.error_code, f"{topic.name}-{each.partition_index}")
            if each.committed_offset >= 0:
                place = TopicPartition(topic.name, each.partition_index)
                found[place] = OffsetAndMetadata(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return found


def _check(cluster: Cluster, group: str, code: int, what: str) -> None:
    if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
        cluster.forget_coordinator(GROUP, group)
    if code:
        raise error_for(code, what)
