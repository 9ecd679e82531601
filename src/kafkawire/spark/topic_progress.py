"""How far behind a stream is; an earlier home of `kafkawire.spark.LagListener`."""

from kafkawire.spark._topics.progress import LagListener, lag_of

__all__ = ["LagListener", "lag_of"]
