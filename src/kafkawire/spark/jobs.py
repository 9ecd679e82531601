"""The pipeline over segments: log files in, Parquet tables, a manifest and a summary out.

Rules:
- `batches` has a row a batch, `records` a row a record; both hold only what is sound. What is not goes into `faults`,
  which is written only if there are any. `segment_files` and `index_errors` are written when asked for.
- Each table is written in one pass over the files, and counted in that same pass.
- Tables are partitioned by topic. Spark and others that read them guess the type of a partition column from its values:
  a lake whose only topic is called `2024` reads back a number unless the schema is given.
- The summary's numbers are those of the tables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyspark
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it

from kafkawire.spark.errors import PipelineError
from kafkawire.spark.listing import list_segments
from kafkawire.spark.segments import FORMAT
from kafkawire.spark.summary import Summary, batch_measures, formats_of, record_measures
from kafkawire.spark.tables import COLUMNS
from kafkawire.spark.watching import run_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.spark.listing import SegmentFile
    from kafkawire.spark.outputs import OutputDirectory

    Report = Callable[[str, float], None]

CHOICES: Final = ("batches", "records", "segment_files", "index_errors")
DEFAULT: Final = ("batches", "records")
_FAULT_COLUMNS: Final = ("topic", "partition", "file", "position", "size", "fault")
_FAULTS_SHOWN: Final = 20
# More tasks than processors: they end up busy alike, and progress shows.
_TASKS_EACH: Final = 3


@dataclass
class SegmentsJob:
    """One run over segment files."""

    spark: SparkSession
    paths: Sequence[str]
    output: OutputDirectory
    tables: Sequence[str] = DEFAULT
    mode: str = "PERMISSIVE"
    report: Report = lambda stage, share: None

    def run(self) -> Summary:
        """Write the tables and the manifest; the result says what is in them."""
        started = time.time()
        files = list_segments(self.paths)
        if not files:
            raise PipelineError(
                f"no segment files in {', '.join(self.paths)}; expected a partition's directory with files such as"
                " 00000000000000000000.log, or a directory of such directories"
            )
        summary = Summary.of_files(files)
        if "batches" in self.tables:
            summary.take_batches(self._write("batches", batch_measures()))
            summary.formats = formats_of(self.spark.read.parquet(str(self.output.table("batches"))))
        if "records" in self.tables:
            summary.take_records(self._write("records", record_measures()))
        for table in ("segment_files", "index_errors"):
            if table in self.tables:
                summary.take_rows(table, self._write(table, [F.count(F.lit(1)).alias("rows")]))
        if summary.faults:
            self._write_faults(summary)
        summary.seconds = round(time.time() - started, 3)
        self.output.write_manifest(self._manifest(files, summary, started))
        return summary

    def _source(self, table: str, columns: Sequence[str] = ()) -> DataFrame:
        reader = (
            self.spark.read.format(FORMAT)
            .option("table", table)
            .option("mode", self.mode)
            .option("minPartitions", str(_TASKS_EACH * self.spark.sparkContext.defaultParallelism))
        )
        if columns:
            reader = reader.schema(", ".join(f"`{name}` {COLUMNS[name].simpleString()}" for name in columns))
        return reader.load(list(self.paths))

    def _write(self, table: str, measures: Sequence[Column]) -> dict[str, Any]:
        observation = Observation(f"kafkawire {table}")
        rows = self._source(table).observe(observation, *measures)
        sound = rows.filter(F.col("fault").isNull()).drop("fault") if "fault" in rows.columns else rows
        path = str(self.output.table(table))
        run_watched(
            self.spark,
            lambda: sound.write.partitionBy("topic").mode("overwrite").parquet(path),
            lambda share: self.report(table, share),
        )
        if not any(self.output.table(table).glob("topic=*")):
            # Partitioned and empty is a directory without a file, which nobody could read the columns from.
            self.spark.createDataFrame([], sound.schema).coalesce(1).write.mode("overwrite").parquet(path)
        return observation.get

    def _write_faults(self, summary: Summary) -> None:
        """Faults of records include those of batches: what cannot be walked over cannot be decoded either."""
        table = "records" if "records" in self.tables else "batches"
        faults = self._source(table, _FAULT_COLUMNS).filter(F.col("fault").isNotNull())
        path = str(self.output.table("faults"))
        run_watched(
            self.spark,
            lambda: faults.coalesce(1).write.mode("overwrite").parquet(path),
            lambda share: self.report("faults", share),
        )
        written = self.spark.read.parquet(path)
        summary.faults = written.count()
        shown = written.orderBy("file", "position").limit(_FAULTS_SHOWN)
        summary.fault_examples = [row.asDict() for row in shown.collect()]

    def _manifest(self, files: Sequence[SegmentFile], summary: Summary, started: float) -> dict[str, Any]:
        written = [*self.tables, *(["faults"] if summary.faults else [])]
        return {
            "state": "complete",
            "spark": pyspark.__version__,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "source": {"kind": "segments", "paths": list(self.paths), "mode": self.mode},
            "tables": {
                table: {
                    "path": table,
                    "format": "parquet",
                    "rows": summary.rows_of(table),
                    "partitioned_by": [] if table == "faults" else ["topic"],
                }
                for table in written
            },
            "summary": summary.as_dict(),
            "files": [
                {"file": file.name, "bytes": file.size, "topic": file.topic, "partition": file.partition}
                for file in files
            ],
        }
