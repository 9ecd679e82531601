"""Kafka's data on Spark: data sources, and the pipeline that turns topics, log files and captures into tables.

- `build_session(master="local[*]", *, app_name, settings, defaults, log_file) -> SparkSession`: starts Spark.
- `register(spark)`: the formats `kafkawire` (topics), `kafkawire-segments` and `kafkawire-captures` from here on.
- `kafkawire.spark.jobs.Job(spark, input, output, tables).run() -> Summary`: what `kafkawire pipeline run` does; the
  input is a `topics_input.TopicsInput(options)`, a `segments_input.SegmentsInput(paths)` or a
  `captures_input.CapturesInput(paths)`.

Importing this package does not import Spark.
"""

from kafkawire.spark.errors import (
    CorruptSegmentError,
    JavaNotFoundError,
    PipelineError,
    SessionError,
    SourceOptionError,
    SparkError,
)
from kafkawire.spark.registration import register
from kafkawire.spark.session import build_session
from kafkawire.spark.topic_loss import DataLossError

__all__ = [
    "CorruptSegmentError",
    "DataLossError",
    "JavaNotFoundError",
    "PipelineError",
    "SessionError",
    "SourceOptionError",
    "SparkError",
    "build_session",
    "register",
]
