"""Where Spark finds the format `kafkawire-segments` by itself: it looks into every module named `pyspark_*`."""

from kafkawire.spark.segments import SegmentsDataSource as DefaultSource

__all__ = ["DefaultSource"]
