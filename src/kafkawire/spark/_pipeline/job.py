"""The pipeline: an input's tables as Parquet, the findings about them, a report, a manifest and a summary.

Rules:
- An `Input` knows its tables, their measures and their findings. The job writes tables, reports progress and writes the
  manifest, in the same way for all inputs.
- Each table is written in one pass over the input, and measured in the same pass. Rows of unreadable bytes are
  measured, but not written into the table.
- The input chooses which tables are partitioned by topic. Spark and other readers infer the type of a partition column
  from its values: if the only topic is called `2024`, they read a number unless the schema is given.
- Findings and report come from the written tables, so their numbers agree. Rules run as soon as their table is written.
- Everything that starts tasks is a step, and reports its progress: tables, findings, and chapters of the report.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import pyspark
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.inspect import Thresholds
from kafkawire.spark._pipeline.output import REPORT, WrittenTables
from kafkawire.spark._pipeline.progress import TaskCount, run_with_progress
from kafkawire.spark._pipeline.summary import findings_frame
from kafkawire.spark._pipeline.table_formats import FORMATS
from kafkawire.spark._report.chapters import Planned
from kafkawire.spark._report.evidence import evidence_chapters
from kafkawire.spark._report.page import page
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import Column, SparkSession

    from kafkawire.inspect import Finding
    from kafkawire.spark._pipeline.output import OutputDirectory
    from kafkawire.spark._pipeline.summary import Summary
    from kafkawire.spark._report.chapters import Chapter

    Report = Callable[[str, TaskCount], None]
    """Takes the name of a step, and its tasks."""

_Result = TypeVar("_Result")

# More tasks than processors balance the load and make progress visible.
_TASKS_EACH: Final = 3
# The least that is worth a task, and so a file for each topic.
_TASK: Final = {"bytes": 16 << 20, "items": 100_000}
_SHOWN: Final = 200
_SHOWN_EACH: Final = 5
_WORST: Final = 10


class Input(Protocol):
    """The input of a pipeline run."""

    @property
    def kind(self) -> str: ...
    @property
    def listed(self) -> str:
        """The key of the files or ranges in the manifest."""

    @property
    def choices(self) -> Sequence[str]:
        """All tables of the input, in the order in which they are written."""

    def files(self) -> Sequence[Mapping[str, Any]]:
        """The files or ranges to read, for the manifest."""

    def amount(self) -> int:
        """The amount to read, in units; valid after `files`."""

    @property
    def unit(self) -> Literal["bytes", "items"]: ...
    def nothing(self) -> str:
        """The error text if there is nothing to read."""

    def describe(self) -> Mapping[str, Any]:
        """The request, for the manifest."""

    def summary(self) -> Summary:
        """An empty summary of the files, to which measures of tables are added."""

    def read(self, spark: SparkSession, table: str, tasks: int) -> DataFrame: ...
    def valid_rows(self, rows: DataFrame) -> DataFrame:
        """The rows that are written into a table, without those of unreadable bytes."""

    def measures(self, table: str) -> Sequence[Column]: ...
    def partitioning(self, table: str) -> Sequence[str]: ...

    def extra_tables(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        """Small tables that depend on the content of the others."""

    def diagnose(self, table: str, tables: WrittenTables, limits: Thresholds) -> Sequence[Finding] | DataFrame | None:
        """The findings of a written table; None if no rule reads this table alone."""

    def chapters(self, tables: WrittenTables, summary: Summary) -> Iterable[Planned]:
        """The chapters of the report after the findings."""


@dataclass
class Job:
    """One run over an input."""

    spark: SparkSession
    input: Input
    output: OutputDirectory
    tables: Sequence[str]
    report: Report = lambda step, tasks: None
    limits: Thresholds = field(default_factory=Thresholds)
    format: str = "parquet"
    found: list[Finding] = field(default_factory=list)
    """The findings so far."""

    def __post_init__(self) -> None:
        self.written = WrittenTables(self.spark, self.output, format=self.format)
        self._found_frames: list[DataFrame] = []
        self._is_diagnosed = False

    def run(self) -> Summary:
        """Write the tables, the report and the manifest; returns their summary."""
        started = time.time()
        files = self.input.files()
        if not files:
            raise PipelineError(self.input.nothing())
        summary = self.input.summary()
        for table in self.input.choices:
            if table in self.tables:
                summary.take(table, self._write_table(table))
                self._diagnose(table)
        return self._conclude(files, summary, started, "complete")

    def conclude(self, state: str = "complete") -> Summary:
        """Measure and diagnose tables that were written before, then write findings, report and manifest."""
        started = time.time()
        self.found.clear()
        self._found_frames.clear()
        files = self.input.files()
        summary = self.input.summary()
        for table in self.input.choices:
            if self.written.has(table):
                rows = self.written.frame(table).withColumn("fault", F.lit(None).cast("string"))
                wanted = rows.agg(F.count(F.lit(1)).alias("rows"), *self.input.measures(table))
                summary.take(table, self._step(f"measuring {table}", wanted.collect)[0].asDict())
                self._diagnose(table)
        return self._conclude(files, summary, started, state)

    def _conclude(self, files: Sequence[Mapping[str, Any]], summary: Summary, started: float, state: str) -> Summary:
        extra = self._step(
            "looking for faults and transactions", lambda: self.input.extra_tables(self.written, summary)
        )
        for table, frame in extra.items():
            self._write(table, frame.coalesce(1))
            self._diagnose(table)
        if self._is_diagnosed:
            findings = findings_frame(self.spark, self.found)
            for frame in self._found_frames:
                findings = findings.unionByName(frame)
            self._write("findings", findings.repartition(1).sortWithinPartitions(worst_first(), "t0"))
        shown = self._step("counting findings", lambda: self._shown_findings(summary))
        self._write_report(summary, shown, started)
        summary.seconds = round(time.time() - started, 3)
        self.output.write_manifest({"state": state, **self._manifest(files, summary, started)})
        return summary

    def _diagnose(self, table: str) -> None:
        found = self._step(
            f"applying the rules to {table}", lambda: self.input.diagnose(table, self.written, self.limits)
        )
        if found is None:
            return
        self._is_diagnosed = True
        if isinstance(found, DataFrame):
            self._found_frames.append(found)
        else:
            self.found += found

    def _write_table(self, table: str) -> dict[str, Any]:
        observation = Observation(f"kafkawire {table}")
        rows = self.input.read(self.spark, table, _TASKS_EACH * self.spark.sparkContext.defaultParallelism)
        rows = rows.observe(observation, F.count(F.lit(1)).alias("rows"), *self.input.measures(table))
        self._write(table, self.input.valid_rows(rows).coalesce(self._files_at_most()), self.input.partitioning(table))
        self.written.rows[table] = observation.get["rows"]
        return observation.get

    def _files_at_most(self) -> int:
        """How many tasks write files. A topic of many small partitions would otherwise leave a file for each."""
        processors = self.spark.sparkContext.defaultParallelism
        tasks = ceil(self.input.amount() / _TASK[self.input.unit])
        return max(processors, tasks)

    def _write(self, table: str, frame: DataFrame, partitioning: Sequence[str] = ()) -> None:
        self._step(
            f"writing {table}", lambda: FORMATS[self.format].write(frame, self.output.storage, table, partitioning)
        )
        self.written.add(table, frame.schema)

    def _step(self, name: str, work: Callable[[], _Result]) -> _Result:
        return run_with_progress(self.spark, work, lambda tasks: self.report(name, tasks))

    def _shown_findings(self, summary: Summary) -> list[dict[str, Any]] | None:
        """Count all findings; return the first of each rule, the worst first. None if no rules ran."""
        if not self.written.has("findings"):
            return None
        alike = Window.partitionBy("level", "rule")
        ranked = self.written.frame("findings").select(
            "*",
            F.row_number().over(alike.orderBy("t0", "text")).alias("rank"),
            F.count(F.lit(1)).over(alike).alias("alike"),
        )
        shown = ranked.filter(F.col("rank") <= _SHOWN_EACH).orderBy(worst_first(), "rule", "rank").drop("rank")
        rows = shown.toArrow().to_pylist()
        summary.take_findings({(row["level"], row["rule"]): row.pop("alike") for row in rows})
        summary.worst = [{name: row[name] for name in ("level", "rule", "text")} for row in rows[:_WORST]]
        return rows[:_SHOWN]

    def _write_report(self, summary: Summary, findings: list[dict[str, Any]] | None, started: float) -> None:
        planned = [
            *self.input.chapters(self.written, summary),
            Planned("evidence", lambda: evidence_chapters(self.written, findings)),
        ]
        chapters: list[Chapter] = []
        for number, (subject, compute) in enumerate(planned, 1):
            name = f"report, {subject} ({number} of {len(planned)})"
            chapters += self._step(name, lambda compute=compute: [*compute()])  # type: ignore[misc]  # by its default
        self.output.write_report(page(self.input.describe(), summary, findings, chapters, started))

    def _manifest(self, files: Sequence[Mapping[str, Any]], summary: Summary, started: float) -> dict[str, Any]:
        return {
            "spark": pyspark.__version__,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "source": self.input.describe(),
            "tables": {
                table: {
                    "path": table,
                    "format": self.format,
                    "rows": summary.rows_of(table),
                    "partitioned_by": list(self.input.partitioning(table)),
                }
                for table in self.written.schemas
            },
            "report": REPORT,
            "summary": summary.as_dict(),
            self.input.listed: list(files),
        }


def worst_first() -> Column:
    """The sort order of findings: errors, warnings, then infos."""
    level = F.col("level")
    return F.when(level == "error", 0).when(level == "warning", 1).otherwise(2)
