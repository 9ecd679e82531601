"""The sticky task assignor: the same assignment as that of Kafka's StickyTaskAssignor for the same input.

Rules:
- A member keeps an active task if it has fewer tasks than its share. Otherwise a member that has the task as a standby
  gets it, and otherwise the least loaded member of the least loaded process.
- Standbys of tasks with state go to other processes than the active task: to its previous owner, to a previous standby,
  or to the least loaded process.
- The share is recomputed when a member has reached it.
- Equal loads are decided by the order of Java's hash tables and queues.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.groups.java_order import hash_of_text, map_order
from kafkawire.broker.groups.streams.java_queue import JavaQueue
from kafkawire.broker.groups.streams.tasks import TaskSet, each_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.broker.groups.streams.configuration import ConfiguredSubtopology
    from kafkawire.broker.groups.streams.tasks import TaskId


class MemberSpec(NamedTuple):
    """A member: its process, and its target so far."""

    process_id: str
    target: TaskSet


def assign(
    members: Mapping[str, MemberSpec], subtopologies: Mapping[str, ConfiguredSubtopology], standbys: int
) -> dict[str, TaskSet]:
    """The target of each member."""
    if not members:
        return {}
    assignment = _Assignment(members, subtopologies, standbys)
    assignment.assign_active()
    if standbys:
        assignment.assign_standbys()
    return {member_id: assignment.of(member_id) for member_id in members}


class _Share:
    """The number of tasks that every member may have; members that have reached it do not count any more."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = _rounded_up(tasks, members)

    def note(self, tasks: int) -> None:
        """A member has this number of tasks now."""
        if tasks == self.each:
            self._members -= 1
            self._tasks -= tasks
            self.each = _rounded_up(self._tasks, self._members)


