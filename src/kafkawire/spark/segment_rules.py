"""What log files show to be wrong, found by queries over their tables.

Rules:
- The driver gets aggregates only: totals by partition, else at most a hundred rows a rule.
- A log may be cut by retention, so what is missing from it proves nothing: an open transaction is suspected.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.inspect.diagnose import Finding
from kafkawire.spark.batch_totals import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, Row

    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.batch_totals import BatchTotals

_MOST: Final = 100
_DAY: Final = 86_400e6


def judge_table(table: str, rows: DataFrame) -> list[Finding]:
    """Every finding that a table about log files gives."""
    if table == "faults":
        return list(_damage(rows))
    return list(_wrong_indexes(rows)) if table == "index_errors" else []


def judge_batches(batches: DataFrame, totals: Sequence[BatchTotals], limits: Thresholds) -> list[Finding]:
    """What the headers of batches show, whether they were on disk or came from a broker."""
    return [*_future(totals), *_open_transactions(batches), *_waste(totals, limits)]


def _damage(faults: DataFrame) -> Iterator[Finding]:
    summed = faults.groupBy("topic", "partition", "file").agg(
        F.count(F.lit(1)).alias("faults"),
        F.sum("size").alias("bytes"),
        F.min(F.struct("position", "fault")).alias("first"),
    )
    for row in _rows(summed.orderBy(F.desc("faults"), "file")):
        name = _name(row)
        text = f"{name}: {_counted(row.faults, 'place')} in {row.file} without a sound batch, {row.bytes} bytes"
        text += f"; the first, at byte {row.first.position}: {row.first.fault}"
        advice = "Stop the broker before you touch it; a replica has the data, or recovery cuts the log at the fault."
        yield Finding("corruption", "error", text, advice, entity=name, count=row.faults)


def _wrong_indexes(errors: DataFrame) -> Iterator[Finding]:
    summed = errors.groupBy("file").agg(
        F.count(F.lit(1)).alias("entries"), F.min(F.struct("position", "problem")).alias("first")
    )
    for row in _rows(summed.orderBy("file")):
        text = f"{row.file}: {_counted(row.entries, 'problem')}, the first: {row.first.problem}"
        advice = "Stop the broker and delete the index: it is rebuilt at the start."
        yield Finding("wrong-index", "warning", text, advice, entity=row.file, count=row.entries)


def _future(totals: Sequence[BatchTotals]) -> Iterator[Finding]:
    found: dict[str, list[BatchTotals]] = {}
    for each in totals:
        if each.ahead:
            found.setdefault(each.place, []).append(each)
    for name, own in sorted(found.items())[:_MOST]:
        count = sum(each.ahead for each in own)
        first, last = min(each.first_ahead or 0 for each in own), max(each.last_ahead or 0 for each in own)
        days = (last - time.time() * 1e6) / _DAY
        text = f"{name}: times of {_counted(count, 'batch', 'batches')} are up to {days:.0f} days ahead of now"
        advice = "Retention by time keeps their segments until then: fix the producer's clock, or use LogAppendTime."
        yield Finding("future-time", "warning", text, advice, entity=name, t0=first, t1=last, count=count)


def _open_transactions(batches: DataFrame) -> Iterator[Finding]:
    control = F.col("is_control")
    last = batches.filter("is_transactional").groupBy("topic", "partition", "producer_id")
    summed = last.agg(
        F.min("file").alias("file"),
        F.max(F.when(~control, F.col("last_offset"))).alias("data"),
        F.max(F.when(control, F.col("last_offset"))).alias("marker"),
        F.unix_micros(F.max(F.when(~control, F.col("max_timestamp")))).alias("time"),
    ).filter(F.col("data") > F.coalesce("marker", F.lit(-1)))
    for row in _rows(summed.orderBy("topic", "partition", "producer_id")):
        name = _name(row)
        text = (
            f"{name}: producer {row.producer_id} wrote up to offset {row.data} in a transaction without an end marker"
        )
        advice = (
            "If the producer is gone, readers of committed data wait there: kafka-transactions find-hanging, abort."
        )
        yield Finding(
            "open-transaction",
            "warning",
            text,
            advice,
            entity=name,
            t0=row.time,
            t1=row.time,
            certainty="suspected",
        )


def _waste(totals: Sequence[BatchTotals], limits: Thresholds) -> Iterator[Finding]:
    found: dict[str, list[BatchTotals]] = {}
    for each in totals:
        if each.magic == 2 and not each.is_control and each.has_records:
            found.setdefault(each.topic or each.place, []).append(each)
    by_bytes = sorted(found.items(), key=lambda item: (-sum(each.bytes for each in item[1]), item[0]))
    for topic, own in by_bytes[:_MOST]:
        batches, records = sum(each.batches for each in own), sum(each.records or 0 for each in own)
        size = sum(each.bytes for each in own)
        if batches >= limits.small_batches and records < 2 * batches:
            text = f"{topic}: {records / batches:.1f} records a batch in {batches} batches"
            yield Finding("inefficiency", "info", text, "Raise linger.ms and batch.size.", entity=topic)
        if size >= limits.plain_bytes and all(each.codec == "none" for each in own):
            text = f"{topic}: {size} bytes, none of them compressed"
            yield Finding("inefficiency", "info", text, "Set compression.type (lz4 or zstd).", entity=topic)


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _rows(frame: DataFrame) -> list[Row]:
    return frame.limit(_MOST).collect()


def _name(row: Row) -> str:
    return place_of(row.topic, row.partition, row.file)
