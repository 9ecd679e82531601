"""A streams group: members, epochs, targets, topology, and the owners of tasks.

Rules:
- `apply` is the only way to change what the log has of a group. It returns the change that undoes it.
- An active task has one owner: the member that has it assigned, or has not given it up yet. Standbys and warm-ups have
  several.
- The state follows from the rest: Empty, NotReady (topics are missing or wrong), Assigning (no target for the newest
  epoch), Reconciling (a member has not reached its target), or Stable.
- The configured topology, the request to shut down and the epoch of endpoints are not stored. The request ends when the
  group is empty.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.epochs import EpochGroup
from kafkawire.broker.groups.streams.changes import (
    Change,
    Current,
    Described,
    Ended,
    GroupEpoch,
    Reconciled,
    Stated,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.streams.member import StreamsMember, StreamsMemberState
from kafkawire.broker.groups.streams.tasks import NO_TASKS, OWNS_NOTHING, OwnedTasks, TaskSet, each_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.broker.groups.streams.configuration import ConfiguredTopology
    from kafkawire.broker.groups.streams.description import Description
    from kafkawire.broker.groups.streams.tasks import TaskId
    from kafkawire.broker.groups.streams.topology import Topology

_NOTHING: Final = Reconciled(0, 0, StreamsMemberState.STABLE, OWNS_NOTHING, OWNS_NOTHING)


class StreamsState(StrEnum):
    """A state, by the name that StreamsGroupDescribe gives it."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class StreamsGroup(EpochGroup["StreamsMember", "TaskSet"]):
    """One group of the streams protocol."""

    kind = "streams"
    protocol_type = "streams"
    uses_consumer_protocol = True
    """Whether offsets of topics that no member consumes may be deleted while the group has members."""

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.validated_epoch = 0
        self.configs: Mapping[str, str] = {}
        self.topology: Topology | None = None
        self.active: dict[TaskId, str] = {}
        self.copies: dict[TaskId, set[str]] = {}
        """The members that have a task as a standby or a warm-up."""
        self.configured: ConfiguredTopology | None = None
        self.shutdown_by: str | None = None
        self.endpoints_epoch = 0
        self.description: Description | None = None
        """The description that its members send for tools; it is not stored."""

    def __repr__(self) -> str:
        return f"StreamsGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {len(self.members)} members)"

    @property
    def state(self) -> StreamsState:
        if not self.members:
            return StreamsState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return StreamsState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsState.ASSIGNING
        if all(member.has_reconciled(self.assignment_epoch) for member in self.members.values()):
            return StreamsState.STABLE
        return StreamsState.RECONCILING

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics that its tasks read; none while the group is empty, so that its offsets expire."""
        return frozenset() if self.topology is None or not self.members else frozenset(self.topology.readers)

    def target(self, member_id: str) -> TaskSet:
        return self.targets.get(member_id, NO_TASKS)

    def runs_in(self, process_id: str, task: TaskId) -> bool:
        """Whether a process has a task as a standby or a warm-up."""
        return any(self.members[each].process_id == process_id for each in self.copies.get(task, ()))

    def is_active_in(self, process_id: str, task: TaskId) -> bool:
        owner = self.active.get(task)
        return owner is not None and self.members[owner].process_id == process_id

    def apply(self, change: Change) -> Change:
        """Take in a change; returns the one that undoes it."""
        match change:
            case Described(member_id, member):
                return self._describe(member_id, member)
            case Current(member_id, reconciled):
                return self._reconcile(member_id, reconciled)
            case Target(member_id, tasks):
                return Target(member_id, self.set_target(member_id, tasks))
            case GroupEpoch(epoch, metadata_hash, validated_epoch, configs):
                undo: Change = GroupEpoch(self.epoch, self.metadata_hash, self.validated_epoch, self.configs)
                self.epoch, self.metadata_hash = epoch, metadata_hash
                self.validated_epoch, self.configs = validated_epoch, configs
                return undo
            case TargetEpoch():
                return self.set_target_epoch(change)
            case Stated(topology):
                undo = Stated(self.topology)
                self.topology = topology
                return undo
            case Ended():
                return change

    def _describe(self, member_id: str, member: StreamsMember | None) -> Change:
        old = self.members.get(member_id)
        if member is not None:
            self.members[member_id] = _with(member, _NOTHING if old is None else Reconciled.of(old))
        elif old is not None:
            self._own(old, _NOTHING)
            del self.members[member_id]
            if not self.members:
                self.shutdown_by = None
        return Described(member_id, old)

    def _reconcile(self, member_id: str, reconciled: Reconciled | None) -> Change:
        old = self.members.get(member_id)
        if old is None:
            if reconciled is None:
                return Current(member_id, None)
            old = StreamsMember(member_id)
        now = reconciled or _NOTHING
        self._own(old, now)
        self.members[member_id] = _with(old, now)
        return Current(member_id, Reconciled.of(old))

    def _own(self, old: StreamsMember, now: Reconciled) -> None:
        """Let a member own the tasks that it has now instead of those that it had."""
        name = old.member_id
        for had in (old.assigned, old.revoking):
            for task in each_task(had.active):
                if self.active.get(task) == name:
                    del self.active[task]
            for task in _copies(had):
                owners = self.copies.get(task, set())
                owners.discard(name)
                if not owners:
                    self.copies.pop(task, None)
        for has in (now.assigned, now.revoking):
            self.active.update(dict.fromkeys(each_task(has.active), name))
            for task in _copies(has):
                self.copies.setdefault(task, set()).add(name)


def _copies(tasks: OwnedTasks) -> Iterator[TaskId]:
    yield from each_task(tasks.standby)
    yield from each_task(tasks.warmup)


def _with(member: StreamsMember, now: Reconciled) -> StreamsMember:
    """A member with another assignment."""
    return replace(member, **now._asdict())


def ending(group: StreamsGroup) -> Iterator[Change]:
    """The changes that end a streams group."""
    members = list(group.members)
    yield from [Current(member_id, None) for member_id in members]
    yield from [Target(member_id, None) for member_id in members]
    yield from [Described(member_id, None) for member_id in members]
    yield Ended()
    yield Stated(None)
