"""The settings of transactions, under Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from kafkawire.broker._config.settings import BrokerConfig


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """The settings, in milliseconds."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = 604_800_000
    abort_interval_ms: int = 10_000
    expiration_interval_ms: int = 3_600_000
    retry_backoff_ms: int = 20
    retry_backoff_max_ms: int = 100
    two_phase_commit: bool = False

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """The values of a broker's settings."""
        return cls(
            max_timeout_ms=config.integer("transaction.max.timeout.ms"),
            expiration_ms=config.integer("transactional.id.expiration.ms"),
            abort_interval_ms=config.integer("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiration_interval_ms=config.integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
            retry_backoff_ms=config.integer("add.partitions.to.txn.retry.backoff.ms"),
            retry_backoff_max_ms=config.integer("add.partitions.to.txn.retry.backoff.max.ms"),
            two_phase_commit=config.boolean("transaction.two.phase.commit.enable"),
        )
