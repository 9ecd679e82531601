"""The pipeline that does not end: topics into tables, trigger by trigger, each table by a query of its own.

Rules:
- What was read is in the checkpoint, and only there: a stream that is started again goes on exactly where it was. The
  tables and the checkpoint belong together, so one without the other is refused.
- A trigger that was cut short may leave files behind that belong to no batch. Spark knows which do, other readers do
  not: so they are removed when a stream starts and when it stops.
- A stop lets the trigger that runs come to its end, for a while.
- Findings and report are made anew from the tables, at the end and now and then: seldom enough that it takes at most a
  tenth of the time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kafkawire.spark.errors import PipelineError
from kafkawire.spark.jobs import Job
from kafkawire.spark.topic_options import duration
from kafkawire.spark.topic_progress import lag_of
from kafkawire.spark.watching import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from kafkawire.inspect.diagnose import Thresholds
    from kafkawire.spark.outputs import OutputDirectory
    from kafkawire.spark.storage import Storage
    from kafkawire.spark.summary import Summary
    from kafkawire.spark.topics_input import TopicsInput

_INTERVAL: Final = 0.2
_PATIENCE: Final = 10.0
_SHARE: Final = 10
_LEAST: Final = 60.0
_ENDING: Final = ("once", "available-now")
_LOGS: Final = {"parquet": "_spark_metadata", "delta": "_delta_log"}


@dataclass(frozen=True)
class StreamState:
    """How far a stream is: of each table the rows since it started and those a second, and what is left to read."""

    rows: Mapping[str, int]
    rates: Mapping[str, float]
    lag: Mapping[str, Mapping[int, int]]
    findings: Mapping[str, int] | None


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
    tell: Callable[[StreamState], None] = lambda state: None
    _queries: dict[str, StreamingQuery] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)
    _heard: dict[str, str] = field(default_factory=dict)
    _schemas: dict[str, StructType] = field(default_factory=dict)
    _summary: Summary | None = None

    def __post_init__(self) -> None:
        self._job = Job(self.spark, self.input, self.output, self.tables, limits=self.limits, format=self.format)

    def run(self, is_stopped: Callable[[], bool]) -> Summary:
        """Read until told to stop, or until everything is read where the trigger says so."""
        self._check_places()
        try:
            self._start()
            self._watch(is_stopped)
        except (PySparkException, Py4JError) as failure:
            raise PipelineError(reason_of(failure)) from failure
        finally:
            self._stop()
        self._remove_leftovers()
        return self._conclude("complete")

    def _check_places(self) -> None:
        for table in self.tables:
            is_written = bool(self._committed(table))
            is_known = bool(self.checkpoint.children(f"{table}/commits"))
            if is_written and not is_known:
                raise PipelineError(
                    f"{self.output.table(table)} was written, but {self.checkpoint.root} has no checkpoint of it:"
                    " reading anew would repeat it; give another --out"
                )
            if is_known and not is_written:
                raise PipelineError(
                    f"{self.checkpoint.root} has a checkpoint of {table}, but {self.output.root} lacks the table:"
                    " going on would leave out what it held; give another --checkpoint"
                )

    def _start(self) -> None:
        self._remove_leftovers()
        for table in self.tables:
            rows = self.input.read_stream(self.spark, table)
            writer = (
                rows.writeStream.format(self.format)
                .partitionBy(*self.input.partitioning(table))
                .option("checkpointLocation", f"{self.checkpoint.root}/{table}")
                .queryName(f"kafkawire {table}")
            )
            if self.trigger in _ENDING:
                writer = writer.trigger(availableNow=True)
            else:
                writer = writer.trigger(processingTime=f"{check_trigger(self.trigger)} milliseconds")
            self._schemas[table] = rows.schema
            self._queries[table] = writer.start(self.output.table(table))
            self._rows[table] = 0

    def _watch(self, is_stopped: Callable[[], bool]) -> None:
        due = time.monotonic() + _LEAST
        while not is_stopped():
            for query in self._queries.values():
                failure = query.exception()
                if failure is not None:
                    raise failure
            if not any(query.isActive for query in self._queries.values()):
                self._tell()
                return
            time.sleep(_INTERVAL)
            self._tell()
            if time.monotonic() >= due and any(self._rows.values()):
                started = time.monotonic()
                self._conclude("running")
                due = time.monotonic() + max(_LEAST, _SHARE * (time.monotonic() - started))

    def _tell(self) -> None:
        rates: dict[str, float] = {}
        lag: dict[str, dict[int, int]] = {}
        for table, query in self._queries.items():
            last = query.lastProgress
            if last is None:
                continue
            rates[table] = last.processedRowsPerSecond
            lag = lag_of(last) or lag
            if self._heard.get(table) != last.timestamp:
                self._heard[table] = last.timestamp
                self._count(table, query)
        findings = None if self._summary is None else self._summary.findings
        self.tell(StreamState(dict(self._rows), rates, lag, findings))

    def _count(self, table: str, query: StreamingQuery) -> None:
        """Add the rows of batches that are new; a trigger without data has the number of the batch that comes next."""
        for progress in query.recentProgress:
            if progress.numInputRows and progress.batchId > self._seen.get(table, -1):
                self._seen[table] = progress.batchId
                self._rows[table] += progress.numInputRows

    def _stop(self) -> None:
        until = time.monotonic() + _PATIENCE
        for query in self._queries.values():
            while query.isActive and _is_busy(query) and time.monotonic() < until:
                time.sleep(_INTERVAL)
            query.stop()

    def _remove_leftovers(self) -> None:
        """Remove files that Spark does not count to a table; it keeps its list in the table's directory."""
        if self.format != "parquet":
            return
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
        """What the table's directory says of batches that are whole."""
        log = _LOGS[self.format]
        return [name for name in self.output.storage.children(f"{table}/{log}") if name[0].isdigit()]

    def _conclude(self, state: str) -> Summary:
        for table, schema in self._schemas.items():
            if self._committed(table):
                self._job.written.add(table, schema)
        self.input.look_at(self._job.written)
        self._summary = self._job.conclude(state)
        return self._summary


def check_trigger(text: str) -> int:
    """How many milliseconds lie between triggers; 0 where a stream ends with what there is, or never waits.

    >>> check_trigger("10s"), check_trigger("available-now")
    (10000, 0)
    """
    return 0 if text in _ENDING else round(1000 * duration("--trigger", text))


def _is_busy(query: StreamingQuery) -> bool:
    status: dict[str, Any] = query.status
    return bool(status["isTriggerActive"])