def _rounded_up(tasks: int, members: int) -> int:
    return -(-tasks // members) if members else 0


class _Process:
    """A process: the tasks of its members."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.tasks: set[TaskId] = set()
        self.assigned = 0
        self.load = 0.0
        self._by_load: JavaQueue[str] | None = None

    def add(self, member_id: str, task: TaskId) -> int:
        """Give a task to a member; returns how many it has now."""
        self._by_load = None
        return self._add(member_id, task)

    def add_to_least_loaded(self, task: TaskId) -> str:
        """Give a task to the member with the fewest; returns its id."""
        if len(self.counts) == 1:
            member_id = next(iter(self.counts))
            self._add(member_id, task)
            return member_id
        if self._by_load is None:
            self._by_load = JavaQueue(map_order(self.counts, hash_of_text), self.counts.__getitem__)
        member_id = self._by_load.poll()
        self._add(member_id, task)
        self._by_load.add(member_id)
        return member_id

    def _add(self, member_id: str, task: TaskId) -> int:
        self.assigned += 1
        self.tasks.add(task)
        self.counts[member_id] += 1
        self.load = self.assigned / len(self.counts)
        return self.counts[member_id]


class _Assignment:
    def __init__(
        self, members: Mapping[str, MemberSpec], subtopologies: Mapping[str, ConfiguredSubtopology], standbys: int
    ) -> None:
        self._members = members
        self._standbys = standbys
        self._active = [(name, number) for name, each in subtopologies.items() for number in range(each.tasks)]
        self._stateful = [task for task in self._active if subtopologies[task[0]].is_stateful]
        self._active_share = _Share(len(self._active), len(members))
        self._share = _Share(len(self._active) + len(self._stateful) * standbys, len(members))
        self._processes: dict[str, _Process] = {}
        self._was_active: dict[TaskId, str] = {}
        self._was_standby: defaultdict[TaskId, list[str]] = defaultdict(list)
        self._given_active: defaultdict[str, list[TaskId]] = defaultdict(list)
        self._given_standby: defaultdict[str, list[TaskId]] = defaultdict(list)
        for member_id in map_order(members, hash_of_text):
            spec = members[member_id]
            self._processes.setdefault(spec.process_id, _Process()).counts[member_id] = 0
            self._was_active.update(dict.fromkeys(each_task(spec.target.active), member_id))
            for task in each_task(spec.target.standby):
                self._was_standby[task].append(member_id)

    def of(self, member_id: str) -> TaskSet:
        return TaskSet(_by_subtopology(self._given_active[member_id]), _by_subtopology(self._given_standby[member_id]))

    def assign_active(self) -> None:
        left = []
        for task in sorted(self._active, key=_by_partition):
            member_id = self._was_active.get(task)
            if member_id is None or not self._keep_active(member_id, task):
                left.append(task)
        still_left = []
        for task in left:
            candidate = self._least_loaded(self._was_standby.get(task, ()), None)
            if candidate is None or not self._keep_active(candidate, task):
                still_left.append(task)
        queue = self._queue()
        for task in sorted(still_left):
            process = queue.poll()
            member_id = process.add_to_least_loaded(task)
            self._given_active[member_id].append(task)
            self._note(process.counts[member_id], is_active=True)
            queue.add(process)

    def assign_standbys(self) -> None:
        left: list[tuple[TaskId, int]] = []
        for task in sorted(self._stateful, key=_by_partition, reverse=True):
            for given in range(self._standbys):
                if not self._keep_standby(task):
                    left.append((task, self._standbys - given))
                    break
        queue = self._queue()
        for task, replicas in sorted(left, reverse=True):
            for _ in range(replicas):
                if not self._add_standby(queue, task):
                    break

    def _keep_active(self, member_id: str, task: TaskId) -> bool:
        process = self._process(member_id)
        if process.counts[member_id] >= self._active_share.each:
            return False
        self._given_active[member_id].append(task)
        self._note(process.add(member_id, task), is_active=True)
        return True

    def _keep_standby(self, task: TaskId) -> bool:
        owner = self._was_active.get(task)
        if owner is not None and task not in self._process(owner).tasks and self._has_room(owner):
            self._give_standby(owner, task)
            return True
        candidate = self._least_loaded(self._was_standby.get(task, ()), task)
        if candidate is not None and self._has_room(candidate):
            self._give_standby(candidate, task)
            return True
        return False

    def _add_standby(self, queue: JavaQueue[_Process], task: TaskId) -> bool:
        """Give a standby to the least loaded process that does not have the task; False if there is none."""
        polled = []
        found = False
        while len(queue) and not found:
            process = queue.poll()
            polled.append(process)
            if task not in process.tasks:
                member_id = process.add_to_least_loaded(task)
                self._given_standby[member_id].append(task)
                self._note(process.counts[member_id], is_active=False)
                found = True
        for process in reversed(polled):
            queue.add(process)
        return found

    def _least_loaded(self, member_ids: Iterable[str], task: TaskId | None) -> str | None:
        """The member with the lowest load of those; the process of the first one must not have the task."""
        candidates = iter(member_ids)
        candidate = next(candidates, None)
        if candidate is None:
            return None
        first = self._process(candidate)
        process_load, member_load = first.load, first.counts[candidate]
        for member_id in candidates:
            process = self._process(member_id)
            if process.load < process_load and (task is None or task not in process.tasks):
                count = process.counts[member_id]
                if count < member_load:
                    candidate, process_load, member_load = member_id, process.load, count
        return candidate if task is None or task not in first.tasks else None

    def _give_standby(self, member_id: str, task: TaskId) -> None:
        self._given_standby[member_id].append(task)
        self._note(self._process(member_id).add(member_id, task), is_active=False)

    def _has_room(self, member_id: str) -> bool:
        return self._process(member_id).counts[member_id] < self._share.each

    def _note(self, tasks: int, *, is_active: bool) -> None:
        if is_active:
            self._active_share.note(tasks)
        self._share.note(tasks)

    def _process(self, member_id: str) -> _Process:
        return self._processes[self._members[member_id].process_id]

    def _queue(self) -> JavaQueue[_Process]:
        names = map_order(self._processes, hash_of_text, room_for=len(self._members))
        return JavaQueue((self._processes[name] for name in names), _load)


def _load(process: _Process) -> float:
    return process.load


def _by_partition(task: TaskId) -> tuple[int, str]:
    return task[1], task[0]


def _by_subtopology(tasks: Iterable[TaskId]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for subtopology, partition in tasks:
        found.setdefault(subtopology, set()).add(partition)
    return {subtopology: frozenset(partitions) for subtopology, partitions in found.items()}
