"""Logs: damaged segments, wrong indexes, times ahead of the clock, open transactions, and waste of space.

Rules:
- Bytes that are not a batch, or a batch with a wrong checksum, are damage. Bytes left over at the end of the last
  segment may be a write in progress, so that finding is only suspected.
- A wrong index costs lookups, not data, because brokers rebuild it. The same holds for snapshots and epochs. A wrong
  list of aborted transactions shows consumers records that they must not see.
- Brokers before 4.0 wrote magic 0 and 1. Kafka 4 reads them, but they take more space, and clients need conversion.
- Retention may delete the end marker of a transaction, so an open transaction is only suspected.
- A rule over totals reports at most a hundred findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.aggregates import BatchAggregates, LogFiles, OldFormat
from kafkawire.inspect._diagnose.rule import COMPRESS, LINGER, Finding, rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.inspect._diagnose.aggregates import BatchTotals, DamagedLog
    from kafkawire.inspect._diagnose.levels import Level
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_MOST: Final = 100
_DAY: Final = 86_400e6
_SERIOUS: Final = ("log", "txnindex", "metadata")
_ADVICE: Final = {
    "log": "Offsets in a log only increase: segments were mixed up, or two processes wrote the log.",
    "txnindex": "Stop the broker, delete the partition's indexes and the clean-shutdown file: recovery rebuilds them.",
    "snapshot": "Stop the broker and delete the snapshot: it is rebuilt from the log, or from an older snapshot.",
    "checkpoint": "Stop the broker and restore the file from a replica, or delete it: recovery rebuilds it.",
    "metadata": "Write the topic id that other partitions of the topic have, or restore the file from a replica.",
}


@rule("corruption", "error", "bytes of a segment that are not a sound batch", over=LogFiles)
def damaged_logs(files: LogFiles, limits: Thresholds) -> Iterator[Finding]:
    """Segments whose bytes are not those that were written."""
    for each in files.damaged:
        yield Finding(
            "corruption",
            "warning" if each.is_tail else "error",
            f"{each.name}: {_damage(each)}",
            "Stop the broker before you change it; a replica has the data, or recovery truncates the log at the fault.",
            entity=each.name,
            count=each.faults,
            certainty="suspected" if each.is_tail else "proven",
        )


def _damage(log: DamagedLog) -> str:
    if log.position is None:
        return f"{log.file}: {log.fault}"
    where = f"{_counted(log.faults, 'place')} in {log.file} without a sound batch, {log.size} bytes"
    return f"{where}; the first, at byte {log.position}: {log.fault}"


@rule("wrong-index", "error", "an index, snapshot or checkpoint that disagrees with its log", over=LogFiles)
def wrong_indexes(files: LogFiles, limits: Thresholds) -> Iterator[Finding]:
    """Indexes that disagree with their logs, and batches in an impossible order."""
    for each in files.indexes:
        problems = "" if each.entries is None else f"{_counted(each.entries, 'problem')}, the first: "
        advice = _ADVICE.get(each.kind, "Stop the broker and delete the index: it is rebuilt at the start.")
        level: Level = "error" if each.kind in _SERIOUS else "warning"
        text = f"{each.file}: {problems}{each.problem}"
        yield Finding("wrong-index", level, text, advice, entity=each.file, count=each.entries or 1)


@rule("old-format", "info", "a log that still holds records of magic 0 or 1", over=LogFiles)
def old_files(files: LogFiles, limits: Thresholds) -> Iterator[Finding]:
    """Partitions with records in old formats, the largest first."""
    yield from _old_formats(files.old)


@rule("old-format", "info", "a log that still holds records of magic 0 or 1", over=BatchAggregates)
def old_batches(batches: BatchAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Partitions with records in old formats, the largest first."""
    old = [OldFormat(each.place, each.magic, each.batches, each.bytes) for each in batches.totals if each.magic < 2]
    yield from _old_formats(old)


def _old_formats(found: Iterable[OldFormat]) -> Iterator[Finding]:
    by_name: dict[str, list[OldFormat]] = {}
    for each in found:
        by_name.setdefault(each.name, []).append(each)
    largest = sorted(by_name.items(), key=lambda item: (-sum(each.bytes for each in item[1]), item[0]))
    for name, own in largest[:_MOST]:
        count, size = sum(each.batches for each in own), sum(each.bytes for each in own)
        formats = " and ".join(str(magic) for magic in sorted({each.magic for each in own}))
        text = f"{name}: {_counted(count, 'message')} of magic {formats}, {size} bytes; Kafka 4 writes magic 2 only"
        advice = "`kafkawire log stats --what-if` shows what they take in magic 2; copy the topic to convert it."
        yield Finding("old-format", "info", text, advice, entity=name, count=count)


@rule("future-time", "warning", "batches whose time is more than a day ahead of the clock", over=BatchAggregates)
def future_times(batches: BatchAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Batches with a time ahead of the clock, by partition."""
    found: dict[str, list[BatchTotals]] = {}
    for each in batches.totals:
        if each.ahead:
            found.setdefault(each.place, []).append(each)
    for name, own in sorted(found.items())[:_MOST]:
        count = sum(each.ahead for each in own)
        first, last = min(each.first_ahead or 0 for each in own), max(each.last_ahead or 0 for each in own)
        days = (last - batches.now) / _DAY
        text = f"{name}: times of {_counted(count, 'batch', 'batches')} are up to {days:.0f} days ahead of now"
        advice = "Retention by time keeps their segments until then: fix the producer's clock, or use LogAppendTime."
        yield Finding("future-time", "warning", text, advice, entity=name, t0=first, t1=last, count=count)


@rule("open-transaction", "warning", "a transaction in a log without an end marker", over=BatchAggregates)
def open_transactions(batches: BatchAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Producers whose last batch in a partition is part of an open transaction."""
    for each in batches.open_transactions[:_MOST]:
        text = f"{each.name}: producer {each.producer_id} wrote up to offset {each.last_offset}"
        text += " in a transaction without an end marker"
        advice = "If the producer is gone, read_committed consumers wait there: kafka-transactions find-hanging, abort."
        yield Finding(
            *("open-transaction", "warning", text, advice),
            entity=each.name,
            t0=each.time,
            t1=each.time,
            certainty="suspected",
        )


@rule(
    "inefficiency",
    "info",
    "small batches, or batches without compression",
    over=BatchAggregates,
    thresholds=("small_batches", "plain_bytes"),
)
def wasted_space(batches: BatchAggregates, limits: Thresholds) -> Iterator[Finding]:
    """Topics that smaller overhead or compression would shrink."""
    found: dict[str, list[BatchTotals]] = {}
    for each in batches.totals:
        if each.magic == 2 and not each.is_control and each.has_records:
            found.setdefault(each.topic or each.place, []).append(each)
    by_bytes = sorted(found.items(), key=lambda item: (-sum(each.bytes for each in item[1]), item[0]))
    for topic, own in by_bytes[:_MOST]:
        count, records = sum(each.batches for each in own), sum(each.records or 0 for each in own)
        size = sum(each.bytes for each in own)
        if count >= limits.small_batches and records < 2 * count:
            text = f"{topic}: {records / count:.1f} records per batch in {count} batches"
            yield Finding("inefficiency", "info", text, LINGER, entity=topic)
        if size >= limits.plain_bytes and all(each.codec == "none" for each in own):
            text = f"{topic}: {size} bytes, none of them compressed"
            yield Finding("inefficiency", "info", text, COMPRESS, entity=topic)


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
