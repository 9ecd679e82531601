"""The format `kafkawire` for Spark, which looks into every module named `pyspark_*`."""

from kafkawire.spark import TopicsDataSource as DefaultSource

__all__ = ["DefaultSource"]
