"""An earlier home of `kafkawire.spark.TopicsInput`."""

from kafkawire.spark._pipeline.inputs.topics import TopicsInput

__all__ = ["TopicsInput"]
