"""The aggregates of written tables that the rules of the diagnosis and the report read.

Rules:
- The driver gets totals by partition, else at most a hundred rows per query.
- Totals of batches have one row per partition and kind of batch, from one pass over their headers.
- Records are None if headers do not count them: in compressed batches of magic 0 and 1.
- Batches without records, which compaction emptied, are a kind of their own.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.inspect import (
    BatchAggregates,
    BatchTotals,
    DamagedLog,
    HotKey,
    LogFiles,
    LogTransactions,
    OpenTransaction,
    PartitionRecords,
    TopicAggregates,
    WrongIndex,
    logged_transaction,
    place_of,
)
from kafkawire.spark._report.aggregates import readable_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row

_AHEAD: Final = timedelta(days=1)
_MOST: Final = 100


def add_up(batches: DataFrame) -> list[BatchTotals]:
    """The totals of a table. A time is ahead if it is more than a day ahead of the clock of this machine."""
    is_ahead = F.col("max_timestamp") > F.lit(datetime.now(UTC) + _AHEAD)
    ahead = F.when(is_ahead, F.unix_micros("max_timestamp"))
    kind = ("topic", "partition", "magic", "codec", "is_control", (F.col("record_count") != 0).alias("has_records"))
    summed = batches.groupBy(*kind).agg(
        F.min("file"),
        F.count(F.lit(1)),
        F.when(F.min("record_count") >= 0, F.sum("record_count")),
        F.sum("size"),
        F.min(known_time("base_timestamp")),
        F.max(known_time("max_timestamp")),
        F.count(ahead),
        F.min(ahead),
        F.max(ahead),
        F.count(F.when(F.col("is_transactional"), 1)),
    )
    return [BatchTotals(*row) for row in summed.collect()]


def formats_of(totals: Iterable[BatchTotals]) -> list[dict[str, Any]]:
    """Batches, records and bytes by magic and codec."""
    found: dict[tuple[int, str], list[BatchTotals]] = {}
    for each in totals:
        found.setdefault((each.magic, each.codec), []).append(each)
    return [
        {"magic": magic, "codec": codec, "batches": sum(each.batches for each in own)}
        | {"records": known_sum([each.records for each in own]), "bytes": sum(each.bytes for each in own)}
        for (magic, codec), own in sorted(found.items())
    ]


def known_sum(numbers: Sequence[int | None]) -> int | None:
    """The sum of numbers, None if one of them is not known.

    >>> known_sum([1, 2]), known_sum([1, None])
    (3, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def known_time(column: str) -> Column:
    """A time in milliseconds. It is null for magic 0 and for batches that compaction emptied."""
    millis = F.unix_millis(column)
    return F.when((F.col("magic") > 0) & (millis >= 0), millis)


def batch_aggregates(batches: DataFrame, totals: Sequence[BatchTotals]) -> BatchAggregates:
    """The batches of segments or topics, with their open transactions."""
    control = F.col("is_control")
    last = batches.filter("is_transactional").groupBy("topic", "partition", "producer_id")
    summed = last.agg(
        F.min("file").alias("file"),
        F.max(F.when(~control, F.col("last_offset"))).alias("data"),
        F.max(F.when(control, F.col("last_offset"))).alias("marker"),
        F.unix_micros(F.max(F.when(~control, F.col("max_timestamp")))).alias("time"),
    ).filter(F.col("data") > F.coalesce("marker", F.lit(-1)))
    rows = _rows(summed.orderBy("topic", "partition", "producer_id"))
    open_ones = [OpenTransaction(_name(row), row.producer_id, row.data, row.time) for row in rows]
    return BatchAggregates(time.time() * 1e6, totals, open_ones)


def log_transactions(transactions: DataFrame) -> LogTransactions:
    """The transactions of log files that rules read: those of the transaction log, and the oldest open ones."""
    newest = F.unix_micros(F.max(F.greatest("begin", "last", "end"))).alias("newest")
    found = transactions.agg(newest).first()
    now = None if found is None else found.newest
    ended_badly = (F.col("source") == "transaction_log") & F.col("outcome").isin("timed_out", "fenced", "open")
    times = [F.unix_micros(name).alias(name) for name in ("begin", "last", "end")]
    others = ("source", "transactional_id", "producer_id", "producer_epoch", "outcome", "duration_us", "timeout_ms")
    columns = transactions.select(*times, *others, "partitions")
    still_open = columns.filter("source = 'segment' and outcome = 'open'").orderBy("begin", "producer_id")
    rows = [row.asDict(recursive=True) for frame in (still_open, columns.filter(ended_badly)) for row in _rows(frame)]
    for row in rows:
        if row["outcome"] == "open" and row["begin"] is not None and now is not None:
            row["duration_us"] = now - row["begin"]
    logged = [(row["source"], logged_transaction(row)) for row in rows]
    return LogTransactions(
        [each for source, each in logged if source == "segment"],
        [each for source, each in logged if source == "transaction_log"],
    )


def damaged_logs(faults: DataFrame) -> LogFiles:
    """The files of a table of faults."""
    summed = faults.groupBy("topic", "partition", "file").agg(
        F.count(F.lit(1)).alias("faults"),
        F.sum("size").alias("bytes"),
        F.min(F.struct("position", "fault")).alias("first"),
    )
    rows = _rows(summed.orderBy(F.desc("faults"), "file"))
    return LogFiles(
        damaged=[
            DamagedLog(_name(row), row.file, row.first.fault, row.faults, row.bytes, row.first.position) for row in rows
        ]
    )


def wrong_indexes(errors: DataFrame) -> LogFiles:
    """The files of a table of index errors."""
    summed = errors.groupBy("file").agg(
        F.count(F.lit(1)).alias("entries"), F.min(F.struct("position", "problem")).alias("first")
    )
    rows = _rows(summed.orderBy("file"))
    return LogFiles(
        indexes=[
            WrongIndex(row.file, PurePath(row.file).suffix.removeprefix("."), row.first.problem, row.entries)
            for row in rows
        ]
    )


def add_up_records(records: DataFrame) -> list[PartitionRecords]:
    """The records of every partition that has any."""
    timed = F.when(F.col("timestamp_type") >= 0, F.unix_millis("timestamp"))
    summed = records.groupBy("topic", "partition").agg(F.count(F.lit(1)), F.min(timed), F.max(timed))
    return [PartitionRecords(*row) for row in summed.collect()]


def record_aggregates(
    records: DataFrame, read: Sequence[PartitionRecords], partitions: Mapping[str, int]
) -> TopicAggregates:
    """How the records of topics are spread; `partitions` counts the partitions of each topic that were read."""

    def hot_key(topic: str, partition: int) -> HotKey | None:
        own = records.filter((F.col("topic") == topic) & (F.col("partition") == partition))
        keyed = own.filter(F.col("key").isNotNull()).groupBy("key").count()
        top = keyed.orderBy(F.desc("count"), "key").first()
        return None if top is None else HotKey(str(readable_key(bytes(top["key"]))), top["count"])

    return TopicAggregates(records=read, partitions=partitions, hot_key=hot_key)


def _rows(frame: DataFrame) -> list[Row]:
    return frame.limit(_MOST).collect()


def _name(row: Row) -> str:
    return place_of(row.topic, row.partition, row.file)
