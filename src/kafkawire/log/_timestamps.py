"""The search for records by time.

Rules:
- The time index of a segment gives the batch from which to look; a batch is unpacked to find the record.
- A batch that is large or compressed takes long to unpack. It is a step of its own, for another thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.log.errors import storage_errors
from kafkawire.records import read_batches
from kafkawire.records.layout import CODEC

if TYPE_CHECKING:
    from kafkawire.log._cleanup.steps import BackgroundWork
    from kafkawire.log._segment import Segment
    from kafkawire.log.partition import Partition
    from kafkawire.records import BatchHeader

SEARCHED_AT_ONCE: Final = 16 * 1024


class FoundTimestamp(NamedTuple):
    """A record found by time."""

    offset: int
    timestamp: int
    leader_epoch: int


def find_timestamp(log: Partition, timestamp: int) -> BackgroundWork[FoundTimestamp | None]:
    """The first record of a log whose timestamp is not before the one given."""
    start = log.log_start_offset
    with storage_errors(log.directory, "reading"):
        for segment in log.segments.starting_at(start):
            if segment.largest_timestamp < timestamp:
                continue
            first = segment.locate_time(timestamp)
            for batch in segment.batches(first.position) if first else ():
                if batch.max_timestamp >= timestamp and batch.last_offset >= start:
                    search = _Search(segment, batch, timestamp, start)
                    if batch.size > SEARCHED_AT_ONCE or batch.attributes & CODEC:
                        yield search.run
                    else:
                        search.run()
                    if search.found is not None:
                        return search.found
    return None


def find_largest_timestamp(log: Partition) -> BackgroundWork[FoundTimestamp | None]:
    """The first record of a log with the largest timestamp of all."""
    with storage_errors(log.directory, "reading"):
        segments = log.segments.starting_at(log.log_start_offset)
        largest = max((segment.largest_timestamp for segment in segments), default=-1)
    return (yield from find_timestamp(log, largest)) if largest >= 0 else None


class _Search:
    """The search for a time in one batch."""

    def __init__(self, segment: Segment, batch: BatchHeader, timestamp: int, start: int) -> None:
        self.found: FoundTimestamp | None = None
        self._file = segment.file
        self._batch = batch
        self._timestamp = timestamp
        self._start = start

    def run(self) -> None:
        data = self._file.read(self._batch.position, self._batch.size)
        for batch in read_batches(data, verify=False):
            for record in batch.records():
                if record.timestamp >= self._timestamp and record.offset >= self._start:
                    self.found = FoundTimestamp(record.offset, record.timestamp, batch.leader_epoch)
                    return
