"""What a run found, in numbers: measured while the tables were written, or read from them.

Rules:
- A number that the chosen tables do not tell is None, never 0.
- Times are milliseconds since 1970; records without a time do not count for the range.
- A tombstone is a record with a key and a null value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire.spark.listing import SegmentFile


@dataclass
class Summary:
    """The numbers of one run."""

    files: int = 0
    bytes: int = 0
    topics: int = 0
    partitions: int = 0
    batches: int | None = None
    control_batches: int | None = None
    records: int | None = None
    tombstones: int | None = None
    key_bytes: int | None = None
    value_bytes: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    faults: int = 0
    segment_files: int | None = None
    index_errors: int | None = None
    seconds: float = 0.0
    formats: list[dict[str, Any]] = field(default_factory=list)
    fault_examples: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of_files(cls, files: Sequence[SegmentFile]) -> Summary:
        return cls(
            files=len(files),
            bytes=sum(file.size for file in files),
            topics=len({file.topic for file in files}),
            partitions=len({(file.topic, file.partition) for file in files}),
        )

    def take_batches(self, measured: dict[str, Any]) -> None:
        self.batches = measured["batches"]
        self.control_batches = measured["control_batches"] or 0
        self._take_common(measured)

    def take_records(self, measured: dict[str, Any]) -> None:
        self.records = measured["records"]
        self.tombstones = measured["tombstones"] or 0
        self.key_bytes = measured["key_bytes"] or 0
        self.value_bytes = measured["value_bytes"] or 0
        self._take_common(measured)

    def _take_common(self, measured: dict[str, Any]) -> None:
        self.faults = max(self.faults, measured["faults"])
        self.first_timestamp = measured["first_timestamp"]
        self.last_timestamp = measured["last_timestamp"]

    def take_rows(self, table: str, measured: dict[str, Any]) -> None:
        setattr(self, table, measured["rows"])

    def rows_of(self, table: str) -> int | None:
        """How many rows a table has; there is a field of its name."""
        rows: int | None = getattr(self, table)
        return rows

    @property
    def has_findings(self) -> bool:
        return bool(self.faults or self.index_errors)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def batch_measures() -> list[Column]:
    """What is counted while the batches table is written."""
    timed = (F.col("magic") > 0) & (F.col("max_timestamp") >= F.timestamp_millis(F.lit(0)))
    return [
        *_counts("batches"),
        F.sum(F.when(F.col("is_control"), 1)).alias("control_batches"),
        *_range(F.when(timed, F.col("base_timestamp")), F.when(timed, F.col("max_timestamp"))),
    ]


def record_measures() -> list[Column]:
    """What is counted while the records table is written."""
    timed = F.when(
        (F.col("timestamp_type") >= 0) & (F.col("timestamp") >= F.timestamp_millis(F.lit(0))), F.col("timestamp")
    )
    is_tombstone = F.col("key").isNotNull() & F.col("value").isNull()
    return [
        *_counts("records"),
        F.sum(F.when(is_tombstone, 1)).alias("tombstones"),
        F.sum(F.length("key")).alias("key_bytes"),
        F.sum(F.length("value")).alias("value_bytes"),
        *_range(timed, timed),
    ]


def _counts(name: str) -> list[Column]:
    return [F.count(F.when(F.col("fault").isNull(), 1)).alias(name), F.count("fault").alias("faults")]


def _range(first: Column, last: Column) -> Iterable[Column]:
    yield F.unix_millis(F.min(first)).alias("first_timestamp")
    yield F.unix_millis(F.max(last)).alias("last_timestamp")


def formats_of(batches: DataFrame) -> list[dict[str, Any]]:
    """Batches, records and bytes by magic and codec; records are None where headers do not count them."""
    rows = (
        batches.groupBy("magic", "codec")
        .agg(
            F.count(F.lit(1)).alias("batches"),
            F.when(F.min("record_count") >= 0, F.sum("record_count")).alias("records"),
            F.sum("size").alias("bytes"),
        )
        .orderBy("magic", "codec")
        .collect()
    )
    return [row.asDict() for row in rows]


def readable_time(milliseconds: int | None) -> str | None:
    """A time for people.

    >>> readable_time(1700000000123), readable_time(2**62)
    ('2023-11-14 22:13:20.123 UTC', '4611686018427387904 ms')
    """
    if milliseconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03} UTC"
