"""Where Spark finds the format `kafkawire` by itself: it looks into every module named `pyspark_*`."""

from kafkawire.spark.topics import TopicsDataSource as DefaultSource

__all__ = ["DefaultSource"]
