"""Making what was appended durable, apart from the thread that appends.

Rules:
- `Flush.run` touches only files it already holds, so it may run in any thread while appends go on; all else belongs to
  the partition's own thread.
- Contents first, of new leader epochs and the topic's id too, then the names of new files, that of the partition among
  them; only then has the recovery point moved.
- A restart may skip a segment only if its indexes are durable too, the list of aborted transactions above all.
- A failed sync means that the system may have dropped the bytes and forgotten that it did. So the next flush writes
  the same bytes again, from what can still be read and checks, before it syncs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.log import walk
from kafkawire.log.errors import storage_error
from kafkawire.messages.errors import KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.log.chain import Chain
    from kafkawire.log.epochs import LeaderEpochs
    from kafkawire.log.files import File, FileSystem
    from kafkawire.log.segment import Segment


@dataclass(slots=True)
class Flush:
    """Everything up to an offset, about to become durable."""

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
    """Whether the name of the partition is synced too; a directory that closes does it once for all."""

    def run(self) -> None:
        """Sync; a KafkaStorageError if the disk refuses."""
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
    """How far a partition would survive a power cut."""

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
        """Files beside the segments that were written, and not synced yet."""
        self._files = files
        self._directory = directory
        self._clock = clock
        self._sync_failed = False

    def checkpoint_offset(self, segments: Chain) -> int:
        """From where a restart must check the log: the recovery point, or the first segment not durable yet."""
        if len(segments) == 1:
            return self.recovery_point
        for segment in segments.sealed:
            if not segment.is_durable:
                return min(self.recovery_point, segment.base_offset)
        return self.recovery_point

    def begin(self, segments: Chain, epochs: LeaderEpochs, end: int) -> Flush:
        """What it takes to make everything before the end durable."""
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

    def finish(self, flush: Flush, segments: Chain, epochs: LeaderEpochs, end: int) -> None:
        """Take note of how a flush ended; a log that was cut meanwhile ends before it."""
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
    for position, piece, scan in walk.sweep(file, start, segment.size):
        if scan.error is not None or not scan.count:
            raise KafkaStorageError(f"{segment.path}: bytes at {position + scan.end} were lost by a failed flush")
        file.write(position, [memoryview(piece)[: scan.end]])
