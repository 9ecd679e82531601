"""The sparse indexes of a segment: offsets to file positions, timestamps to offsets.

Rules:
- An entry names one batch: its last offset and its position; or the largest timestamp so far and the last offset of the
  batch that has it. Entries rise in every column.
- Every batch that starts more than index.interval.bytes after the last indexed one is indexed.
- An index only saves scanning, and can always be rebuilt from the log. So new entries may wait in memory until there
  are enough of them, and a failed write is retried later. Dropped entries are cut off the file before others are
  written.
- Indexes on disk are used only if they could be this log's; otherwise they are rebuilt when first needed.
- Lookups read single entries; an index is never read into memory as a whole.
- `PositionIndex.largest` is exact for the growing segment; for the others it is the last entry of the time index.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafkawire.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import Entry, FileSystem
    from kafkawire.records import BatchHeader

INDEX, TIME_INDEX = ".index", ".timeindex"
SPILL = 4096


class OffsetEntry(NamedTuple):
    """A batch: its last offset and its position in the log file."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp so far and the last offset of its batch."""

    timestamp: int
    offset: int


class IndexFile:
    """Fixed-size entries in a file, the latest of them still in memory."""

    layout: ClassVar[Struct]

    def __init__(self, files: FileSystem, path: Path, base_offset: int, max_bytes: int, size: int = 0) -> None:
        self.path = path
        self.base_offset = base_offset
        self._files = files
        self.capacity = max_bytes // self.layout.size
        self._stored = self.count = size // self.layout.size
        self._tail = bytearray()
        self._final: tuple[int, int] | None = None
        self._torn = False

    def __len__(self) -> int:
        return self.count

    @property
    def is_full(self) -> bool:
        return self.count >= self.capacity

    def fields(self, number: int) -> tuple[int, int]:
        """The two numbers of an entry as they are stored."""
        size = self.layout.size
        if number >= self._stored:
            first, second = self.layout.unpack_from(self._tail, (number - self._stored) * size)
        else:
            first, second = self.layout.unpack(self._files.open(self.path).read(number * size, size))
        return first, second

    @property
    def final(self) -> tuple[int, int]:
        """The two numbers of the last entry."""
        if self._final is None:
            self._final = self.fields(len(self) - 1)
        return self._final

    def add(self, first: int, second: int) -> None:
        self._final = first, second
        self.count += 1
        self._tail += self.layout.pack(first, second)
        if len(self._tail) >= SPILL:
            with suppress(OSError):
                self.spill()

    def spill(self) -> None:
        """Write the entries that wait in memory."""
        if self._torn:
            self._cut()
        if self._tail:
            file = self._files.open(self.path, create=True)
            self._torn = True
            file.write(self._stored * self.layout.size, [self._tail])
            self._torn = False
            self._stored = self.count
            self._tail = bytearray()

    def forget(self, count: int) -> None:
        """Drop the entries after the first `count` in memory; the next `spill` truncates the file."""
        if count >= len(self):
            return
        self._final = None
        self.count = count
        del self._tail[max(0, count - self._stored) * self.layout.size :]
        if count < self._stored:
            self._stored = count
            self._torn = True

    def keep(self, count: int) -> None:
        """Drop the entries after the first `count`, in the file too."""
        self.forget(count)
        if self._torn:
            self._cut()

    def clear(self) -> None:
        """Drop all entries and empty the file."""
        self._tail = bytearray()
        self._final = None
        self._stored = self.count = 0
        self._cut()

    def _cut(self) -> None:
        self._torn = True
        self._files.open(self.path, create=True).truncate(self._stored * self.layout.size)
        self._torn = False

    def _count_up_to(self, target: int, column: int) -> int:
        return bisect_right(range(len(self)), target, key=lambda number: self.fields(number)[column])


