"""The segments of a partition: log files with their indexes, in the order of their offsets.

Rules:
- Base offsets rise; a segment covers the offsets up to the next one's base. There is always at least one.
- Offsets may have gaps, within a segment and between two, where compaction removed records.
- Only the last segment grows. Its size is kept in memory: bytes that a failed write left after it are cut off before
  the next write.
- Files are renamed before they are removed, so that a stop in between does not leave a part of a segment. A restart
  removes those named `.deleted`.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._position_index import INDEX, TIME_INDEX, BatchSummary, Mark, PositionIndex
from kafkawire.log._txn_index import AbortedIndex
from kafkawire.log.storage.files import FileRange
from kafkawire.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kafkawire.log._admission import AdmittedBatch
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import Bytes, Entry, File, FileSystem
    from kafkawire.records import BatchHeader

LOG, ABORTED = ".log", ".txnindex"
SUFFIXES = (LOG, INDEX, TIME_INDEX, ABORTED)
DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
MAX_RELATIVE_OFFSET = 2**31 - 1


def stem(offset: int) -> str:
    """The name of a segment's files without the suffix.

    >>> stem(42)
    '00000000000000000042'
    """
    return f"{offset:020d}"


class Segment:
    """A log file and its indexes."""

    def __init__(
        self,
        files: FileSystem,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        now: int,
        *,
        found: Mapping[str, Entry] | None = None,
        suffix: str = "",
    ) -> None:
        self.base_offset = base_offset
        self.path = directory / (stem(base_offset) + LOG + suffix)
        self.created_ms = now
        self.is_durable = found is not None
        """Whether names and indexes would survive a power cut. For the log file, see `Durability`."""
        self._files = files
        log = found.get(self.path.name) if found else None
        self.size = log.size if log else 0
        self.modified_ms = log.modified_ms if log else now
        self._lookup = PositionIndex(files, self.path, base_offset, config, found)
        aborted = directory / (stem(base_offset) + ABORTED + suffix)
        self.aborted = AbortedIndex(files, aborted, exists=found is not None and aborted.name in found)
        self._first_timestamp = -1
        self._torn = False
        self._held: list[Bytes] = []
        self._held_size = 0
        self._before_held: Mark | None = None

    def __repr__(self) -> str:
        return f"Segment({self.path.name}, {self.size} bytes)"

    @property
    def file(self) -> File:
        return self._files.open(self.path)

    @property
    def lookup(self) -> PositionIndex:
        if not self._lookup.is_checked:
            self._lookup.check(self.size)
        return self._lookup

    @property
    def largest_timestamp(self) -> int:
        return self.lookup.largest.timestamp

    @property
    def first_timestamp(self) -> int:
        """The timestamp of the first batch, which gives the segment's age; -1 if it has none."""
        if self._first_timestamp < 0 and self.size:
            first = next(self.batches(), None)
            self._first_timestamp = first.max_timestamp if first else -1
        return self._first_timestamp

    def has_room(self, size: int, timestamp: int, last_offset: int, now: int, config: LogConfig) -> bool:
        """Whether batches may be added: their size, largest timestamp and last offset against the settings."""
        if not self.size:
            return True
        first = self.first_timestamp
        waited = timestamp - first if first >= 0 and timestamp >= 0 else now - self.created_ms
        return (
            self.size + size <= config.segment_bytes
            and waited <= config.segment_ms
            and not self.lookup.is_full
            and last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
        )

    def has_room_for_each(self, batches: Sequence[AdmittedBatch], offset: int, now: int, config: LogConfig) -> bool:
        """Whether `has_room` holds for each of some batches, when those before it are added."""
        stamps = [batch.max_timestamp for batch in batches]
        newest, count = max(stamps), len(batches)
        if not self.size or not self.lookup.has_room(count) or min(stamps) < 0 <= newest:
            return False
        size = sum([batch.size for batch in batches])
        last = offset + sum([batch.last_offset_delta for batch in batches]) + count - 1
        return self.has_room(size, newest, last, now, config)

    def create(self) -> None:
        """Create the files; after a failure there are none, or a clean start would end the log there."""
        try:
            self._files.open(self.path, create=True)
            self._lookup.create()
        except OSError:
            with suppress(OSError):
                self.remove()
            raise

    def append(self, parts: Sequence[Bytes], batches: Iterable[BatchSummary]) -> None:
        """Write batches in one call, and index them; a failure changes nothing."""
        lookup = self.lookup  # checked before there are bytes that it does not know
        if self._torn:
            self.mend()
        try:
            self._files.open(self.path).write(self.size, parts)
        except OSError:
            self._torn = True
            with suppress(OSError):
                self.mend()
            raise
        self.size = lookup.note(self.size, batches)

    def hold(self, parts: Sequence[Bytes], batches: Sequence[BatchSummary]) -> None:
        """Add batches and index them; `write_held` writes them together with the others that are held."""
        lookup = self.lookup
        if self._before_held is None:
            self._before_held = lookup.mark()
        if not self.size:
            self._first_timestamp = batches[0][2]  # the file does not have it yet
        self._held += parts
        before = self.size
        self.size = lookup.note(before, batches)
        self._held_size += self.size - before

    def write_held(self) -> None:
        """Write the held batches; after a failure none of them is in the segment, whatever else the disk refuses."""
        start, parts, before = self.size - self._held_size, self._held, self._before_held
        try:
            self.mend()
            self.file.write(start, parts)
        except OSError:
            self.size, self._torn, self._held_size = start, True, 0
            if before is not None:
                self._lookup.restore(before)
            if not start:
                self._first_timestamp = -1
            with suppress(OSError):
                self.mend()
            raise
        finally:
            self._held, self._held_size, self._before_held = [], 0, None

    def note(self, batches: Iterable[BatchSummary]) -> None:
        """Add batches that are already in the file to the segment and its indexes."""
        self.size = self._lookup.note(self.size, batches)

    def mend(self) -> None:
        """Cut off the bytes that a failed write left."""
        if self._torn:
            self.file.truncate(self.size - self._held_size)
            self._torn = False

    def batches(self, position: int = 0) -> Iterator[BatchHeader]:
        """The headers from a position on."""
        return headers(self.file, position, self.size)

    def locate(self, offset: int) -> BatchHeader | None:
        """The first batch that ends at or after an offset."""
        entry = self.lookup.by_offset(offset)
        end = entry.position
        for header in self.batches(entry.position):
            if header.base_offset > entry.offset and header.position == entry.position > 0:
                break
            if header.last_offset >= offset:
                return header
            end = header.end
        if end == self.size or not entry.position:
            return None
        self.rebuild_indexes()
        return next((header for header in self.batches() if header.last_offset >= offset), None)

    def locate_time(self, timestamp: int) -> BatchHeader | None:
        """The first batch that holds a timestamp as late as this one."""
        if self.largest_timestamp < timestamp:
            return None
        start = self.lookup.by_time(timestamp)
        return next((header for header in self.batches(start.position) if header.max_timestamp >= timestamp), None)

    def last_batch(self) -> BatchHeader | None:
        """The last batch; None if there is none, or if the file does not end with a whole one."""
        last = None
        if not self.size:
            return None
        for header in self.batches(self.lookup.last_position):
            last = header
        return last if last is not None and last.end == self.size else None

    def range(self, position: int, length: int) -> FileRange:
        return FileRange(self.file, self.path, position, length)

    def truncate(self, position: int, offset: int) -> None:
        """Truncate the file at a batch's position; `offset` is the first one removed."""
        lookup = self.lookup
        self.file.truncate(position)
        self.size = position
        self._torn = False
        lookup.truncate(position, offset)
        self.aborted.truncate(offset)
        self._first_timestamp = -1

    def start_rebuilding(self) -> None:
        """Treat the segment as empty; `note` adds the batches of its file again."""
        self.size = 0
        self.is_durable = False
        self._lookup.clear()
        self.aborted.replace([])

    def rebuild_indexes(self) -> None:
        self._lookup.rebuild(self.batches())

    def seal(self) -> None:
        """Bring the index files up to date: the segment is complete, or the log is being closed."""
        self.mend()
        self.lookup.seal()
        self.aborted.spill()

    def spill(self) -> None:
        """Write the index entries that wait in memory."""
        self.lookup.spill()
        self.aborted.spill()

    def index_files(self, *, used: bool = False) -> list[File]:
        """The index files of a finished segment, which must be durable too; with `used`, those that have entries."""
        paths = [
            *(self._lookup.used_paths if used else self._lookup.paths),
            *([self.aborted.path] if self.aborted.has_file else []),
        ]
        return [self._files.open(path, create=True) for path in paths]

    def rename(self, old: str, new: str) -> None:
        """Change the suffix of all files, the log last; after a failure each path is the name that the file has."""
        for source in (*self._lookup.paths, self.aborted.path, self.path):
            target = source.with_name(source.name.removesuffix(old) + new)
            if self._files.exists(source):
                self._files.rename(source, target)
            if source == self.path:
                self.path = target
            elif source == self.aborted.path:
                self.aborted.path = target
            self._lookup.move(source, target)

    def remove(self) -> None:
        """Remove all files, the log first."""
        for path in (self.path, *self._lookup.paths, self.aborted.path):
            self._files.remove(path)


class LocatedBatch(NamedTuple):
    """A batch and the segment it is in."""

    segment: Segment
    batch: BatchHeader


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
