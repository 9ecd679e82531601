"""What the Spark layer refuses, and why."""

from __future__ import annotations

from kafkawire.exceptions import KafkaWireError


class SparkError(KafkaWireError):
    """Anything the Spark layer refuses."""


class JavaNotFoundError(SparkError):
    """No Java runtime that Spark could run on."""


class SessionError(SparkError):
    """Spark did not start."""


class SourceOptionError(SparkError):
    """An option, path or column of a data source that makes no sense."""


class CorruptSegmentError(SparkError):
    """Bytes of a segment file that could not be read, where the reader was told to fail."""

    def __init__(self, file: str, position: int, problem: str) -> None:
        super().__init__(file, position, problem)
        self.file = file
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.file}, batch at byte {self.position}: {self.problem}"


class PipelineError(SparkError):
    """A pipeline run that could not start or did not finish."""
