"""The topology of a streams group: subtopologies, and the topics that they read and write.

Rules:
- The first member states the topology, with an epoch. Members with an older epoch get the status STALE_TOPOLOGY.
  Kafka 4.3 has no updates of a topology.
- Repartition and changelog topics are internal to the application. A number of partitions of 0 lets the broker decide.
- Source topics of a copartition group are indexes into the lists of its subtopology.
- A topology has at most MOST_PARTS names, topics and settings. Apache Kafka has no limit, but all of them are compared
  with every change of topics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_PARTS: Final = 5_000


class TopicInfo(NamedTuple):
    """An internal topic: 0 partitions or replicas are undecided."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(NamedTuple):
    """Topics of a subtopology that need the same number of partitions."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """A part of a topology; its tasks run independently of those of other parts."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    def sources(self) -> Iterator[str]:
        """The topics that its tasks read."""
        yield from self.source_topics
        for topic in self.repartition_source_topics:
            yield topic.name

    def copartitioned(self) -> Iterator[frozenset[str]]:
        """The names of the topics in each copartition group."""
        for group in self.copartition_groups:
            yield frozenset(
                [
                    *(self.source_topics[index] for index in group.source_topics),
                    *(self.repartition_source_topics[index].name for index in group.repartition_source_topics),
                ]
            )


@dataclass(frozen=True, slots=True)
class Topology:
    """A topology with its epoch; subtopologies by id."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]
    readers: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """The subtopology that reads a topic."""

    def __post_init__(self) -> None:
        readers = {name: each.subtopology_id for each in self.subtopologies.values() for name in each.sources()}
        object.__setattr__(self, "readers", readers)

    def required_topics(self) -> frozenset[str]:
        """The topics that must exist before a task runs."""
        changelogs = (topic.name for each in self.subtopologies.values() for topic in each.changelog_topics)
        return frozenset([*self.readers, *changelogs])
