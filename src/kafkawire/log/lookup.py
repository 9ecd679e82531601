"""The indexes of one segment, kept in step with its log.

Rules:
- Every batch that starts more than index.interval.bytes after the last indexed one is indexed.
- Indexes found on disk are believed only if they could be this log's; else they are rebuilt when first needed.
- `largest` is exact for the growing segment, and what the time index says for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.log import walk
from kafkawire.log.index import OffsetEntry, OffsetIndex, TimeEntry, TimeIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kafkawire.log.configs import LogConfig
    from kafkawire.log.files import Entry, FileSystem
    from kafkawire.records import BatchHeader

INDEX, TIME_INDEX = ".index", ".timeindex"


Written = tuple[int, int, int]
"""What the indexes must know of a batch: last offset, size, largest timestamp; one that was emptied has -1 for it."""

Mark = tuple[int, int, TimeEntry, int]
"""The number of entries in both indexes, the largest timestamp, and the bytes since the last entry."""


def written(header: BatchHeader) -> Written:
    """What the indexes must know of a batch in a log."""
    return header.last_offset, header.size, header.max_timestamp if header.record_count else -1


class Lookup:
    """Where in a segment: by offset and by time."""

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

    @property
    def last_position(self) -> int:
        """Where the last indexed batch starts."""
        count = len(self._offsets)
        return self._offsets.entry(count - 1).position if count else 0

    def check(self, log_size: int) -> None:
        """Rebuild indexes from the disk that cannot be those of a log of this size."""
        if self.is_checked:
            return
        self.is_checked = True
        if not (self._could_be_sound and self._offsets.is_sound(log_size) and self._times.is_sound(log_size)):
            self.rebuild(walk.headers(self._files.open(self._log), 0, log_size))

    def create(self) -> None:
        for path in self.paths:
            self._files.open(path, create=True)

    def note(self, position: int, batches: Iterable[Written]) -> int:
        """Take in batches that start at a position; the position after them."""
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
        """An indexed batch from which on all batches with this timestamp or a later one are to be found."""
        return self._offsets.lookup(self._times.lookup(timestamp).offset)

    def clear(self) -> None:
        """Start anew; `note` fills the indexes again."""
        self.is_checked = True
        self._offsets.clear()
        self._times.clear()
        self._largest = TimeEntry(-1, self._base_offset)
        self._unindexed_bytes = 0

    def rebuild(self, headers: Iterable[BatchHeader]) -> None:
        """Write both indexes anew."""
        self.clear()
        self.note(0, map(written, headers))
        self.seal()

    def mark(self) -> Mark:
        """What `restore` needs to forget all that is noted from now on."""
        return len(self._offsets), len(self._times), self.largest, self._unindexed_bytes

    def restore(self, mark: Mark) -> None:
        """Be as at a mark, without a look at the disk."""
        offsets, times, self._largest, self._unindexed_bytes = mark
        self._offsets.forget(offsets)
        self._times.forget(times)

    def truncate(self, position: int, offset: int) -> None:
        """Forget batches from a position and offset on."""
        self._offsets.truncate(position)
        self._times.truncate(offset)
        self._unindexed_bytes = 0
        timestamp, at = self._times.last
        for header in walk.headers(self._files.open(self._log), self.last_position, position):
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
        """One of the segment's files has another name now."""
        if source == self._log:
            self._log = target
        for index in (self._offsets, self._times):
            if index.path == source:
                index.path = target
