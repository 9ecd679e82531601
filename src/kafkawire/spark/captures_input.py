"""An earlier home of `kafkawire.spark.CapturesInput`."""

from kafkawire.spark._pipeline.inputs.captures import CapturesInput

__all__ = ["CapturesInput"]
