"""The running queries of a stream: their progress, their failure, and their end.

Rules:
- Rows are counted once per batch: a trigger without data has the number of the next batch.
- A stop waits for the running trigger, up to a limit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkawire.spark._topics.options import duration
from kafkawire.spark._topics.progress import lag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_INTERVAL: Final = 0.2
_PATIENCE: Final = 10.0
_ENDING: Final = ("once", "available-now")


@dataclass(frozen=True)
class StreamState:
    """The state of a stream: rows since the start and per second by table, the lag, and the findings."""

    rows: Mapping[str, int]
    rates: Mapping[str, float]
    lag: Mapping[str, Mapping[int, int]]
    findings: Mapping[str, int] | None


class RunningQueries:
    """The queries of one stream, by name."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._queries: dict[str, StreamingQuery] = {}
        self._seen: dict[str, int] = {}
        self._heard: dict[str, str] = {}
        self._failure: Exception | None = None

    def add(self, name: str, query: StreamingQuery) -> None:
        self._queries[name] = query
        self.rows.setdefault(name, 0)

    def watch(self, is_stopped: Callable[[], bool], tell: Callable[[], None]) -> None:
        """Call `tell` until the queries end or `is_stopped` returns true; raises the failure of a query."""
        while not is_stopped():
            for query in self._queries.values():
                failure = query.exception()
                if failure is not None:
                    raise failure
            if not self.are_active():
                tell()
                return
            time.sleep(_INTERVAL)
            tell()

    def state(self, findings: Mapping[str, int] | None) -> StreamState:
        """The state now."""
        rates: dict[str, float] = {}
        lag: dict[str, dict[int, int]] = {}
        for name, query in self._queries.items():
            last = query.lastProgress
            if last is None:
                continue
            rates[name] = last.processedRowsPerSecond
            lag = lag_of(last) or lag
            if self._heard.get(name) != last.timestamp:
                self._heard[name] = last.timestamp
                self._count(name, query)
        return StreamState(dict(self.rows), rates, lag, findings)

    def are_active(self) -> bool:
        return any(query.isActive for query in self._queries.values())

    def stop(self) -> None:
        until = time.monotonic() + _PATIENCE
        for query in self._queries.values():
            while query.isActive and _is_busy(query) and time.monotonic() < until:
                time.sleep(_INTERVAL)
            if not query.isActive:
                self._failure = query.exception() or self._failure
            query.stop()

    def check(self) -> None:
        """Raise the failure of a query that had ended before it was stopped."""
        if self._failure is not None:
            raise self._failure

    def _count(self, name: str, query: StreamingQuery) -> None:
        for progress in query.recentProgress:
            if progress.numInputRows and progress.batchId > self._seen.get(name, -1):
                self._seen[name] = progress.batchId
                self.rows[name] += progress.numInputRows


def wait_for_tasks(spark: SparkSession) -> None:
    """Wait until no task runs, up to a limit: a cancelled task may still create a file after its query has stopped."""
    context: Any = spark.sparkContext._jsc.sc()
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if not any(each.numRunningTasks() for each in context.statusTracker().getExecutorInfos()):
            return
        time.sleep(_INTERVAL)


def triggered(rows: DataFrame, trigger: str) -> DataStreamWriter:
    """The writer of a stream that triggers as the option says."""
    if is_ending(trigger):
        return rows.writeStream.trigger(availableNow=True)
    return rows.writeStream.trigger(processingTime=f"{check_trigger(trigger)} milliseconds")


def is_ending(trigger: str) -> bool:
    """Whether a stream ends with the existing records."""
    return trigger in _ENDING


def check_trigger(text: str) -> int:
    """The milliseconds between triggers; 0 if a stream ends with the existing records, or never waits.

    >>> check_trigger("10s"), check_trigger("available-now")
    (10000, 0)
    """
    return 0 if text in _ENDING else round(1000 * duration("--trigger", text))


def _is_busy(query: StreamingQuery) -> bool:
    status: dict[str, Any] = query.status
    return bool(status["isTriggerActive"])
