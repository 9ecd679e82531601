"""The settings of groups: those of the broker, and the times of each group.

Rules:
- Values and defaults are Kafka's, except group.initial.rebalance.delay.ms: 0 here, 3000 in Kafka. A first consumer then
  starts at once, as a broker for development and tests should. Members that start together cost one more rebalance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from kafkawire.broker._config import group_settings as names
from kafkawire.broker.groups.consumer.settings import ConsumerSettings, MigrationPolicy, Timing
from kafkawire.broker.groups.streams.settings import StreamsTiming

if TYPE_CHECKING:
    from kafkawire.broker._config.group_settings import GroupConfigs
    from kafkawire.broker._config.settings import BrokerConfig

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
    consumer: ConsumerSettings = field(default_factory=ConsumerSettings)
    streams_max_size: int = 2**31 - 1
    share_max_size: int = 200
    share_retry_ms: int = 30_000

    @classmethod
    def of(cls, config: BrokerConfig) -> Self:
        """The values of a broker's settings."""
        return cls(
            initial_rebalance_delay_ms=config.integer("group.initial.rebalance.delay.ms"),
            min_session_timeout_ms=config.integer("group.min.session.timeout.ms"),
            max_session_timeout_ms=config.integer("group.max.session.timeout.ms"),
            max_size=config.integer("group.max.size"),
            metadata_max_bytes=config.integer("offset.metadata.max.bytes"),
            retention_ms=config.integer("offsets.retention.minutes") * _MINUTE,
            retention_check_ms=config.integer("offsets.retention.check.interval.ms"),
            consumer=ConsumerSettings(
                max_size=config.integer("group.consumer.max.size"),
                assignors=names.assignors(config),
                policy=MigrationPolicy.of(config.text("group.consumer.migration.policy")),
                regex_refresh_ms=config.integer("group.consumer.regex.refresh.interval.ms"),
            ),
            streams_max_size=config.integer("group.streams.max.size"),
            share_max_size=config.integer("group.share.max.size"),
            share_retry_ms=config.integer("group.share.initialize.retry.interval.ms"),
        )


class GroupTimings:
    """The times of a group: from its own configuration, or else the broker's."""

    def __init__(self, configs: GroupConfigs) -> None:
        self._configs = configs

    def consumer(self, group_id: str) -> Timing:
        """The times of a consumer group."""
        return self._timing(group_id, names.SESSION_TIMEOUT, names.HEARTBEAT_INTERVAL, names.ASSIGNMENT_INTERVAL)

    def share(self, group_id: str) -> Timing:
        """The times of a share group."""
        return self._timing(
            *(group_id, names.SHARE_SESSION_TIMEOUT, names.SHARE_HEARTBEAT_INTERVAL, names.SHARE_ASSIGNMENT_INTERVAL)
        )

    def streams(self, group_id: str) -> StreamsTiming:
        """The times of a streams group, and its standby tasks."""
        configs = self._configs
        return StreamsTiming(
            configs.integer(group_id, names.STREAMS_SESSION_TIMEOUT),
            configs.integer(group_id, names.STREAMS_HEARTBEAT_INTERVAL),
            configs.integer(group_id, names.STREAMS_ASSIGNMENT_INTERVAL),
            configs.integer(group_id, names.STREAMS_INITIAL_DELAY),
            configs.integer(group_id, names.STREAMS_STANDBYS),
        )

    def _timing(self, group_id: str, session: str, interval: str, assignment: str) -> Timing:
        configs = self._configs
        return Timing(*(configs.integer(group_id, name) for name in (session, interval, assignment)))
