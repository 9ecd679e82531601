"""An earlier home of `kafkawire.spark.SegmentsInput`."""

from kafkawire.spark._pipeline.inputs.segments import SegmentsInput

__all__ = ["SegmentsInput"]
