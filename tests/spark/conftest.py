"""What the Spark tests share."""

from tests.spark.running import spark

__all__ = ["spark"]
