"""Log files as the input of a pipeline run.

Rules:
- `batches` has a row a batch, `records` a row a record; both hold only what is sound. What is not goes into `faults`,
  which is written only if there are any.
- `segment_files` and `index_errors` are written when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.spark.batch_totals import add_up, formats_of
from kafkawire.spark.listing import list_segments
from kafkawire.spark.report_segments import segment_chapters
from kafkawire.spark.segment_rules import judge_batches, judge_table
from kafkawire.spark.segments import FORMAT
from kafkawire.spark.summary import SegmentsSummary, Summary, batch_measures, record_measures
from kafkawire.spark.tables import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.inspect.diagnose import Finding, Thresholds
    from kafkawire.spark.batch_totals import BatchTotals
    from kafkawire.spark.chapters import Chapter
    from kafkawire.spark.listing import SegmentFile
    from kafkawire.spark.written import WrittenTables

_FAULT_COLUMNS: Final = ("topic", "partition", "file", "position", "size", "fault")
_FAULTS_SHOWN: Final = 20


@dataclass
class SegmentsInput:
    """Segment files, directories of them, patterns."""

    paths: Sequence[str]
    mode: str = "PERMISSIVE"
    kind: str = "segments"
    listed: str = "files"
    unit: Literal["bytes", "items"] = "bytes"
    choices: Sequence[str] = ("batches", "records", "segment_files", "index_errors")
    default: Sequence[str] = ("batches", "records")
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
        reader = (
            spark.read.format(FORMAT)
            .option("table", table)
            .option("mode", self.mode)
            .option("minPartitions", str(tasks))
        )
        if columns:
            reader = reader.schema(", ".join(f"`{name}` {COLUMNS[name].simpleString()}" for name in columns))
        return reader.load(list(self.paths))

    def sound(self, rows: DataFrame) -> DataFrame:
        return rows.filter(F.col("fault").isNull()).drop("fault") if "fault" in rows.columns else rows

    def measures(self, table: str) -> list[Column]:
        known = {"batches": batch_measures, "records": record_measures}
        return known[table]() if table in known else []

    def partitioning(self, table: str) -> Sequence[str]:
        return ("topic",) if table in self.choices else ()

    def more(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        """Faults of records include those of batches: what cannot be walked over cannot be decoded either."""
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

    def judge(self, table: str, tables: WrittenTables, limits: Thresholds) -> list[Finding]:
        rows = tables.frame(table)
        if table == "batches":
            self._totals = add_up(rows)
            return judge_batches(rows, self._totals, limits)
        return judge_table(table, rows)

    def chapters(self, tables: WrittenTables, summary: Summary) -> list[Chapter]:
        assert isinstance(summary, SegmentsSummary)
        return segment_chapters(tables, summary, self._files, self._totals)
