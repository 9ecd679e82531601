"""The data sources of this package, and handing them to a session.

Spark finds them by itself where the package is installed (the `pyspark_kafkawire*` modules); registering saves that
search, and works where the package came by `--py-files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make the formats `kafkawire` (topics), `kafkawire-segments` and `kafkawire-captures` known to a session.

    >>> from kafkawire.spark import register
    >>> register(spark)  # doctest: +SKIP
    """
    from kafkawire.spark.captures import CapturesDataSource
    from kafkawire.spark.segments import SegmentsDataSource
    from kafkawire.spark.topics import TopicsDataSource

    spark.dataSource.register(SegmentsDataSource)
    spark.dataSource.register(CapturesDataSource)
    spark.dataSource.register(TopicsDataSource)
