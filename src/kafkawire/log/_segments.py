"""The segments of a partition, in order: lookups across them, and adding and removing them.

Rules:
- Base offsets rise; a segment covers the offsets up to the next one's base. There is always at least one.
- Offsets may have gaps, within a segment and between two, where compaction removed records.
- A segment is renamed before it is removed, so that a stop in between does not leave a part of it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.log._segment import DELETED, Segment
from kafkawire.records import read_batches
from kafkawire.records.layout import CODEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.log._cleanup.steps import BackgroundWork
    from kafkawire.log._segment import FileRange
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.records import BatchHeader


SEARCHED_AT_ONCE: Final = 16 * 1024


class LocatedBatch(NamedTuple):
    """A batch and the segment it is in."""

    segment: Segment
    batch: BatchHeader


class FoundTimestamp(NamedTuple):
    """A record found by time."""

    offset: int
    timestamp: int
    leader_epoch: int


class Segments:
    """All segments of one partition."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def active(self) -> Segment:
        """The segment that grows."""
        return self._segments[-1]

    @property
    def sealed(self) -> list[Segment]:
        """The segments that do not grow."""
        return self._segments[:-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def end_of(self, segment: Segment, log_end: int) -> int:
        """The first offset after those that a segment covers."""
        number = self._segments.index(segment) + 1
        return self._segments[number].base_offset if number < len(self._segments) else log_end

    def starting_at(self, offset: int) -> list[Segment]:
        """The segment that covers an offset, and all after it."""
        number = bisect_right(self._segments, offset, key=_base_offset)
        return self._segments[max(0, number - 1) :]

    def locate(self, offset: int) -> LocatedBatch | None:
        """The first batch that ends at or after an offset."""
        if offset >= self.active.base_offset:
            batch = self.active.locate(offset)
            return LocatedBatch(self.active, batch) if batch else None
        for segment in self.starting_at(offset):
            batch = segment.locate(offset)
            if batch is not None:
                return LocatedBatch(segment, batch)
        return None

    def read(self, offset: int, max_bytes: int, limit: int, log_end: int, *, min_one_batch: bool) -> FileRange:
        """The bytes from the batch that holds an offset, up to the offset `limit`; see `Partition.read`."""
        place = self.locate(offset) if offset < limit else None
        if place is None or place.batch.base_offset >= limit:
            return self.active.range(self.active.size, 0)
        segment, batch = place
        end = self.position_of(segment, limit, log_end)
        length = min(max_bytes, end - batch.position)
        if min_one_batch:
            length = max(length, min(batch.size, end - batch.position))
        return segment.range(batch.position, length)

    def position_of(self, segment: Segment, offset: int, log_end: int) -> int:
        """The position of the first batch from an offset on; the size of the segment if there is none."""
        if offset >= log_end or offset >= self.end_of(segment, log_end):
            return segment.size
        batch = segment.locate(offset)
        return batch.position if batch else segment.size

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Aborted transactions with records between two offsets, by their markers."""
        found = []
        for segment in self.starting_at(start):
            for entry in segment.aborted.entries:
                if entry.last_offset >= start and entry.first_offset < end:
                    found.append(entry)
                if entry.last_stable_offset >= end:
                    return found
        return found

    def find_timestamp(self, timestamp: int, start: int) -> BackgroundWork[FoundTimestamp | None]:
        """The first record from an offset on whose timestamp is not before the one given.

        Batches that are slow to unpack are searched in steps.
        """
        for segment in list(self.starting_at(start)):
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

    def find_largest_timestamp(self, start: int) -> BackgroundWork[FoundTimestamp | None]:
        """The first record with the largest timestamp of all."""
        largest = max((segment.largest_timestamp for segment in self.starting_at(start)), default=-1)
        return (yield from self.find_timestamp(largest, start)) if largest >= 0 else None

    def add(self, segment: Segment) -> None:
        self._segments.append(segment)

    def detach(self, segments: Iterable[Segment]) -> None:
        """Take segments out of the log; their files get names that a restart removes."""
        gone = list(segments)
        for segment in gone:
            segment.rename("", DELETED)
        self._segments = [segment for segment in self._segments if segment not in gone]

    def drop(self, segments: Iterable[Segment]) -> None:
        """Remove segments and their files."""
        gone = list(segments)
        self.detach(gone)
        for segment in gone:
            segment.remove()

    def replace(self, old: list[Segment], new: list[Segment]) -> None:
        """Replace neighbouring segments by others; the caller handles the files."""
        number = self._segments.index(old[0])
        self._segments[number : number + len(old)] = new


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


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
