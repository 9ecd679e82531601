"""The thresholds of rules. A rule reports a finding when what it counts reaches its threshold.

Rules:
- Each threshold has a default and one line for the documentation, which is generated from it.
- `--set NAME=VALUE` of a command overrides a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TypeVar

_Number = TypeVar("_Number", int, float)


def _threshold(default: _Number, meaning: str) -> _Number:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers that rules compare with.

    >>> Thresholds(slow_ms=200).slow_ms, Thresholds().repeats
    (200, 5)
    """

    repeats: int = _threshold(5, "equal fetches or errors that make a loop")
    unknown_topic: int = _threshold(3, "responses that do not know the topic")
    new_topic_s: float = _threshold(10.0, "seconds in which brokers may learn of a topic that is just created")
    silent_s: float = _threshold(60.0, "seconds with heartbeats and without a fetch")
    unreconciled_s: float = _threshold(60.0, "seconds in which a member keeps partitions that it was asked to give up")
    deliveries: int = _threshold(5, "deliveries of a record to a share group: the limit of the broker or of the group")
    idle_s: float = _threshold(60.0, "seconds of silence after which a close counts as idle")
    rejected_connections: int = _threshold(5, "connections of an address that the broker closes before the first byte")
    joins_per_minute: float = _threshold(6.0, "joins of a group per minute")
    slow_ms: float = _threshold(1000.0, "milliseconds that a request takes beyond its own wait time")
    burst: int = _threshold(5, "errors about leaders or coordinators within `burst_s`")
    burst_s: float = _threshold(60.0, "seconds within which `burst` errors count")
    request_limit: int = _threshold(104_857_600, "bytes of a request that a broker accepts")
    batch_limit: int = _threshold(1_048_588, "bytes of a batch that a broker accepts")
    full_fetches: int = _threshold(10, "fetches that ask for a new session")
    small_batches: int = _threshold(20, "batches, if they have fewer than two records on average")
    plain_bytes: int = _threshold(1 << 20, "bytes of batches, if none is compressed")
    metadata_per_s: float = _threshold(1.0, "metadata requests per second")
    empty_fetches: int = _threshold(50, "empty fetches that wait less than `short_wait_ms`")
    short_wait_ms: int = _threshold(50, "milliseconds below which the wait of a fetch is short")
    transaction_s: float = _threshold(60.0, "seconds that a transaction may take if its timeout is not known")
    stalled_s: float = _threshold(60.0, "seconds in which a last stable offset stands still while the log grows")
    fencing: int = _threshold(3, "times that producers take over a transactional id from each other")
    lag: int = _threshold(1000, "offsets that a group is behind in a topic")
    uneven: float = _threshold(3.0, "records of the largest partition, as a multiple of the mean of its topic")
    uneven_records: int = _threshold(1000, "records of a topic before its partitions are compared")


def threshold_meanings() -> dict[str, str]:
    """The line of each threshold for the documentation, by name."""
    return {each.name: each.metadata["meaning"] for each in fields(Thresholds)}
