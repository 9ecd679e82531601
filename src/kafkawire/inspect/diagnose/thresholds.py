"""From where on a rule speaks up; every number can be set on the command line as `--set NAME=VALUE`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers that rules compare with."""

    repeats: int = 5  # the same fetch, the same error: from how many on it is a loop
    unknown_topic: int = 3
    silent_s: float = 60.0  # a member that beats but does not fetch
    idle_s: float = 60.0  # a connection that the broker may close as idle
    rejected_connections: int = 5
    joins_per_minute: float = 6.0
    slow_ms: float = 1000.0
    burst: int = 5  # errors of leaders and coordinators within burst_s
    burst_s: float = 60.0
    request_limit: int = 104_857_600
    batch_limit: int = 1_048_588
    full_fetches: int = 10
    small_batches: int = 20
    plain_bytes: int = 1 << 20
    metadata_per_s: float = 1.0
    empty_fetches: int = 50
    short_wait_ms: int = 50
    lag: int = 1000  # records that a group may be behind in a topic
    uneven: float = 3.0  # how many times the mean the largest partition of a topic may have
    uneven_records: int = 1000
