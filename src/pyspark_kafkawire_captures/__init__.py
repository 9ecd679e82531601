"""The format `kafkawire-captures` for Spark, which looks into every module named `pyspark_*`."""

from kafkawire.spark import CapturesDataSource as DefaultSource

__all__ = ["DefaultSource"]
