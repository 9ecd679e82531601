"""Errors of the Spark layer."""

from __future__ import annotations

from kafkawire.exceptions import KafkaWireError


class SparkError(KafkaWireError):
    """The base of all errors of the Spark layer."""


class JavaNotFoundError(SparkError):
    """No Java runtime that Spark could run on."""


class SessionError(SparkError):
    """Spark did not start."""


class SourceOptionError(SparkError):
    """An invalid option, path or column of a data source."""


class DataLossError(SparkError):
    """Offsets, partitions or topics that should have been read no longer exist."""


class SinkError(SparkError):
    """An exactly-once write that was not committed, or whose result is not known."""


class CorruptSegmentError(SparkError):
    """Bytes of a segment file that could not be read, in mode FAILFAST."""

    def __init__(self, file: str, position: int, problem: str) -> None:
        super().__init__(file, position, problem)
        self.file = file
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.file}, batch at byte {self.position}: {self.problem}"


class PipelineError(SparkError):
    """A pipeline run that could not start or did not finish."""
