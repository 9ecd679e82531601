"""The pipeline: an input's tables as Parquet, the findings about them, a report, a manifest and a summary.

Rules:
- What the input is, its `Input` knows: its tables, what is measured in them, and which findings they give. The job
  writes, watches and records, the same way for all.
- Each table is written in one pass over the input, and measured in that same pass. Rows that stand for what could not
  be read are measured, and kept out of the table.
- Tables are partitioned by topic where the input says so. Spark and others that read them guess the type of a
  partition column from its values: a lake whose only topic is called `2024` reads back a number unless the schema is
  given.
- Findings and report come from the tables as written, so their numbers are those of the tables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import pyspark
from pyspark.sql import Observation, Window
from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.spark.errors import PipelineError
from kafkawire.spark.report import write_report
from kafkawire.spark.watching import run_watched
from kafkawire.spark.written import WrittenTables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.spark.chapters import Chapter
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.summary import Summary

    Report = Callable[[str, float], None]

# More tasks than processors: they end up busy alike, and progress shows.
_TASKS_EACH: Final = 3
_SHOWN: Final = 200
_SHOWN_EACH: Final = 5


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

    def judge(self, tables: WrittenTables) -> DataFrame | None:
        """The findings that the tables give; None where the tables that it takes are not there."""

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
    _written: WrittenTables = field(init=False)

    def __post_init__(self) -> None:
        self._written = WrittenTables(self.spark, self.output)

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
        for table, frame in self.input.more(self._written, summary).items():
            self._write(table, frame.coalesce(1))
        findings = self.input.judge(self._written)
        if findings is not None:
            self._write("findings", findings.repartition(1).sortWithinPartitions(worst_first(), "t0"))
            summary.take_findings(self._count_findings())
        self._write_report(summary, started)
        summary.seconds = round(time.time() - started, 3)
        self.output.write_manifest(self._manifest(files, summary, started))
        return summary

    def _write_table(self, table: str) -> dict[str, Any]:
        observation = Observation(f"kafkawire {table}")
        rows = self.input.read(self.spark, table, _TASKS_EACH * self.spark.sparkContext.defaultParallelism)
        rows = rows.observe(observation, F.count(F.lit(1)).alias("rows"), *self.input.measures(table))
        self._write(table, self.input.sound(rows), self.input.partitioning(table))
        return observation.get

    def _write(self, table: str, frame: DataFrame, partitioning: Sequence[str] = ()) -> None:
        path = str(self.output.table(table))
        run_watched(
            self.spark,
            lambda: frame.write.partitionBy(*partitioning).mode("overwrite").parquet(path),
            lambda share: self.report(table, share),
        )
        if partitioning and not any(self.output.table(table).glob(f"{partitioning[0]}=*")):
            # Partitioned and empty is a directory without a file, which nobody could read the columns from.
            self.spark.createDataFrame([], frame.schema).coalesce(1).write.mode("overwrite").parquet(path)
        self._written.schemas[table] = frame.schema

    def _count_findings(self) -> dict[tuple[str, str], int]:
        rows = self._written.frame("findings").groupBy("level", "rule").count().collect()
        return {(row["level"], row["rule"]): row["count"] for row in rows}

    def _write_report(self, summary: Summary, started: float) -> None:
        findings = None
        if self._written.has("findings"):
            each = Window.partitionBy("level", "rule").orderBy("t0", "text")
            ranked = self._written.frame("findings").withColumn("rank", F.row_number().over(each))
            shown = ranked.filter(F.col("rank") <= _SHOWN_EACH).orderBy(worst_first(), "rule", "rank").drop("rank")
            findings = shown.limit(_SHOWN).toArrow().to_pylist()
        chapters = run_watched(
            self.spark,
            lambda: self.input.chapters(self._written, summary),
            lambda share: self.report("report", share),
        )
        write_report(self.output.report, self.input.describe(), summary, findings, chapters, started)

    def _manifest(self, files: Sequence[Mapping[str, Any]], summary: Summary, started: float) -> dict[str, Any]:
        return {
            "state": "complete",
            "spark": pyspark.__version__,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "source": self.input.describe(),
            "tables": {
                table: {
                    "path": table,
                    "format": "parquet",
                    "rows": summary.rows_of(table),
                    "partitioned_by": list(self.input.partitioning(table)),
                }
                for table in self._written.schemas
            },
            "report": self.output.report.name,
            "summary": summary.as_dict(),
            self.input.listed: list(files),
        }


def worst_first() -> Column:
    """The order of findings."""
    level = F.col("level")
    return F.when(level == "error", 0).when(level == "warning", 1).otherwise(2)
