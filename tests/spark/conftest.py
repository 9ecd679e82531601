"""Fixtures of all Spark tests."""

from tests.spark.shared_session import spark

__all__ = ["spark"]
