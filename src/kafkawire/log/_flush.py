"""Flushes: making appended records durable, in another thread than the one that appends.

Rules:
- `Flush.run` uses only files that are already open, so it may run in any thread while appends continue. Everything else
  runs in the partition's own thread.
- Contents are synced first, leader epochs and the topic's id included, then the names of new files and of the
  partition. Only then does the recovery point advance.
- A restart may skip a segment only if its indexes are durable too, above all the list of aborted transactions.
- After a failed fsync the kernel may have discarded the dirty pages and marked them clean. So the next flush reads the
  same bytes, checks them and writes them again before it syncs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.log.errors import storage_error
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.records.walk import sweep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.log._leader_epochs import LeaderEpochs
    from kafkawire.log._segment import Segment, Segments
    from kafkawire.log.storage.files import File, FileSystem


@dataclass(slots=True)
class Flush:
    """One flush of everything up to an offset."""

    up_to: int
    directory: Path
    sealed: list[Segment]
    held: list[File]
    files: FileSystem
    names_until: int | None
    epoch: int
    unsynced: list[Path]
    done: bool = False
    with_parent: bool = True
    """Whether the name of the partition is synced too; a directory that closes syncs all names once."""

    def run(self) -> None:
        """Sync; KafkaStorageError if the disk fails."""
        try:
            for file in self.held:
                file.sync()
            if self.names_until is not None:
                self.files.sync_directory(self.directory)
                if self.with_parent:
                    self.files.sync_directory(self.directory.parent)
        except OSError as error:
            raise storage_error(self.directory, "flush", error) from error
        self.done = True


class Durability:
    """The part of a partition that would survive a power cut."""

    def __init__(
        self,
        files: FileSystem,
        directory: Path,
        clock: Callable[[], int],
        recovery_point: int,
        names_are_durable: bool,
    ) -> None:
        self.recovery_point = recovery_point
        self.flushed_ms = clock()
        self.names_are_durable = names_are_durable
        self.unsynced: list[Path] = []
        """Files beside the segments that were written but not synced yet."""
        self._files = files
        self._directory = directory
        self._clock = clock
        self._sync_failed = False

    def checkpoint_offset(self, segments: Segments) -> int:
        """The offset from which a restart must check the log: the recovery point, or the first segment not durable."""
        if len(segments) == 1:
            return self.recovery_point
        for segment in segments.sealed:
            if not segment.is_durable:
                return min(self.recovery_point, segment.base_offset)
        return self.recovery_point

    def is_due(self, segments: Segments, end: int, now: int, flush_ms: int) -> bool:
        """Whether flush.ms, or a finished segment, requires a flush."""
        if self.checkpoint_offset(segments) < segments.active.base_offset:
            return True
        return self.recovery_point < end and abs(now - self.flushed_ms) >= flush_ms

    def begin(self, segments: Segments, epochs: LeaderEpochs, end: int) -> Flush:
        """A flush of everything before the end."""
        unflushed = segments.starting_at(self.checkpoint_offset(segments))
        sealed = unflushed[:-1]
        try:
            if self._sync_failed:
                for segment in unflushed:
                    _rewrite(segment, segments.position_of(segment, self.recovery_point, end))
                self._sync_failed = False
            held = [segment.file for segment in unflushed]
            for segment in sealed:
                segment.spill()
                held += segment.index_files()
            held += map(self._files.open, self.unsynced)
            if not epochs.is_durable:
                held.append(epochs.file())
        except OSError as error:
            raise storage_error(self._directory, "flush", error) from error
        if self.unsynced or not epochs.is_durable:
            self.names_are_durable = False
        names_until = None if self.names_are_durable else segments.active.base_offset
        return Flush(
            end, self._directory, sealed, held, self._files, names_until, epochs.latest, unsynced=list(self.unsynced)
        )

    def finish(self, flush: Flush, segments: Segments, epochs: LeaderEpochs, end: int) -> None:
        """Record the result of a flush; a log that was truncated meanwhile ends before it."""
        if not flush.done:
            self._sync_failed = True
            return
        for segment in flush.sealed:
            segment.is_durable = True
        self.unsynced = [path for path in self.unsynced if path not in flush.unsynced]
        if flush.epoch == epochs.latest:
            epochs.is_durable = True
        if flush.names_until == segments.active.base_offset:
            self.names_are_durable = True
        self.recovery_point = max(self.recovery_point, min(flush.up_to, end))
        self.flushed_ms = self._clock()


def _rewrite(segment: Segment, start: int) -> None:
    file = segment.file
    for position, piece, scan in sweep(file, start, segment.size):
        if scan.error is not None or not scan.count:
            raise KafkaStorageError(f"{segment.path}: bytes at {position + scan.end} were lost by a failed flush")
        file.write(position, [piece[: scan.end]])
