"""The numbers of a run, measured while the tables were written, or read from them.

`Summary` holds the numbers common to all inputs; `LogSummary` adds those available for partitions, on disk or live;
`SegmentsSummary` adds those of log files.

Rules:
- A number that the chosen tables do not contain is None, never 0.
- Times are milliseconds since 1970. Records without a time do not count for the range.
- A tombstone is a record with a key and a null value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  # the usual name
from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.inspect import FINDINGS, LEVELS, findings_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.inspect import Finding
    from kafkawire.spark._segments.files import SegmentFile


@dataclass
class Summary:
    """The numbers that every run has."""

    files: int | None = None
    bytes: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    findings: dict[str, int] | None = None
    rules: dict[str, int] = field(default_factory=dict)
    worst: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)

    def take(self, table: str, measured: dict[str, Any]) -> None:
        """Add the measures of a table."""
        self.rows[table] = measured["rows"]

    def take_findings(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Add the number of findings by level and rule."""
        self.findings = dict.fromkeys(reversed(LEVELS), 0)
        for (level, rule), count in sorted(counts.items()):
            self.findings[level] += count
            self.rules[rule] = self.rules.get(rule, 0) + count
        self.rows["findings"] = sum(counts.values())

    def rows_of(self, table: str) -> int | None:
        """The number of rows of a table."""
        return self.rows.get(table)

    @property
    def has_findings(self) -> bool:
        """Whether any finding is a warning or an error."""
        return any(count for level, count in (self.findings or {}).items() if level != "info")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class LogSummary(Summary):
    """The numbers of a run over partitions, on disk or live."""

    topics: int = 0
    partitions: int = 0
    batches: int | None = None
    control_batches: int | None = None
    records: int | None = None
    tombstones: int | None = None
    key_bytes: int | None = None
    value_bytes: int | None = None
    formats: list[dict[str, Any]] = field(default_factory=list)

    def take(self, table: str, measured: dict[str, Any]) -> None:
        self.rows[table] = measured[table] if table in ("batches", "records") else measured["rows"]
        setattr(self, table, self.rows[table])
        for name in ("control_batches", "tombstones", "key_bytes", "value_bytes"):
            if name in measured:
                setattr(self, name, measured[name] or 0)
        if "first_timestamp" in measured:
            self.first_timestamp = measured["first_timestamp"]
            self.last_timestamp = measured["last_timestamp"]


@dataclass
class SegmentsSummary(LogSummary):
    """The numbers of a run over log files."""

    faults: int = 0
    segment_files: int | None = None
    index_errors: int | None = None
    fault_examples: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of_files(cls, files: Sequence[SegmentFile]) -> SegmentsSummary:
        return cls(
            files=len(files),
            bytes=sum(file.size for file in files),
            topics=len({file.topic for file in files}),
            partitions=len({(file.topic, file.partition) for file in files}),
        )

    def take(self, table: str, measured: dict[str, Any]) -> None:
        super().take(table, measured)
        self.faults = max(self.faults, measured.get("faults", 0))

    @property
    def has_findings(self) -> bool:
        return super().has_findings or bool(self.faults or self.index_errors)


def batch_measures() -> list[Column]:
    """The measures of the batches table."""
    timed = (F.col("magic") > 0) & (F.col("max_timestamp") >= F.timestamp_millis(F.lit(0)))
    return [
        *_counts("batches"),
        F.sum(F.when(F.col("is_control"), 1)).alias("control_batches"),
        *_range(F.when(timed, F.col("base_timestamp")), F.when(timed, F.col("max_timestamp"))),
    ]


def record_measures() -> list[Column]:
    """The measures of the records table."""
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


def findings_frame(spark: SparkSession, findings: Sequence[Finding]) -> DataFrame:
    """Findings of the driver as a frame, which may be empty."""
    if not findings:
        # Spark does not accept an Arrow table without rows.
        return spark.createDataFrame([], from_arrow_schema(FINDINGS))
    return spark.createDataFrame(findings_table(findings))


def _counts(name: str) -> list[Column]:
    return [F.count(F.when(F.col("fault").isNull(), 1)).alias(name), F.count("fault").alias("faults")]


def _range(first: Column, last: Column) -> Iterable[Column]:
    yield F.unix_millis(F.min(first)).alias("first_timestamp")
    yield F.unix_millis(F.max(last)).alias("last_timestamp")


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
