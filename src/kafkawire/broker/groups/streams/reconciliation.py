"""The next step of a member towards its target: first it gives up tasks, then it gets new ones.

Rules:
- A member keeps the tasks that it has and is to have. It is UNREVOKED until it no longer reports a task that it has to
  give up.
- Then it moves to the epoch of the target. It is UNRELEASED while a task of its target is not free, else STABLE.
- An active task is free if no member has it, and no other task of its number runs in the member's process.
- A standby or a warm-up is free if the member's process does not run the task in any role.
- A task that the member itself was giving up is free after its next heartbeat only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.groups.streams.member import StreamsMember, StreamsMemberState
from kafkawire.broker.groups.streams.tasks import OWNS_NOTHING, OwnedTasks, overlap
from kafkawire.messages.errors import FencedMemberEpochError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker.groups.streams.tasks import EpochTasks, Tasks, TaskSet

    IsFree = Callable[[str, int], bool]


class Goal(NamedTuple):
    """The target of a member, and the tasks that it reports (None if it reports none)."""

    epoch: int
    target: TaskSet
    is_free: Callable[[str, int], bool]
    """Whether the member may get an active task."""
    is_absent: Callable[[str, int], bool]
    """Whether the member's process may get a standby or a warm-up."""
    owned: TaskSet | None


class _Difference(NamedTuple):
    kept: Tasks
    revoked: Tasks
    added: Tasks
    waits: bool


def reconcile(member: StreamsMember, goal: Goal) -> StreamsMember:
    """The member after its next step, or the same one if there is nothing to do."""
    state = member.state
    if state is StreamsMemberState.STABLE:
        return member if member.epoch == goal.epoch else _next(member, member.epoch, goal)
    if state is StreamsMemberState.UNREVOKED:
        if goal.owned is None or overlap(goal.owned, member.revoking):
            return member
        return _next(member, member.epoch + 1, goal)
    if state is StreamsMemberState.UNKNOWN:
        if goal.owned is None or any(goal.owned):
            raise FencedMemberEpochError(
                "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin."
            )
        return _next(member, goal.epoch, goal)
    return _next(member, member.epoch, goal)


def _next(member: StreamsMember, epoch: int, goal: Goal) -> StreamsMember:
    had, target = member.assigned, goal.target
    active = _compare({name: each.keys() for name, each in had.active.items()}, target.active, goal.is_free)
    standby = _compare(had.standby, target.standby, goal.is_absent)
    warmup = _compare(had.warmup, target.warmup, goal.is_absent)
    revoked = OwnedTasks(_with_epochs(active.revoked, had.active), standby.revoked, warmup.revoked)
    kept = OwnedTasks(_with_epochs(active.kept, had.active), standby.kept, warmup.kept)
    if revoked and (goal.owned is None or overlap(goal.owned, revoked)):
        return replace(
            member,
            state=StreamsMemberState.UNREVOKED,
            epoch=epoch,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoked,
        )
    waits = active.waits or standby.waits or warmup.waits
    added = {name: dict.fromkeys(sorted(partitions), goal.epoch) for name, partitions in active.added.items()}
    assigned = OwnedTasks(
        {name: {**kept.active.get(name, {}), **added.get(name, {})} for name in {**kept.active, **added}},
        _union(standby.kept, standby.added),
        _union(warmup.kept, warmup.added),
    )
    return replace(
        member,
        state=StreamsMemberState.UNRELEASED if waits else StreamsMemberState.STABLE,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking=OWNS_NOTHING,
    )


def _compare(had: Tasks, target: Tasks, is_free: IsFree) -> _Difference:
    kept: dict[str, frozenset[int]] = {}
    revoked: dict[str, frozenset[int]] = {}
    added: dict[str, frozenset[int]] = {}
    waits = False
    for name in {**target, **had}:
        mine, wanted = frozenset(had.get(name, ())), frozenset(target.get(name, ()))
        missing = wanted - mine
        free = frozenset(partition for partition in missing if is_free(name, partition))
        waits |= len(free) < len(missing)
        for found, partitions in ((kept, mine & wanted), (revoked, mine - wanted), (added, free)):
            if partitions:
                found[name] = partitions
    return _Difference(kept, revoked, added, waits)


def _with_epochs(tasks: Tasks, epochs: EpochTasks) -> dict[str, dict[int, int]]:
    return {name: {each: epochs[name][each] for each in sorted(partitions)} for name, partitions in tasks.items()}


def _union(one: Tasks, other: Tasks) -> dict[str, frozenset[int]]:
    return {name: frozenset(one.get(name, ())) | frozenset(other.get(name, ())) for name in {**one, **other}}
