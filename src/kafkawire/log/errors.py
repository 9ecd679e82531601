"""Errors of a log that carry more than Kafka's own error classes.

Rules:
- Every error of a running log is one of Kafka's (`kafkawire.messages.errors`), so a broker answers with its code.
- A refused append changes nothing: neither the file, nor the indexes, nor the producers.
- `KafkaStorageError` is the only error that the caller did not cause; its cause is the OSError.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import InvalidRecordError, InvalidTimestampError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class NotALogError(KafkaWireError):
    """A path that names neither a file of a log nor a directory of logs."""


@dataclass(frozen=True, slots=True)
class RecordError:
    """One record that made its batch unacceptable: its index in the batch, and why."""

    index: int
    message: str


class RefusedRecordsError(InvalidRecordError):
    """INVALID_RECORD, with the records at fault."""

    def __init__(self, message: str, records: Sequence[RecordError] = ()) -> None:
        super().__init__(message)
        self.records = tuple(records)


class RefusedTimestampsError(InvalidTimestampError):
    """INVALID_TIMESTAMP, with the records at fault."""

    def __init__(self, message: str, records: Sequence[RecordError] = ()) -> None:
        super().__init__(message)
        self.records = tuple(records)


def storage_error(path: Path, doing: str, error: OSError) -> KafkaStorageError:
    """The error for a failing disk."""
    return KafkaStorageError(f"{path}: {doing} failed: {error.strerror or error} (errno {error.errno})")


@contextmanager
def storage_errors(path: Path, doing: str) -> Iterator[None]:
    """Convert an OSError into a KafkaStorageError."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, doing, error) from error
