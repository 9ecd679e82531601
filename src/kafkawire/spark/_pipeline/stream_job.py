"""The streaming pipeline: topics into tables, with one query per table.

Rules:
- Only the checkpoint records the position: a restarted stream continues exactly where it was. Tables and checkpoint
  belong together, so one without the other raises.
- An aborted trigger may leave files that belong to no batch. Spark ignores them, but other readers do not. They are
  removed when a stream starts and when it stops.
- Small files are merged between two triggers: the queries are stopped, the tables compacted, and the queries started
  again from their checkpoints. So no batch is ever written beside it. A compaction that fails leaves the tables as they
  were, and the stream goes on.
- Findings and report are rebuilt from the tables at the end. During the run they are rebuilt so rarely that it takes at
  most a tenth of the time.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kafkawire.spark._pipeline.compaction.choice import STAGING, TARGET
from kafkawire.spark._pipeline.compaction.tables import compact_table, is_compactable, unsupported
from kafkawire.spark._pipeline.job import Job
from kafkawire.spark._pipeline.progress import reason_of
from kafkawire.spark._pipeline.queries import RunningQueries, StreamState, is_ending, triggered, wait_for_tasks
from kafkawire.spark._pipeline.table_formats import FORMATS
from kafkawire.spark._topics.read_limits import HAS_LIMITS
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from kafkawire.inspect import Thresholds
    from kafkawire.spark._pipeline.inputs.topics import TopicsInput
    from kafkawire.spark._pipeline.output import OutputDirectory
    from kafkawire.spark._pipeline.storage import Storage
    from kafkawire.spark._pipeline.summary import Summary

_SHARE: Final = 10
_LEAST: Final = 60.0
_log = logging.getLogger("kafkawire.spark")


@dataclass
class StreamJob:
    """One stream over topics."""

    spark: SparkSession
    input: TopicsInput
    output: OutputDirectory
    tables: Sequence[str]
    checkpoint: Storage
    trigger: str
    limits: Thresholds
    format: str = "parquet"
    compact_every: float | None = None
    """The seconds between two compactions; None if small files stay."""
    file_size: int = TARGET
    tell: Callable[[StreamState], None] = lambda state: None
    _queries: RunningQueries = field(default_factory=RunningQueries)
    _schemas: dict[str, StructType] = field(default_factory=dict)
    _summary: Summary | None = None
    _due: float = 0.0
    _compact_at: float = math.inf
    _rows_compacted: int = 0

    def __post_init__(self) -> None:
        self._job = Job(self.spark, self.input, self.output, self.tables, limits=self.limits, format=self.format)

    def run(self, is_stopped: Callable[[], bool]) -> Summary:
        """Read until `is_stopped` returns true, or until all existing records are read, as the trigger says."""
        self._check_places()
        self._check_compaction()
        try:
            self._start()
            self._due = time.monotonic() + _LEAST
            self._watch(is_stopped)
            if not HAS_LIMITS and is_ending(self.trigger) and not is_stopped():
                self._start()  # PySpark 4.1 ends after the batch that was interrupted, if there was one
                self._queries.watch(is_stopped, self._tick)
        except (PySparkException, Py4JError) as failure:
            raise PipelineError(reason_of(failure)) from failure
        finally:
            self._queries.stop()
        self._tell()  # the batches that were completed meanwhile
        wait_for_tasks(self.spark)
        self._remove_leftovers()
        if not is_stopped():
            self._compact()
        return self._conclude("complete")

    def _watch(self, is_stopped: Callable[[], bool]) -> None:
        """Watch the queries until they end, and compact their tables in between."""
        while True:
            self._queries.watch(lambda: is_stopped() or time.monotonic() >= self._compact_at, self._tick)
            if is_stopped() or not self._queries.are_active():
                return
            if sum(self._queries.rows.values()) > self._rows_compacted:
                self._queries.stop()
                self._queries.check()
                wait_for_tasks(self.spark)
                self._remove_leftovers()
                self._compact()
                self._start()
            self._compact_at = time.monotonic() + (self.compact_every or math.inf)  # after a pause of any length

    def _check_compaction(self) -> None:
        if self.compact_every is None:
            return
        if not is_compactable(self.output.storage, self.format):
            raise PipelineError(unsupported(self.output.root))
        if not is_ending(self.trigger):  # one that ends compacts at its end
            self._compact_at = time.monotonic() + self.compact_every

    def _compact(self) -> None:
        if self.compact_every is None:
            return
        for table in self.tables:
            try:
                compact_table(self.output.storage, table, self.spark, self.file_size)
            except (PipelineError, OSError) as error:
                _log.warning("the small files of %s stay: %s", table, error)
        self._rows_compacted = sum(self._queries.rows.values())

    def _check_places(self) -> None:
        for table in self.tables:
            is_written = bool(self._committed(table))
            is_planned = bool(self.checkpoint.children(f"{table}/offsets"))  # a kill may come before the commit
            is_known = bool(self.checkpoint.children(f"{table}/commits"))
            if is_written and not is_planned:
                raise PipelineError(
                    f"{self.output.table(table)} was written, but {self.checkpoint.root} has no checkpoint of it:"
                    " a new read would repeat its rows; give another --out"
                )
            if is_known and not is_written:
                raise PipelineError(
                    f"{self.checkpoint.root} has a checkpoint of {table}, but {self.output.root} lacks the table:"
                    " continuing would lose its rows; give another --checkpoint"
                )

    def _start(self) -> None:
        self._remove_leftovers()
        for table in self.tables:
            # More tasks than processors would not be faster, and each leaves a file for each topic and trigger.
            rows = self.input.read_stream(self.spark, table).coalesce(self.spark.sparkContext.defaultParallelism)
            writer = (
                triggered(rows, self.trigger)
                .option("checkpointLocation", f"{self.checkpoint.root}/{table}")
                .queryName(f"kafkawire {table}")
            )
            self._schemas[table] = rows.schema
            partitioning = self.input.partitioning(table)
            chosen = FORMATS[self.format]
            self._queries.add(table, chosen.start(writer, rows, self.output.storage, table, partitioning))

    def _tell(self) -> None:
        self.tell(self._queries.state(None if self._summary is None else self._summary.findings))

    def _tick(self) -> None:
        self._tell()
        if time.monotonic() >= self._due and any(self._queries.rows.values()):
            started = time.monotonic()
            self._conclude("running")
            self._due = time.monotonic() + max(_LEAST, _SHARE * (time.monotonic() - started))

    def _remove_leftovers(self) -> None:
        """Remove files that are not in the list of files that Spark keeps in the directory of the table."""
        if self.format != "parquet":
            return
        self.output.storage.remove(STAGING)
        for table in self.tables:
            files = [name for name in self.output.storage.files(table) if name.endswith(".parquet")]
            kept: set[str] = set()
            if files and self._committed(table):
                frame = self.spark.read.schema("topic string").parquet(self.output.table(table))
                kept = {unquote(url).rpartition(f"/{table}/")[2] for url in frame.inputFiles()}
            for name in files:
                if name not in kept:
                    self.output.storage.remove(f"{table}/{name}")

    def _committed(self, table: str) -> list[str]:
        """The log entries of completed batches in the directory of a table."""
        return FORMATS[self.format].batches(self.output.storage, table)

    def _conclude(self, state: str) -> Summary:
        for table, schema in self._schemas.items():
            if self._committed(table):
                self._job.written.add(table, schema)
        self.input.look_at(self._job.written)
        self._summary = self._job.conclude(state)
        return self._summary
