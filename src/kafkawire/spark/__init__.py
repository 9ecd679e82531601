"""Kafka's data on Spark: data sources, and the pipeline that turns topics, log files and captures into tables.

- `build_session(master="local[*]", *, app_name, settings, defaults, log_file) -> SparkSession`: starts Spark.
- `register(spark)`: registers the formats `kafkawire` (topics), `kafkawire-segments` and `kafkawire-captures`.
- `Job(spark, input, output, tables).run() -> Summary`: the work of `kafkawire pipeline run`. The input is a
  `TopicsInput(options)`, a `SegmentsInput(paths)` or a `CapturesInput(paths)`. `StreamJob` does the same as a stream.
- `LagListener`, `lag_of(progress)`, `behind_latest(progress)`, `describe_sources(progress)`: the lag of a stream.

Importing this package does not import Spark.
"""

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked
from kafkawire.spark.errors import (
    CorruptSegmentError,
    DataLossError,
    JavaNotFoundError,
    PipelineError,
    SessionError,
    SinkError,
    SourceOptionError,
    SparkError,
)
from kafkawire.spark.session import build_session, register

if TYPE_CHECKING:
    from kafkawire.spark._captures.source import CapturesDataSource
    from kafkawire.spark._exactly_once.recovery import open_decisions, recover_sink
    from kafkawire.spark._options import size as parse_size
    from kafkawire.spark._pipeline.compaction.tables import compact_table, format_of, is_compactable
    from kafkawire.spark._pipeline.inputs.captures import CapturesInput, CapturesSummary
    from kafkawire.spark._pipeline.inputs.segments import SegmentsInput
    from kafkawire.spark._pipeline.inputs.topics import TopicsInput, TopicsSummary, topic_options
    from kafkawire.spark._pipeline.job import Input, Job
    from kafkawire.spark._pipeline.output import LOG as PIPELINE_LOG
    from kafkawire.spark._pipeline.output import OutputDirectory
    from kafkawire.spark._pipeline.progress import TaskCount, run_interruptible
    from kafkawire.spark._pipeline.queries import StreamState, check_trigger
    from kafkawire.spark._pipeline.storage import HadoopStorage, LocalStorage, Storage, is_url
    from kafkawire.spark._pipeline.stream_job import StreamJob
    from kafkawire.spark._pipeline.summary import SegmentsSummary, Summary, readable_time
    from kafkawire.spark._pipeline.table_formats import settings_of
    from kafkawire.spark._pipeline.topic_job import TopicJob, TopicJobSummary
    from kafkawire.spark._segments.source import SegmentsDataSource
    from kafkawire.spark._topics.options import duration
    from kafkawire.spark._topics.progress import LagListener, behind_latest, describe_sources, lag_of
    from kafkawire.spark._topics.source import TopicsDataSource


__all__ = [
    "CapturesInput",
    "CorruptSegmentError",
    "DataLossError",
    "JavaNotFoundError",
    "Job",
    "LagListener",
    "PipelineError",
    "SegmentsInput",
    "SessionError",
    "SinkError",
    "SourceOptionError",
    "SparkError",
    "StreamJob",
    "TopicsInput",
    "behind_latest",
    "build_session",
    "describe_sources",
    "lag_of",
    "register",
]


_HOMES = {
    "Job": "_pipeline.job",
    "StreamJob": "_pipeline.stream_job",
    "TopicsInput": "_pipeline.inputs.topics",
    "SegmentsInput": "_pipeline.inputs.segments",
    "CapturesInput": "_pipeline.inputs.captures",
    "LagListener": "_topics.progress",
    "behind_latest": "_topics.progress",
    "describe_sources": "_topics.progress",
    "lag_of": "_topics.progress",
}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "CapturesDataSource": "_captures.source",
    "CapturesSummary": "_pipeline.inputs.captures",
    "HadoopStorage": "_pipeline.storage",
    "Input": "_pipeline.job",
    "LocalStorage": "_pipeline.storage",
    "OutputDirectory": "_pipeline.output",
    "PIPELINE_LOG": "_pipeline.output:LOG",
    "SegmentsDataSource": "_segments.source",
    "SegmentsSummary": "_pipeline.summary",
    "Storage": "_pipeline.storage",
    "StreamState": "_pipeline.queries",
    "Summary": "_pipeline.summary",
    "TaskCount": "_pipeline.progress",
    "TopicJob": "_pipeline.topic_job",
    "TopicJobSummary": "_pipeline.topic_job",
    "TopicsDataSource": "_topics.source",
    "TopicsSummary": "_pipeline.inputs.topics",
    "check_trigger": "_pipeline.queries",
    "compact_table": "_pipeline.compaction.tables",
    "duration": "_topics.options",
    "format_of": "_pipeline.compaction.tables",
    "is_compactable": "_pipeline.compaction.tables",
    "is_url": "_pipeline.storage",
    "open_decisions": "_exactly_once.recovery",
    "parse_size": "_options:size",
    "readable_time": "_pipeline.summary",
    "recover_sink": "_exactly_once.recovery",
    "run_interruptible": "_pipeline.progress",
    "settings_of": "_pipeline.table_formats",
    "topic_options": "_pipeline.inputs.topics",
}

if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)
