"""The settings of consumer groups, of the broker and of single groups.

Rules:
- A group's own setting overrides the broker's. A value outside the broker's limits counts as the nearest limit, because
  limits may have changed since it was set.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class MigrationPolicy(StrEnum):
    """The direction in which a group with members may change its protocol; an unknown name disables both."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @classmethod
    def of(cls, name: str) -> MigrationPolicy:
        return cls(name.lower()) if name.lower() in frozenset(cls) else cls.DISABLED

    @property
    def allows_upgrade(self) -> bool:
        return self in (self.BIDIRECTIONAL, self.UPGRADE)

    @property
    def allows_downgrade(self) -> bool:
        return self in (self.BIDIRECTIONAL, self.DOWNGRADE)


class Timing(NamedTuple):
    """The intervals and timeouts of one group, in milliseconds."""

    session_timeout: int = 45_000
    heartbeat_interval: int = 5_000
    assignment_interval: int = 1_000


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """The settings of the broker."""

    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_ms: int = 600_000


REGEX_PAUSE_MS: Final = 10_000
"""How long regular expressions stay as they were resolved, at least."""
