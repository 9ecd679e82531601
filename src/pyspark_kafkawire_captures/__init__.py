"""Where Spark finds the format `kafkawire-captures` by itself: it looks into every module named `pyspark_*`."""

from kafkawire.spark.captures import CapturesDataSource as DefaultSource

__all__ = ["DefaultSource"]
