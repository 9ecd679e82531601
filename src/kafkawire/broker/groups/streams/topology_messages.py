"""A topology in messages: that of a heartbeat, and that of a record. Both have the same fields.

Rules:
- A topology with a negative epoch, or with a subtopology twice, is STREAMS_INVALID_TOPOLOGY. Apache Kafka answers
  UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from kafkawire.messages import StreamsGroupTopologyValue
from kafkawire.messages.errors import StreamsInvalidTopologyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.messages import StreamsGroupHeartbeatRequest

    Stated = StreamsGroupHeartbeatRequest.Topology | StreamsGroupTopologyValue
    StatedSubtopology = StreamsGroupHeartbeatRequest.Subtopology | StreamsGroupTopologyValue.Subtopology
    StatedTopic = StreamsGroupHeartbeatRequest.TopicInfo | StreamsGroupTopologyValue.TopicInfo


def topology_of(stated: Stated) -> Topology:
    """The topology of a message."""
    if stated.epoch < 0:
        raise StreamsInvalidTopologyError(f"topology epoch {stated.epoch}, expected 0 or more")
    found = {each.subtopology_id: _subtopology(each) for each in stated.subtopologies}
    if len(found) < len(stated.subtopologies):
        raise StreamsInvalidTopologyError("a topology lists a subtopology twice")
    return Topology(stated.epoch, found)


def topology_value(topology: Topology) -> StreamsGroupTopologyValue:
    """The record of a topology."""
    kind = StreamsGroupTopologyValue
    return kind(
        epoch=topology.epoch,
        subtopologies=[
            kind.Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=[*each.source_topics],
                source_topic_regex=[*each.source_topic_regex],
                state_changelog_topics=[*_infos(each.changelog_topics)],
                repartition_sink_topics=[*each.repartition_sink_topics],
                repartition_source_topics=[*_infos(each.repartition_source_topics)],
                copartition_groups=[
                    kind.CopartitionGroup(
                        source_topics=[*group.source_topics],
                        source_topic_regex=[*group.source_topic_regex],
                        repartition_source_topics=[*group.repartition_source_topics],
                    )
                    for group in each.copartition_groups
                ],
            )
            for each in topology.subtopologies.values()
        ],
    )


def _subtopology(stated: StatedSubtopology) -> Subtopology:
    return Subtopology(
        stated.subtopology_id,
        tuple(stated.source_topics),
        tuple(stated.source_topic_regex),
        tuple(map(_info, stated.state_changelog_topics)),
        tuple(stated.repartition_sink_topics),
        tuple(map(_info, stated.repartition_source_topics)),
        tuple(
            CopartitionGroup(
                tuple(group.source_topics), tuple(group.source_topic_regex), tuple(group.repartition_source_topics)
            )
            for group in stated.copartition_groups
        ),
    )


def _info(stated: StatedTopic) -> TopicInfo:
    configs = tuple((each.key, each.value) for each in stated.topic_configs)
    return TopicInfo(stated.name, stated.partitions, stated.replication_factor, configs)


def _infos(topics: Iterable[TopicInfo]) -> Iterator[StreamsGroupTopologyValue.TopicInfo]:
    kind = StreamsGroupTopologyValue
    for name, partitions, replication_factor, configs in topics:
        yield kind.TopicInfo(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            topic_configs=[kind.TopicConfig(key=key, value=value) for key, value in configs],
        )
