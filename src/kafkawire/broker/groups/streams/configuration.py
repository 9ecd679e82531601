"""A topology and the topics that exist: how many tasks it has, and which internal topics it lacks.

Rules:
- All source topics must exist. Without one of them no number is decided.
- A repartition topic has the number of partitions that it states, or that of the largest source of a subtopology that
  writes it. The topics of a copartition group get the same number.
- A changelog topic, and a subtopology's tasks, follow its source with the most partitions.
- A missing internal topic is created by the broker. An existing one must have the decided number of partitions.
- The order in which numbers are decided is that of Apache Kafka, because it can matter.
- A topology that contradicts itself is STREAMS_INVALID_TOPOLOGY. Apache Kafka answers UNKNOWN_SERVER_ERROR to an index
  beyond a list, a topic that is listed twice, or a negative number of partitions.
- The tasks of a topology read at most MOST_INPUTS partitions. Apache Kafka has no limit.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kafkawire.broker.groups.java_order import hash_of_text, map_order
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import StreamsInvalidTopologyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.streams.topology import Subtopology, TopicInfo, Topology

T = TypeVar("T")
MOST_INPUTS: Final = 20_000
_SHOWN: Final = 3


class StatusCode(IntEnum):
    """The codes of statuses that a response has beside an assignment."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(NamedTuple):
    """A status and its explanation."""

    code: StatusCode
    detail: str


