"""The two sparse indexes of a segment: offsets to file positions, timestamps to offsets.

Rules:
- An entry names one batch: its last offset and where it starts; or the largest timestamp so far and the last offset of
  the batch that holds it. Entries rise in every column.
- An index is only a hint that saves scanning. It can always be rebuilt from the log, so new entries may wait in memory
  until there are enough of them, and a failed write of them is tried again later. Entries that were forgotten are cut
  off the file before others are written.
- Lookups read single entries; no index is ever held in memory whole.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.log.files import FileSystem

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
        """Write what waits in memory."""
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
        """Forget the entries past the first `count`, in memory; the next `spill` cuts the file."""
        if count >= len(self):
            return
        self._final = None
        self.count = count
        del self._tail[max(0, count - self._stored) * self.layout.size :]
        if count < self._stored:
            self._stored = count
            self._torn = True

    def keep(self, count: int) -> None:
        """Forget the entries past the first `count`, in the file too."""
        self.forget(count)
        if self._torn:
            self._cut()

    def clear(self) -> None:
        """Start the file anew, whatever is in it."""
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
    """`.index`: 8 bytes an entry, relative offset and position."""

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
        """Forget batches that start at or past a position."""
        self.keep(self._count_up_to(size - 1, 1))

    def is_sound(self, log_size: int) -> bool:
        """Whether the file could be this log's index, as far as its last entry tells."""
        if not len(self):
            return True
        offset, position = self.final
        return offset >= 0 and 0 < position < log_size


class TimeIndex(IndexFile):
    """`.timeindex`: 12 bytes an entry, timestamp and relative offset."""

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
        """Add an entry if it says something new; a closing segment adds its last one even to a full index."""
        newest = -1 if not self.count else self.final[0] if self._final is None else self._final[0]
        if timestamp > newest and (closing or self.count < self.capacity):
            self.add(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int) -> TimeEntry:
        """The last entry before a timestamp; offsets at or before it are all older."""
        count = self._count_up_to(timestamp - 1, 0)
        return self.entry(count - 1) if count else TimeEntry(-1, self.base_offset)

    def truncate(self, offset: int) -> None:
        """Forget entries whose batch ends at or past an offset."""
        self.keep(self._count_up_to(offset - self.base_offset - 1, 1))

    def is_sound(self, log_size: int) -> bool:
        """Whether the file could be this log's index, as far as its last entry tells."""
        if not len(self):
            return log_size == 0
        timestamp, offset = self.final
        return timestamp >= 0 and offset >= 0 and (timestamp, offset) != (0, 0)
