"""The format `kafkawire-segments` for Spark, which looks into every module named `pyspark_*`."""

from kafkawire.spark import SegmentsDataSource as DefaultSource

__all__ = ["DefaultSource"]
