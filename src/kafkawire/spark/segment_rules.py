"""What log files show to be wrong, found by queries over their tables.

Rules:
- The driver gets aggregates only, at most a hundred rows a rule.
- A log may be cut by retention, so what is missing from it proves nothing: an open transaction is suspected.
- A time more than a day ahead of this machine's clock is in the future.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.inspect.diagnose import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, Row

    from kafkawire.inspect.diagnose import Thresholds

_MOST: Final = 100
_AHEAD: Final = timedelta(days=1)


def judge_table(table: str, rows: DataFrame, limits: Thresholds) -> list[Finding]:
    """Every finding that one of the tables of log files gives."""
    if table == "faults":
        return list(_damage(rows))
    if table == "index_errors":
        return list(_wrong_indexes(rows))
    return judge_batches(rows, limits) if table == "batches" else []


def judge_batches(batches: DataFrame, limits: Thresholds) -> list[Finding]:
    """What the headers of batches show, whether they were on disk or came from a broker."""
    return [*_future(batches), *_open_transactions(batches), *_waste(batches, limits)]


def _damage(faults: DataFrame) -> Iterator[Finding]:
    summed = faults.groupBy("topic", "partition", "file").agg(
        F.count(F.lit(1)).alias("faults"),
        F.sum("size").alias("bytes"),
        F.min(F.struct("position", "fault")).alias("first"),
    )
    for row in _rows(summed.orderBy(F.desc("faults"), "file")):
        name = _name(row)
        text = f"{name}: {row.faults} places in {row.file} are no sound batches, {row.bytes} bytes"
        text += f"; the first, at byte {row.first.position}: {row.first.fault}"
        advice = "Stop the broker before you touch it; a replica has the data, or recovery cuts the log at the fault."
        yield Finding("corruption", "error", text, advice, entity=name, count=row.faults)


def _wrong_indexes(errors: DataFrame) -> Iterator[Finding]:
    summed = errors.groupBy("file").agg(
        F.count(F.lit(1)).alias("entries"), F.min(F.struct("position", "problem")).alias("first")
    )
    for row in _rows(summed.orderBy("file")):
        text = f"{row.file}: {row.entries} problems, the first: {row.first.problem}"
        advice = "Stop the broker and delete the index: it is rebuilt at the start."
        yield Finding("wrong-index", "warning", text, advice, entity=row.file, count=row.entries)


def _future(batches: DataFrame) -> Iterator[Finding]:
    now = datetime.now(UTC)
    ahead = batches.filter(F.col("max_timestamp") > F.lit(now + _AHEAD))
    summed = ahead.groupBy("topic", "partition").agg(
        F.count(F.lit(1)).alias("batches"),
        F.unix_micros(F.min("max_timestamp")).alias("first"),
        F.unix_micros(F.max("max_timestamp")).alias("last"),
    )
    for row in _rows(summed.orderBy("topic", "partition")):
        name = _name(row)
        days = (row.last - now.timestamp() * 1e6) / 86_400e6
        text = f"{name}: {row.batches} batches have times up to {days:.0f} days ahead of now"
        advice = "Retention by time keeps their segments until then: fix the producer's clock, or use LogAppendTime."
        yield Finding("future-time", "warning", text, advice, entity=name, t0=row.first, t1=row.last, count=row.batches)


def _open_transactions(batches: DataFrame) -> Iterator[Finding]:
    control = F.col("is_control")
    last = batches.filter("is_transactional").groupBy("topic", "partition", "producer_id")
    summed = last.agg(
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


def _waste(batches: DataFrame, limits: Thresholds) -> Iterator[Finding]:
    data = batches.filter((F.col("magic") == 2) & ~F.col("is_control") & (F.col("record_count") > 0))
    summed = data.groupBy("topic").agg(
        F.count(F.lit(1)).alias("batches"),
        F.sum("record_count").alias("records"),
        F.sum("size").alias("bytes"),
        F.count(F.when(F.col("codec") != "none", 1)).alias("packed"),
    )
    for row in _rows(summed.orderBy(F.desc("bytes"))):
        if row.batches >= limits.small_batches and row.records < 2 * row.batches:
            text = f"{row.topic}: {row.records / row.batches:.1f} records a batch in {row.batches} batches"
            yield Finding("inefficiency", "info", text, "Raise linger.ms and batch.size.", entity=row.topic)
        if row.bytes >= limits.plain_bytes and not row.packed:
            text = f"{row.topic}: {row.bytes} bytes, none of them compressed"
            yield Finding("inefficiency", "info", text, "Set compression.type (lz4 or zstd).", entity=row.topic)


def _rows(frame: DataFrame) -> list[Row]:
    return frame.limit(_MOST).collect()


def _name(row: Row) -> str:
    return row.file if row.topic is None else f"{row.topic}-{row.partition}"
