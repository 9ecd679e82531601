"""The partitions that the processes of a group serve, by the address of their process (KIP-1071).

Rules:
- Members with an endpoint are listed, the one that asks last.
- A task serves the partition of its number of every source topic. A topic with fewer partitions than the member has
  tasks lists the first ones, as in Apache Kafka.
- Before the topology is configured no partitions are listed. Apache Kafka 4.3 fails then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.streams.configuration import ConfiguredSubtopology
    from kafkawire.broker.groups.streams.group import StreamsGroup
    from kafkawire.broker.groups.streams.member import Endpoint, StreamsMember
    from kafkawire.broker.groups.streams.tasks import EpochTasks, Tasks


class EndpointPartitions(NamedTuple):
    """The partitions of one endpoint, by topic."""

    endpoint: Endpoint
    active: Sequence[tuple[str, Sequence[int]]]
    standby: Sequence[tuple[str, Sequence[int]]]


def endpoint_partitions(group: StreamsGroup, member: StreamsMember, topics: Topics) -> list[EndpointPartitions]:
    """The endpoints of a group, for a member."""
    configured = group.configured
    subtopologies = {} if configured is None else configured.subtopologies or {}
    found = []
    for each in [*(other for other in group.members.values() if other.member_id != member.member_id), member]:
        if each.endpoint is not None:
            active = _partitions(each.assigned.active, subtopologies, topics)
            standby = _partitions(each.assigned.standby, subtopologies, topics)
            found.append(EndpointPartitions(each.endpoint, active, standby))
    return found


def _partitions(
    tasks: Tasks | EpochTasks, subtopologies: Mapping[str, ConfiguredSubtopology], topics: Topics
) -> list[tuple[str, list[int]]]:
    found = []
    for name, numbers in tasks.items():
        subtopology = subtopologies.get(name)
        if subtopology is None:
            continue
        partitions = sorted(numbers)
        for source in sorted(subtopology.sources | subtopology.repartition.keys()):
            topic = topics.find(source)
            if topic is not None:
                found.append((source, partitions[: topic.partitions]))
    return found
