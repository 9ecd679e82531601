"""An earlier home of `kafkawire.spark.Job`."""

from kafkawire.spark._pipeline.job import Input, Job

__all__ = ["Input", "Job"]