class OffsetIndex(IndexFile):
    """`.index`: entries of 8 bytes, relative offset and position."""

    layout = Struct(">ii")

    def entry(self, number: int) -> OffsetEntry:
        offset, position = self.fields(number)
        return OffsetEntry(self.base_offset + offset, position)

    def append(self, offset: int, position: int) -> None:
        if self.count < self.capacity:
            self.add(offset - self.base_offset, position)

    def lookup(self, offset: int) -> OffsetEntry:
        """The last entry at or before an offset; position 0 if there is none."""
        count = self._count_up_to(offset - self.base_offset, 0)
        return self.entry(count - 1) if count else OffsetEntry(self.base_offset, 0)

    def truncate(self, size: int) -> None:
        """Drop the entries of batches that start at or after a position."""
        self.keep(self._count_up_to(size - 1, 1))

    def is_sound(self, log_size: int) -> bool:
        """Whether the file could be this log's index, by its last entry."""
        if not len(self):
            return True
        offset, position = self.final
        return offset >= 0 and 0 < position < log_size


class TimeIndex(IndexFile):
    """`.timeindex`: entries of 12 bytes, timestamp and relative offset."""

    layout = Struct(">qi")

    def entry(self, number: int) -> TimeEntry:
        timestamp, offset = self.fields(number)
        return TimeEntry(timestamp, self.base_offset + offset)

    @property
    def last(self) -> TimeEntry:
        """The largest timestamp known; (-1, base offset) if there is none."""
        if not len(self):
            return TimeEntry(-1, self.base_offset)
        timestamp, offset = self.final
        return TimeEntry(timestamp, self.base_offset + offset)

    def append(self, timestamp: int, offset: int, *, closing: bool = False) -> None:
        """Add an entry if its timestamp is new; a closing segment adds its last one even to a full index."""
        newest = -1 if not self.count else self.final[0] if self._final is None else self._final[0]
        if timestamp > newest and (closing or self.count < self.capacity):
            self.add(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int) -> TimeEntry:
        """The last entry before a timestamp; offsets up to it are all older."""
        count = self._count_up_to(timestamp - 1, 0)
        return self.entry(count - 1) if count else TimeEntry(-1, self.base_offset)

    def truncate(self, offset: int) -> None:
        """Drop the entries of batches that end at or after an offset."""
        self.keep(self._count_up_to(offset - self.base_offset - 1, 1))

    def is_sound(self, log_size: int) -> bool:
        """Whether the file could be this log's index, by its last entry."""
        if not len(self):
            return log_size == 0
        timestamp, offset = self.final
        return timestamp >= 0 and offset >= 0 and (timestamp, offset) != (0, 0)


BatchSummary = tuple[int, int, int]
"""The fields of a batch that the indexes need: last offset, size, and largest timestamp, which is -1 if it is empty."""

Mark = tuple[int, int, TimeEntry, int]
"""The number of entries in both indexes, the largest timestamp, and the bytes since the last entry."""


def summary_of(header: BatchHeader) -> BatchSummary:
    """The fields of a batch that the indexes need."""
    return header.last_offset, header.size, header.max_timestamp if header.record_count else -1


