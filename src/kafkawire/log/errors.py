"""What a log refuses, beyond what Kafka's own error classes can say.

Rules:
- Every refusal is one of Kafka's errors (`kafkawire.messages.errors`), so that a broker answers with its code as it is.
- A refused append has changed nothing: not the file, not the indexes, not the producers.
- `KafkaStorageError` is the only one that is not the caller's doing; its cause is the OSError.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.messages.errors import CorruptRecordError, InvalidRecordError, InvalidTimestampError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


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


def incomplete(position: int, total: int) -> CorruptRecordError:
    """The refusal of bytes that end before their batch does."""
    return CorruptRecordError(f"{total - position} bytes after the last whole batch, expected none")


def storage_error(path: Path, doing: str, error: OSError) -> KafkaStorageError:
    """The refusal that stands for a failing disk."""
    return KafkaStorageError(f"{path}: {doing} failed: {error.strerror or error} (errno {error.errno})")


@contextmanager
def storage_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn what a disk refuses into a KafkaStorageError."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, doing, error) from error
