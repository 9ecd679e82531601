"""A member of a consumer group: its subscription, and what it has of its target.

Rules:
- A member never changes. Events replace it by another one.
- The epoch is the target that the member has reconciled to. The previous epoch is accepted once more, because an answer
  may be lost.
- Every partition has the epoch in which it was assigned. So its offsets may still be committed with an older epoch of
  the member (KIP-1251).
- A member of the classic protocol (`classic`) has its protocols and its own session timeout. Its epoch is its
  generation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kafkawire.broker.groups.protocol import Protocol

OwnedPartitions: TypeAlias = "Mapping[UUID, Mapping[int, int]]"
"""By topic and partition, the epoch in which it was assigned."""
JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


class MemberState(IntEnum):
    """The progress of a member towards its target, with the number that records have."""

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class ClassicDetails:
    """The session timeout and the protocols of a classic member."""

    session_timeout: int
    protocols: tuple[Protocol, ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One member. `revoking` are the partitions that it still has to give up."""

    member_id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    rebalance_timeout: int = -1
    assignor: str | None = None
    classic: ClassicDetails | None = None
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = field(default_factory=dict)
    revoking: OwnedPartitions = field(default_factory=dict)

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    def has_reconciled(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def assignment_epoch(self, topic: UUID, partition: int) -> int | None:
        """The epoch in which a partition was assigned; None if the member does not have it."""
        found = self.assigned.get(topic, {}).get(partition)
        return self.revoking.get(topic, {}).get(partition) if found is None else found
