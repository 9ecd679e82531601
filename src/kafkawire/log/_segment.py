"""One segment of a partition: a log file, its indexes, and the range of offsets it covers.

Rules:
- Only the last segment of a partition grows. Its size is kept in memory: bytes that a failed write left after it are
  cut off before the next write.
- Files are renamed before they are removed: a restart removes those named `.deleted`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire._codec.parts import ExternalBytes
from kafkawire.log._position_index import INDEX, TIME_INDEX, BatchSummary, Mark, PositionIndex
from kafkawire.log._txn_index import AbortedIndex
from kafkawire.records.walk import headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class FileRange(ExternalBytes):
    """Bytes of a log file, ready for `sendfile`, and accepted as the records of a message.

    It stays valid as long as it is held, even if the file is renamed or removed.
    """

    file: File
    path: Path
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def fileno(self) -> int:
        """The descriptor to send from; -1 if there is none, and `read` must be used."""
        return self.file.fileno()

    def read(self) -> memoryview:
        """The bytes themselves."""
        return memoryview(self.file.read(self.position, self.length))


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
        if self._torn:
            self.mend()
        try:
            self._files.open(self.path).write(self.size, parts)
        except OSError:
            self._torn = True
            with suppress(OSError):
                self.mend()
            raise
        self.size = self._lookup.note(self.size, batches)

    def hold(self, parts: Sequence[Bytes], batches: Iterable[BatchSummary]) -> None:
        """Add batches and index them; `write_held` writes them together with the others that are held."""
        if self._before_held is None:
            self._before_held = self._lookup.mark()
        self._held += parts
        before = self.size
        self.size = self._lookup.note(before, batches)
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
