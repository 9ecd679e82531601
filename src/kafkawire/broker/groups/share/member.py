"""A member of a share group: its subscription, and its partitions.

Rules:
- A member never changes. Events replace it by another one.
- There is no revocation: the target is the assignment of the member at once, and the epoch is that of the target.
- The previous epoch is accepted too, because an answer may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkawire.broker.groups.consumer.assignors.spec import Assignment

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class ShareMember:
    """One member."""

    member_id: str
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: int = 0
    assigned: Assignment = field(default_factory=dict)
