"""Batches added up by partition and format, in one pass over their headers.

Rules:
- There is a row a partition and kind of batch, so the driver gets some few rows for each partition, which it knows by
  name anyway. Formats, topics and the rules about them are told from these rows.
- Records are None where headers do not count them: in compressed batches of magic 0 and 1.
- A batch without records (compaction emptied it) is of another kind than one with.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame

_AHEAD: Final = timedelta(days=1)


class BatchTotals(NamedTuple):
    """The batches of one kind in a partition; `first` and `last` are in milliseconds, times ahead in microseconds."""

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

    @property
    def place(self) -> str:
        """The partition, or a file of it where no directory says which partition that is."""
        return place_of(self.topic, self.partition, self.file)


def add_up(batches: DataFrame) -> list[BatchTotals]:
    """The totals of a table; a time more than a day ahead of this machine's clock is ahead."""
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
    """The sum of numbers, None where one of them is not known.

    >>> known_sum([1, 2]), known_sum([1, None])
    (3, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def known_time(column: str) -> Column:
    """A time in milliseconds, where there is one: magic 0 has none, nor has an emptied batch."""
    millis = F.unix_millis(column)
    return F.when((F.col("magic") > 0) & (millis >= 0), millis)


def place_of(topic: str | None, partition: int | None, file: str | None) -> str:
    """What findings call a partition.

    >>> place_of("orders", 3, "/data/orders-3/0.log"), place_of(None, None, "/tmp/0.log")
    ('orders-3', '/tmp/0.log')
    """
    return f"{topic}-{partition}" if topic is not None else str(file)
