"""Aggregates of logs and topics that rules read. The inspector computes them from its tables, Spark by queries.

Rules:
- An aggregate is small: one row per partition, file, producer or group. No rule reads records.
- An aggregate may have only some of its parts. Rules about the other parts then find nothing.
- Times are microseconds since 1970, if the field does not state another unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class DamagedLog(NamedTuple):
    """A segment with bytes that are not a sound batch. `size` and `position` are None if they were not counted.

    `is_tail` is set if only bytes at the end of the last batch are left over.
    """

    name: str
    file: str
    fault: str
    faults: int = 1
    size: int | None = None
    position: int | None = None
    is_tail: bool = False


class WrongIndex(NamedTuple):
    """A file beside a log that disagrees with it. `entries` is None if the problem is about the file as a whole."""

    file: str
    kind: str
    problem: str
    entries: int | None = None


class OldFormat(NamedTuple):
    """The messages of magic 0 or 1 in a partition."""

    name: str
    magic: int
    batches: int
    bytes: int


@dataclass(frozen=True)
class LogFiles:
    """The files of log directories in which something is wrong, and what they hold in old formats."""

    damaged: Sequence[DamagedLog] = ()
    indexes: Sequence[WrongIndex] = ()
    old: Sequence[OldFormat] = ()


class BatchTotals(NamedTuple):
    """The batches of one kind in a partition. `first` and `last` are in milliseconds.

    `ahead` counts batches whose time is more than a day ahead of the clock, and `transactional` those of transactions.
    """

    topic: str | None
    partition: int | None
    magic: int
    codec: str
    is_control: bool
    has_records: bool
    file: str | None
    batches: int
    records: int | None
    bytes: int
    first: int | None
    last: int | None
    ahead: int
    first_ahead: int | None
    last_ahead: int | None
    transactional: int = 0

    @property
    def place(self) -> str:
        """The partition, or one of its files if the partition is not known."""
        return place_of(self.topic, self.partition, self.file)


class OpenTransaction(NamedTuple):
    """A producer whose last transactional batch in a partition has no end marker behind it."""

    name: str
    producer_id: int
    last_offset: int
    time: int | None


@dataclass(frozen=True)
class BatchAggregates:
    """The batches of segments or topics, by partition. `now` is the time of the clock."""

    now: float
    totals: Sequence[BatchTotals] = ()
    open_transactions: Sequence[OpenTransaction] = ()


class LoggedTransaction(NamedTuple):
    """A transaction in the log of a partition, or in the transaction log (`place` is then empty)."""

    place: str
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    outcome: str
    begin: int | None
    last: int | None
    end: int | None
    duration_us: int | None
    timeout_ms: int | None = None
    first_offset: int | None = None


@dataclass(frozen=True)
class LogTransactions:
    """The open transactions of partitions, those of the transaction log, and the last offset of each partition."""

    open: Sequence[LoggedTransaction] = ()
    coordinated: Sequence[LoggedTransaction] = ()
    ends: Mapping[str, int] = field(default_factory=dict)


class PartitionRecords(NamedTuple):
    """How many records of a partition were read, and their first and last time in milliseconds."""

    topic: str
    partition: int
    records: int
    first: int | None
    last: int | None


class HotKey(NamedTuple):
    """The most frequent key of a partition."""

    text: str
    records: int


@dataclass(frozen=True)
class GroupOffset:
    """A group, a partition that it reads, and the member that owns the partition, if any."""

    group: str
    state: str
    topic: str
    partition: int
    committed: int | None
    log_start: int
    log_end: int
    member: str | None = None
    client: str | None = None
    host: str | None = None

    @property
    def lag(self) -> int | None:
        """Offsets between the commit and the end of the log, deleted records included. None without a commit."""
        return None if self.committed is None else max(0, self.log_end - self.committed)


def _no_hot_key(topic: str, partition: int) -> HotKey | None:
    return None


@dataclass(frozen=True)
class TopicAggregates:
    """Live topics. `partitions` counts the partitions of each topic; `hot_key` is called only for a finding."""

    groups: Sequence[GroupOffset] = ()
    records: Sequence[PartitionRecords] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    hot_key: Callable[[str, int], HotKey | None] = _no_hot_key


def place_of(topic: str | None, partition: int | None, file: str | None) -> str:
    """The name of a partition in findings.

    >>> place_of("orders", 3, "/data/orders-3/0.log"), place_of(None, None, "/tmp/0.log")
    ('orders-3', '/tmp/0.log')
    """
    return f"{topic}-{partition}" if topic is not None else str(file)