class InternalTopic(NamedTuple):
    """An internal topic with a decided number of partitions; 0 replicas are the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class ConfiguredSubtopology(NamedTuple):
    """A subtopology with its number of tasks."""

    tasks: int
    sources: frozenset[str]
    sinks: frozenset[str]
    repartition: Mapping[str, InternalTopic]
    changelogs: Mapping[str, InternalTopic]

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelogs)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology that can run, or the reason why it cannot. Subtopologies are in the order of their ids."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None = None
    missing: Mapping[str, InternalTopic] = field(default_factory=dict)
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _ProblemError(KafkaWireError):
    """The topics that exist do not fit the topology."""

    def __init__(self, code: StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.status = Status(code, detail)


def configure(topology: Topology, topics: Topics) -> ConfiguredTopology:
    """Decide the numbers of a topology."""
    _check_copartition_indexes(topology)
    try:
        _check_sources(topology, topics)
        counts = _Counts(topology, topics)
        subtopologies = {name: counts.configured(each) for name, each in sorted(topology.subtopologies.items())}
        _check_inputs(subtopologies)
        missing = _missing_topics(topology, subtopologies, topics)
    except _ProblemError as problem:
        return ConfiguredTopology(topology.epoch, problem=problem.status)
    if not missing:
        return ConfiguredTopology(topology.epoch, subtopologies)
    detail = f"Internal topics are missing: {_summary(missing)}"
    return ConfiguredTopology(
        topology.epoch, subtopologies, missing, Status(StatusCode.MISSING_INTERNAL_TOPICS, detail)
    )


class _Counts:
    """The numbers of partitions: of topics that exist, and those that were decided for internal topics."""

    def __init__(self, topology: Topology, topics: Topics) -> None:
        self._topics = topics
        self._decided: dict[str, int] = {}
        ordered = [topology.subtopologies[name] for name in map_order(topology.subtopologies, hash_of_text)]
        sources = [topic for each in ordered for topic in each.repartition_source_topics]
        self._fixed = {topic.name for topic in sources if topic.partitions}
        self._flexible = {topic.name for topic in sources if not topic.partitions}
        decided = _repartition_counts(ordered, self._existing)
        if any(topic.name not in decided for topic in sources):
            raise StreamsInvalidTopologyError(
                "Failed to compute number of partitions for all repartition topics, because a repartition source "
                "topic is never used as a sink topic."
            )
        self._decided = decided
        self._fixed_counts = {self.of(name) for name in self._fixed}
        for each in ordered:
            for names in each.copartitioned():
                self._copartition(names)
        self._decided.update(self._changelog_counts(ordered))

    def of(self, name: str) -> int:
        """The number of partitions of a topic that exists, or is to exist."""
        existing = self._existing(name)
        return self._decided[name] if existing is None else existing

    def configured(self, subtopology: Subtopology) -> ConfiguredSubtopology:
        return ConfiguredSubtopology(
            max(map(self.of, subtopology.sources())),
            frozenset(subtopology.source_topics),
            frozenset(subtopology.repartition_sink_topics),
            self._internal(subtopology.repartition_source_topics),
            self._internal(subtopology.changelog_topics),
        )

    def _existing(self, name: str) -> int | None:
        topic = self._topics.find(name)
        return None if topic is None else topic.partitions

    def _copartition(self, names: frozenset[str]) -> None:
        if not names:
            return
        repartition = {name: self.of(name) for name in names if name in self._fixed or name in self._flexible}
        others = {name: self.of(name) for name in names if name not in repartition}
        if others:
            count = _only(set(others.values()), others)
        elif self._fixed:
            count = _only(self._fixed_counts, repartition)
        else:
            count = max(repartition.values())
        for name, stated in repartition.items():
            self._decided[name] = count
            if name in self._fixed and stated != count:
                raise _ProblemError(
                    StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                    f"Number of partitions [{stated}] of repartition topic [{name}] doesn't match number of "
                    f"partitions [{count}] of the source topic.",
                )

    def _changelog_counts(self, subtopologies: Iterable[Subtopology]) -> dict[str, int]:
        counts = {}
        for each in subtopologies:
            sources = [self.of(name) for name in each.sources()]
            if not sources:
                raise StreamsInvalidTopologyError(f"No source topics found for subtopology {each.subtopology_id}")
            counts.update(dict.fromkeys((topic.name for topic in each.changelog_topics), max(sources)))
        return counts

    def _internal(self, infos: Collection[TopicInfo]) -> dict[str, InternalTopic]:
        found = {}
        for info in infos:
            count = self._decided.get(info.name, info.partitions)
            configs = dict(info.configs)
            if count < 1:
                raise StreamsInvalidTopologyError(f"internal topic {info.name}: {count} partitions, expected 1 or more")
            if info.name in found or len(configs) != len(info.configs):
                raise StreamsInvalidTopologyError(f"internal topic {info.name}: the topic or a setting is listed twice")
            found[info.name] = InternalTopic(info.name, count, info.replication_factor, configs)
        return found


def _repartition_counts(ordered: list[Subtopology], existing: Callable[[str], int | None]) -> dict[str, int]:
    """The number of partitions of each repartition topic, before copartition groups change them.

    Apache Kafka repeats rounds over all subtopologies until every sink is decided. Here a subtopology is visited again
    only after one of its sources was decided, in the same order.
    """
    counts = {t.name: t.partitions for each in ordered for t in each.repartition_source_topics if t.partitions}
    readers: dict[str, list[int]] = {}
    for place, each in enumerate(ordered):
        for topic in each.repartition_source_topics:
            readers.setdefault(topic.name, []).append(place)
    visits = [(0, place) for place in range(len(ordered))]
    waiting = set(range(len(ordered)))
    while visits:
        turn, place = heapq.heappop(visits)
        each = ordered[place]
        if place not in waiting:
            continue
        known = [counts[t.name] for t in each.repartition_source_topics if t.name in counts]
        known += [count for name in each.source_topics if (count := existing(name)) is not None]
        if not known:
            continue
        waiting.discard(place)
        for sink in each.repartition_sink_topics:
            if sink not in counts:
                counts[sink] = max(known)
                for reader in readers.get(sink, ()):
                    heapq.heappush(visits, (turn + (reader <= place), reader))
    if any(sink not in counts for place in waiting for sink in ordered[place].repartition_sink_topics):
        raise StreamsInvalidTopologyError(
            "Failed to compute number of partitions for all repartition topics. There may be loops in the topology "
            "that cannot be resolved."
        )
    return counts


def _only(counts: set[int], named: Mapping[str, int]) -> int:
    if len(counts) > 1:
        listed = ", ".join(f"{name}={count}" for name, count in sorted(named.items()))
        raise _ProblemError(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{listed}}}]",
        )
    return next(iter(counts))


def _check_copartition_indexes(topology: Topology) -> None:
    for each in topology.subtopologies.values():
        for group in each.copartition_groups:
            for indexes, listed in (
                (group.source_topics, each.source_topics),
                (group.repartition_source_topics, each.repartition_source_topics),
            ):
                if any(not 0 <= index < len(listed) for index in indexes):
                    raise StreamsInvalidTopologyError(
                        f"subtopology {each.subtopology_id}: a copartition group has an index beyond the topics"
                    )


def _check_sources(topology: Topology, topics: Topics) -> None:
    sources = {name for each in topology.subtopologies.values() for name in each.source_topics}
    missing = sorted(name for name in sources if name not in topics)
    if missing:
        raise _ProblemError(StatusCode.MISSING_SOURCE_TOPICS, f"Source topics {_summary(missing)} are missing.")


def _check_inputs(subtopologies: Mapping[str, ConfiguredSubtopology]) -> None:
    inputs = sum(each.tasks * (len(each.sources) + len(each.repartition)) for each in subtopologies.values())
    if inputs > MOST_INPUTS:
        raise StreamsInvalidTopologyError(
            f"the tasks of the topology read {inputs} partitions, expected at most {MOST_INPUTS}"
        )


def _missing_topics(
    topology: Topology, subtopologies: Mapping[str, ConfiguredSubtopology], topics: Topics
) -> dict[str, InternalTopic]:
    wanted: dict[str, InternalTopic] = {}
    for each in subtopologies.values():
        wanted |= each.repartition
        wanted |= each.changelogs
    wanted = {name: wanted[name] for name in map_order(wanted, hash_of_text)}
    for name in map_order(topology.required_topics(), hash_of_text):
        topic = topics.find(name)
        expected = None if topic is None else wanted.pop(name, None)
        if topic is not None and expected is not None and topic.partitions != expected.partitions:
            raise _ProblemError(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected {expected.partitions}, "
                f"found {topic.partitions}",
            )
    return wanted


def _summary(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} additional topics"
