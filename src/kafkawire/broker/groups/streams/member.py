"""A member of a streams group: one client of a process, its topology, and the part of its target that it has.

Rules:
- A member never changes. Events replace it by another one.
- Members with one process id run in one process. A task may not run twice in a process.
- The previous epoch is accepted once more, because an answer may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker.groups.consumer.member import JOIN_EPOCH
from kafkawire.broker.groups.streams.tasks import OWNS_NOTHING, OwnedTasks

if TYPE_CHECKING:
    from collections.abc import Mapping


class StreamsMemberState(IntEnum):
    """The progress of a member towards its target, with the number that records have."""

    STABLE = 1
    UNREVOKED = 2
    UNRELEASED = 3
    UNKNOWN = 127


class Endpoint(NamedTuple):
    """The address of a process for interactive queries."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """One member. `revoking` are the tasks that it still has to give up."""

    member_id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: Endpoint | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    epoch: int = JOIN_EPOCH
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: OwnedTasks = OWNS_NOTHING
    revoking: OwnedTasks = OWNS_NOTHING

    def has_reconciled(self, epoch: int) -> bool:
        return self.state is StreamsMemberState.STABLE and self.epoch == epoch

    def assignment_epoch(self, subtopology: str, partition: int) -> int | None:
        """The epoch in which an active task was assigned; None if the member does not have it."""
        found = self.assigned.active.get(subtopology, {}).get(partition)
        return self.revoking.active.get(subtopology, {}).get(partition) if found is None else found
