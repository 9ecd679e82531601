"""What a broker's settings mean to its groups.

Rules:
- Values and defaults are Kafka's, but for group.initial.rebalance.delay.ms: 0 here, where Kafka has 3000. A first
  consumer then starts at once, which is what a broker for development and tests is asked for; members that start
  together cost one rebalance more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from kafkawire.broker.configs import BrokerConfig

_MINUTE: Final = 60_000


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The settings, in milliseconds where they are times."""

    initial_rebalance_delay_ms: int = 0
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1
    metadata_max_bytes: int = 4_096
    retention_ms: int = 7 * 86_400_000
    retention_check_ms: int = 600_000

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """What a broker is set to."""
        return cls(
            initial_rebalance_delay_ms=config.integer("group.initial.rebalance.delay.ms"),
            min_session_timeout_ms=config.integer("group.min.session.timeout.ms"),
            max_session_timeout_ms=config.integer("group.max.session.timeout.ms"),
            max_size=config.integer("group.max.size"),
            metadata_max_bytes=config.integer("offset.metadata.max.bytes"),
            retention_ms=config.integer("offsets.retention.minutes") * _MINUTE,
            retention_check_ms=config.integer("offsets.retention.check.interval.ms"),
        )
