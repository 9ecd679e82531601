"""The pipeline: an input's tables as Parquet, the findings about them, a report, a manifest and a summary.

Rules:
- What the input is, its `Input` knows: its tables, what is measured in them, and which findings they give. The job
  writes, watches and records, the same way for all.
- Each table is written in one pass over the input, and measured in that same pass. Rows that stand for what could not
  be read are measured, and kept out of the table.
- Tables are partitioned by topic where the input says so. Spark and others that read them guess the type of a
  partition column from its values: a lake whose only topic is called `2024` reads back a number unless the schema is
  given.
- Findings and report come from the tables as written, so their numbers are those of the tables. Rules run as soon as
  the table is there that they look at.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import pyspark
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.inspect.diagnose import Thresholds
from kafkawire.spark.errors import PipelineError
from kafkawire.spark.findings import findings_frame
from kafkawire.spark.outputs import REPORT
from kafkawire.spark.report import page
from kafkawire.spark.watching import run_watched
from kafkawire.spark.written import WrittenTables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, SparkSession

    from kafkawire.inspect.diagnose import Finding
    from kafkawire.spark.chapters import Chapter
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.summary import Summary

    Report = Callable[[str, float], None]

# More tasks than processors: they end up busy alike, and progress shows.
_TASKS_EACH: Final = 3
_SHOWN: Final = 200
_SHOWN_EACH: Final = 5
_WORST: Final = 10


class Input(Protocol):
    """Something that a pipeline run reads."""

    @property
    def kind(self) -> str: ...
    @property
    def listed(self) -> str:
        """What the manifest calls the things that there are to read."""

    @property
    def choices(self) -> Sequence[str]:
        """The tables there may be, in the order in which they are written."""

    def files(self) -> Sequence[Mapping[str, Any]]:
        """What there is to read, for the manifest."""

    def amount(self) -> int:
        """How much there is to read, once it is known what there is."""

    @property
    def unit(self) -> Literal["bytes", "items"]: ...
    def nothing(self) -> str:
        """What to say where there is nothing to read."""

    def describe(self) -> Mapping[str, Any]:
        """What was asked for, for the manifest."""

    def summary(self) -> Summary:
        """A summary that knows the files, and takes measures of tables."""

    def read(self, spark: SparkSession, table: str, tasks: int) -> DataFrame: ...
    def sound(self, rows: DataFrame) -> DataFrame:
        """The rows that belong into a table, of those that were read."""

    def measures(self, table: str) -> Sequence[Column]: ...
    def partitioning(self, table: str) -> Sequence[str]: ...

    def more(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        """Small tables that are written because of what was found in the others."""

    def judge(self, table: str, tables: WrittenTables, limits: Thresholds) -> Sequence[Finding] | DataFrame | None:
        """The findings that a table gives once it is written; None where nothing is looked for in it alone."""

    def chapters(self, tables: WrittenTables, summary: Summary) -> Sequence[Chapter]:
        """What the report tells besides the findings."""


@dataclass
class Job:
    """One run over an input."""

    spark: SparkSession
    input: Input
    output: OutputDirectory
    tables: Sequence[str]
    report: Report = lambda stage, share: None
    limits: Thresholds = field(default_factory=Thresholds)
    format: str = "parquet"
    found: list[Finding] = field(default_factory=list)
    """The findings so far."""

    def __post_init__(self) -> None:
        self.written = WrittenTables(self.spark, self.output, format=self.format)
        self._judged: list[DataFrame] = []
        self._is_judged = False

    def run(self) -> Summary:
        """Write the tables, the report and the manifest; the result says what is in them."""
        started = time.time()
        files = self.input.files()
        if not files:
            raise PipelineError(self.input.nothing())
        summary = self.input.summary()
        for table in self.input.choices:
            if table in self.tables:
                summary.take(table, self._write_table(table))
                self._judge(table)
        return self._conclude(files, summary, started, "complete")

    def conclude(self, state: str = "complete") -> Summary:
        """Measure and judge tables that were written before, and write the rest; what `run` does with what it wrote."""
        started = time.time()
        self.found.clear()
        self._judged.clear()
        files = self.input.files()
        summary = self.input.summary()
        for table in self.input.choices:
            if self.written.has(table):
                rows = self.written.frame(table).withColumn("fault", F.lit(None).cast("string"))
                measured = rows.agg(F.count(F.lit(1)).alias("rows"), *self.input.measures(table)).collect()
                summary.take(table, measured[0].asDict())
                self._judge(table)
        return self._conclude(files, summary, started, state)

    def _conclude(self, files: Sequence[Mapping[str, Any]], summary: Summary, started: float, state: str) -> Summary:
        for table, frame in self.input.more(self.written, summary).items():
            self._write(table, frame.coalesce(1))
            self._judge(table)
        if self._is_judged:
            findings = findings_frame(self.spark, self.found)
            for frame in self._judged:
                findings = findings.unionByName(frame)
            self._write("findings", findings.repartition(1).sortWithinPartitions(worst_first(), "t0"))
        self._write_report(summary, self._shown_findings(summary), started)
        summary.seconds = round(time.time() - started, 3)
        self.output.write_manifest({"state": state, **self._manifest(files, summary, started)})
        return summary

    def _judge(self, table: str) -> None:
        judged = self.input.judge(table, self.written, self.limits)
        if judged is None:
            return
        self._is_judged = True
        if isinstance(judged, DataFrame):
            self._judged.append(judged)
        else:
            self.found += judged

    def _write_table(self, table: str) -> dict[str, Any]:
        observation = Observation(f"kafkawire {table}")
        rows = self.input.read(self.spark, table, _TASKS_EACH * self.spark.sparkContext.defaultParallelism)
        rows = rows.observe(observation, F.count(F.lit(1)).alias("rows"), *self.input.measures(table))
        self._write(table, self.input.sound(rows), self.input.partitioning(table))
        self.written.rows[table] = observation.get["rows"]
        return observation.get

    def _write(self, table: str, frame: DataFrame, partitioning: Sequence[str] = ()) -> None:
        path = self.output.table(table)
        run_watched(
            self.spark,
            lambda: frame.write.format(self.format).partitionBy(*partitioning).mode("overwrite").save(path),
            lambda share: self.report(table, share),
        )
        if partitioning and self.format == "parquet" and not self._has_partitions(table, partitioning[0]):
            # Partitioned and empty is a directory without a file, which nobody could read the columns from.
            self.spark.createDataFrame([], frame.schema).coalesce(1).write.mode("overwrite").parquet(path)
        self.written.add(table, frame.schema)

    def _has_partitions(self, table: str, column: str) -> bool:
        return any(name.startswith(f"{column}=") for name in self.output.storage.children(table))

    def _shown_findings(self, summary: Summary) -> list[dict[str, Any]] | None:
        """The first findings of each rule, the worst first, once all are counted; None where none were looked for."""
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
        chapters = run_watched(
            self.spark,
            lambda: self.input.chapters(self.written, summary),
            lambda share: self.report("report", share),
        )
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
    """The order of findings."""
    level = F.col("level")
    return F.when(level == "error", 0).when(level == "warning", 1).otherwise(2)
