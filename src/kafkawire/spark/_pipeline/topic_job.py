"""A stream from topics to topics, with a query in SQL in between.

Rules:
- The query reads the view `records`, with the columns of the format `kafkawire` and headers. Its rows are written as
  that format writes them: `value`, and optionally `key`, `headers`, `partition` and `topic`.
- The target overrides a column `topic`. `{topic}` in the target is the name of the topic that a record comes from,
  which the query must keep as its column `topic`.
- Delivery is exactly once unless chosen otherwise. Records of aborted transactions are then not read, unless an option
  says so.
- Only the checkpoint records the position: a restarted stream continues exactly where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.spark._pipeline.progress import reason_of
from kafkawire.spark._pipeline.queries import RunningQueries, StreamState, triggered
from kafkawire.spark._topics.options import FORMAT
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

COPY: Final = "SELECT key, value, headers, topic FROM records"
VIEW: Final = "records"
PLACEHOLDER: Final = "{topic}"
_ISOLATION: Final = "kafka.isolation.level"
_GUARANTEE: Final = "deliveryGuarantee"


@dataclass(frozen=True)
class TopicJobSummary:
    """The numbers of a stream to topics."""

    target: str
    rows: int

    def as_dict(self) -> dict[str, Any]:
        return {"target": self.target, "rows": self.rows}


@dataclass
class TopicJob:
    """One stream from topics to topics; options are those of the format for reading and for writing."""

    spark: SparkSession
    source: Mapping[str, str]
    target: str
    sink: Mapping[str, str]
    checkpoint: str
    trigger: str
    query: str = COPY
    tell: Callable[[StreamState], None] = lambda state: None
    _queries: RunningQueries = field(default_factory=RunningQueries)

    def run(self, is_stopped: Callable[[], bool]) -> TopicJobSummary:
        """Write until `is_stopped` returns true, or until all existing records are written, as the trigger says."""
        try:
            self._start()
            self._queries.watch(is_stopped, lambda: self.tell(self._queries.state(None)))
        except (PySparkException, Py4JError) as failure:
            raise PipelineError(reason_of(failure)) from failure
        finally:
            self._queries.stop()
        self.tell(self._queries.state(None))
        return TopicJobSummary(self.target, sum(self._queries.rows.values()))

    def _start(self) -> None:
        given = {name.lower() for name in self.source}
        own = {"startingOffsets": "earliest", "includeHeaders": "true"}
        if self.sink.get(_GUARANTEE) == "exactly-once" and _ISOLATION not in given:
            own[_ISOLATION] = "read_committed"
        rows = self.spark.readStream.format(FORMAT).options(**{**own, **self.source}).load()
        rows.createOrReplaceTempView(VIEW)
        writer = triggered(self._named(self.spark.sql(self.query)), self.trigger).format(FORMAT)
        options = {**self.sink, "checkpointLocation": self.checkpoint}
        if PLACEHOLDER not in self.target:
            options["topic"] = self.target
        self._queries.add(self.target, writer.options(**options).queryName(f"kafkawire to {self.target}").start())

    def _named(self, rows: DataFrame) -> DataFrame:
        if PLACEHOLDER not in self.target:
            return rows
        if "topic" not in rows.columns:
            raise PipelineError(
                f"the target {self.target!r} has {PLACEHOLDER}, but the query has no column topic; it has"
                f" {', '.join(rows.columns)}"
            )
        return rows.withColumn("topic", F.replace(F.lit(self.target), F.lit(PLACEHOLDER), F.col("topic")))