class PositionIndex:
    """Finds positions in a segment by offset and by time."""

    def __init__(
        self, files: FileSystem, log: Path, base_offset: int, config: LogConfig, found: Mapping[str, Entry] | None
    ) -> None:
        paths = [log.with_name(log.name.replace(".log", kind, 1)) for kind in (INDEX, TIME_INDEX)]
        listed = [found.get(path.name) if found else None for path in paths]
        sizes = [entry.size if entry else 0 for entry in listed]
        self._files = files
        self._log = log
        self._base_offset = base_offset
        self._interval = config.index_interval_bytes
        self._offsets = OffsetIndex(files, paths[0], base_offset, config.segment_index_bytes, sizes[0])
        self._times = TimeIndex(files, paths[1], base_offset, config.segment_index_bytes, sizes[1])
        self._could_be_sound = all(listed) and sizes[0] % 8 == 0 and sizes[1] % 12 == 0
        self.is_checked = found is None
        """Whether the indexes are known to be this log's."""
        self._unindexed_bytes = 0
        self._largest: TimeEntry | None = TimeEntry(-1, base_offset) if found is None else None

    @property
    def paths(self) -> tuple[Path, Path]:
        return self._offsets.path, self._times.path

    @property
    def used_paths(self) -> list[Path]:
        """The files that have entries."""
        return [index.path for index in (self._offsets, self._times) if len(index)]

    @property
    def largest(self) -> TimeEntry:
        """The largest timestamp in the segment, and the last offset of its batch."""
        if self._largest is None:
            self._largest = self._times.last
        return self._largest

    @property
    def is_full(self) -> bool:
        offsets, times = self._offsets, self._times
        return offsets.count >= offsets.capacity or times.count >= times.capacity

    def has_room(self, count: int) -> bool:
        """Whether neither index is full before the last of that many entries."""
        offsets, times = self._offsets, self._times
        return offsets.count + count <= offsets.capacity and times.count + count <= times.capacity

    @property
    def last_position(self) -> int:
        """The position of the last indexed batch."""
        count = len(self._offsets)
        return self._offsets.entry(count - 1).position if count else 0

    def check(self, log_size: int) -> None:
        """Rebuild indexes that cannot be those of a log of this size."""
        if self.is_checked:
            return
        self.is_checked = True
        if not (self._could_be_sound and self._offsets.is_sound(log_size) and self._times.is_sound(log_size)):
            self.rebuild(headers(self._files.open(self._log), 0, log_size))

    def create(self) -> None:
        for path in self.paths:
            self._files.open(path, create=True)

    def note(self, position: int, batches: Iterable[BatchSummary]) -> int:
        """Index batches that start at a position; the position after them."""
        largest, unindexed = self.largest, self._unindexed_bytes
        timestamp = largest[0]
        for last_offset, size, max_timestamp in batches:
            if max_timestamp > timestamp:
                timestamp = max_timestamp
                largest = TimeEntry(max_timestamp, last_offset)
            if unindexed > self._interval:
                self._offsets.append(last_offset, position)
                self._times.append(*largest)
                unindexed = 0
            position += size
            unindexed += size
        self._largest, self._unindexed_bytes = largest, unindexed
        return position

    def by_offset(self, offset: int) -> OffsetEntry:
        """The last indexed batch that ends at or before an offset; position 0 if there is none."""
        return self._offsets.lookup(offset)

    def by_time(self, timestamp: int) -> OffsetEntry:
        """An indexed batch before all batches with this timestamp or a later one."""
        return self._offsets.lookup(self._times.lookup(timestamp).offset)

    def clear(self) -> None:
        """Drop all entries; `note` fills the indexes again."""
        self.is_checked = True
        self._offsets.clear()
        self._times.clear()
        self._largest = TimeEntry(-1, self._base_offset)
        self._unindexed_bytes = 0

    def rebuild(self, batches: Iterable[BatchHeader]) -> None:
        """Rebuild both indexes."""
        self.clear()
        self.note(0, map(summary_of, batches))
        self.seal()

    def mark(self) -> Mark:
        """The state for `restore`."""
        return len(self._offsets), len(self._times), self.largest, self._unindexed_bytes

    def restore(self, mark: Mark) -> None:
        """Return to the state of a mark, without reading the disk."""
        offsets, times, self._largest, self._unindexed_bytes = mark
        self._offsets.forget(offsets)
        self._times.forget(times)

    def truncate(self, position: int, offset: int) -> None:
        """Drop batches from a position and offset on."""
        self._offsets.truncate(position)
        self._times.truncate(offset)
        self._unindexed_bytes = 0
        timestamp, at = self._times.last
        for header in headers(self._files.open(self._log), self.last_position, position):
            if header.max_timestamp > timestamp and header.record_count:
                timestamp, at = header.max_timestamp, header.last_offset
        self._largest = TimeEntry(timestamp, at)

    def seal(self) -> None:
        """Bring the files up to date: the segment is complete, or the log is being closed."""
        self._times.append(*self.largest, closing=True)
        self._offsets.spill()
        self._times.spill()

    def spill(self) -> None:
        """Write the entries that wait in memory."""
        self._offsets.spill()
        self._times.spill()

    def move(self, source: Path, target: Path) -> None:
        """Record the new name of one of the segment's files."""
        if source == self._log:
            self._log = target
        for index in (self._offsets, self._times):
            if index.path == source:
                index.path = target
