"""Tasks of a Kafka Streams application, by subtopology and partition.

Rules:
- A task is active, a standby, or warming up. The sticky assignor of Kafka 4.3 assigns no warm-up tasks, but records of
  other versions may have some.
- An active task that a member has carries the epoch in which it was assigned. So its offsets may still be committed
  with an older epoch of the member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

Tasks: TypeAlias = Mapping[str, AbstractSet[int]]
"""The partitions of tasks, by the id of their subtopology."""
EpochTasks: TypeAlias = Mapping[str, Mapping[int, int]]
"""By subtopology and partition, the epoch in which the task was assigned."""
TaskId: TypeAlias = tuple[str, int]
_NONE: Final[Mapping[str, frozenset[int]]] = MappingProxyType({})
_NONE_WITH_EPOCHS: Final[EpochTasks] = MappingProxyType({})


class TaskSet(NamedTuple):
    """The tasks that a member is to have, or reports."""

    active: Tasks = _NONE
    standby: Tasks = _NONE
    warmup: Tasks = _NONE


class OwnedTasks(NamedTuple):
    """The tasks that a member has, or has to give up."""

    active: EpochTasks = _NONE_WITH_EPOCHS
    standby: Tasks = _NONE
    warmup: Tasks = _NONE

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


NO_TASKS: Final = TaskSet()
OWNS_NOTHING: Final = OwnedTasks()


def each_task(tasks: Tasks | EpochTasks) -> Iterator[TaskId]:
    """Every task."""
    for subtopology, partitions in tasks.items():
        for partition in partitions:
            yield subtopology, partition


def overlap(reported: TaskSet, owned: OwnedTasks) -> bool:
    """Whether a member reports a task of these, in the same role."""
    return any(
        not partitions.isdisjoint(mine[subtopology])
        for theirs, mine in zip(reported, owned, strict=True)
        for subtopology, partitions in theirs.items()
        if subtopology in mine
    )


def is_within(reported: TaskSet | None, owned: OwnedTasks) -> bool:
    """Whether a member reports nothing but these; one that reports nothing may have others."""
    if reported is None:
        return False
    pairs = ((reported.active, owned.active), (reported.standby, owned.standby), (reported.warmup, owned.warmup))
    return all(
        subtopology in mine and all(partition in mine[subtopology] for partition in partitions)
        for theirs, mine in pairs
        for subtopology, partitions in theirs.items()
    )
