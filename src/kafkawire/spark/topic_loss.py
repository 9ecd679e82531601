"""Data that is gone before it was read: an error, or a warning and a gap, as `failOnDataLoss` says."""

from __future__ import annotations

import logging

from kafkawire.spark.errors import SparkError

_log = logging.getLogger("kafkawire.spark")


class DataLossError(SparkError):
    """Offsets, partitions or topics that should have been read are not there any more."""


def report_loss(problem: str, *, fail: bool) -> None:
    """Raise, or warn and let the caller go on with what is there."""
    if fail:
        raise DataLossError(
            f"{problem}. It may have been deleted by retention, or the topic deleted or made anew, before it was read;"
            " set failOnDataLoss to false to go on with what is there"
        )
    _log.warning("%s; going on, since failOnDataLoss is false", problem)
