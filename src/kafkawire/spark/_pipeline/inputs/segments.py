"""Log files as the input of a pipeline run.

Rules:
- `batches` has one row per valid batch, `records` one row per record. Unreadable bytes are rows of `faults`, which is
  written only if there are any.
- `segment_files` and `index_errors` are written on request.
- `transactions` is read only if a batch is transactional, `old_formats` only if one is of magic 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.inspect import apply_rules
from kafkawire.spark._columns import COLUMNS, table_schema
from kafkawire.spark._pipeline.summary import SegmentsSummary, Summary, batch_measures, record_measures
from kafkawire.spark._pipeline.totals import (
    add_up,
    batch_aggregates,
    damaged_logs,
    formats_of,
    log_transactions,
    wrong_indexes,
)
from kafkawire.spark._report.logs import segment_chapters
from kafkawire.spark._segments.files import list_segments
from kafkawire.spark._segments.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.inspect import BatchTotals, Finding, Thresholds
    from kafkawire.spark._pipeline.output import WrittenTables
    from kafkawire.spark._report.chapters import Planned
    from kafkawire.spark._segments.files import SegmentFile

_FAULT_COLUMNS: Final = ("topic", "partition", "file", "position", "size", "fault")
_FAULTS_SHOWN: Final = 20
_DEFAULT: Final = ("batches", "records", "transactions", "old_formats")


@dataclass
class SegmentsInput:
    """Segment files, directories of them, patterns."""

    paths: Sequence[str]
    mode: str = "PERMISSIVE"
    tables: Sequence[str] = _DEFAULT
    kind: str = "segments"
    listed: str = "files"
    unit: Literal["bytes", "items"] = "bytes"
    choices: Sequence[str] = ("batches", "records", "segment_files", "index_errors", "transactions", "old_formats")
    default: Sequence[str] = _DEFAULT
    _files: list[SegmentFile] = field(default_factory=list)
    _totals: list[BatchTotals] = field(default_factory=list)

    def files(self) -> list[dict[str, Any]]:
        self._files = list_segments(self.paths)
        return [
            {"file": file.name, "bytes": file.size, "topic": file.topic, "partition": file.partition}
            for file in self._files
        ]

    def amount(self) -> int:
        return sum(file.size for file in self._files)

    def nothing(self) -> str:
        return (
            f"no segment files in {', '.join(self.paths)}; expected a partition's directory with files such as"
            " 00000000000000000000.log, or a directory of such directories"
        )

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "paths": list(self.paths), "mode": self.mode}

    def summary(self) -> SegmentsSummary:
        return SegmentsSummary.of_files(self._files)

    def read(self, spark: SparkSession, table: str, tasks: int, columns: Sequence[str] = ()) -> DataFrame:
        if self._totals and not self._may_have_rows(table):
            return spark.createDataFrame([], table_schema(table))
        reader = (
            spark.read.format(FORMAT)
            .option("table", table)
            .option("mode", self.mode)
            .option("minPartitions", str(tasks))
        )
        if columns:
            reader = reader.schema(", ".join(f"`{name}` {COLUMNS[name].simpleString()}" for name in columns))
        return reader.load(list(self.paths))

    def _may_have_rows(self, table: str) -> bool:
        if table == "transactions":
            return any(each.transactional for each in self._totals)
        return table != "old_formats" or any(each.magic < 2 for each in self._totals)

    def valid_rows(self, rows: DataFrame) -> DataFrame:
        return rows.filter(F.col("fault").isNull()).drop("fault") if "fault" in rows.columns else rows

    def measures(self, table: str) -> list[Column]:
        known = {"batches": batch_measures, "records": record_measures}
        return known[table]() if table in known else []

    def partitioning(self, table: str) -> Sequence[str]:
        return ("topic",) if table in self.choices and table != "transactions" else ()

    def extra_tables(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        """The faults. Those of records include those of batches, because decoding needs a readable header."""
        assert isinstance(summary, SegmentsSummary)
        summary.formats = formats_of(self._totals)
        if not summary.faults:
            return {}
        table = "records" if tables.has("records") else "batches"
        faults = self.read(tables.spark, table, 1, _FAULT_COLUMNS).filter(F.col("fault").isNotNull()).cache()
        summary.faults = summary.rows["faults"] = faults.count()
        shown = faults.orderBy("file", "position").limit(_FAULTS_SHOWN)
        summary.fault_examples = [row.asDict() for row in shown.collect()]
        return {"faults": faults}

    def diagnose(self, table: str, tables: WrittenTables, limits: Thresholds) -> list[Finding]:
        rows = tables.frame(table)
        if table == "batches":
            self._totals = add_up(rows)
            found = batch_aggregates(rows, self._totals)
            # The table of transactions has their timeouts.
            return apply_rules(replace(found, open_transactions=()) if "transactions" in self.tables else found, limits)
        if table == "transactions":
            return apply_rules(log_transactions(rows), limits)
        if table == "faults":
            return apply_rules(damaged_logs(rows), limits)
        return apply_rules(wrong_indexes(rows), limits) if table == "index_errors" else []

    def chapters(self, tables: WrittenTables, summary: Summary) -> Iterable[Planned]:
        assert isinstance(summary, SegmentsSummary)
        return segment_chapters(tables, summary, self._files, self._totals)
