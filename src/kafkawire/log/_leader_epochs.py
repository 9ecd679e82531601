"""The leader epochs of a partition: the offset from which each leader wrote.

Rules:
- Epochs and their start offsets both rise; an entry that a new one contradicts is dropped.
- The end of an epoch is the start of the next one, or the log's end.
- A leader that has not yet written has no entry. Its epoch counts as if it started at the log's end, where Apache Kafka
  writes the entry when the leader begins.
- The file is written when an entry is added or dropped, never per append. A dropped entry is durable at once. An added
  one becomes durable with the records of its epoch, from which recovery could rebuild it (`_flush`, `_recovery`). A
  change that the disk refuses takes effect, and the next flush writes it again.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kafkawire.log.checkpoints import EPOCHS, read_lines, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.log.storage.files import File, FileSystem

UNKNOWN = -1


class LeaderEpochs:
    """The epoch history of one partition and its file."""

    def __init__(self, files: FileSystem, directory: Path, *, is_new: bool = False) -> None:
        self._files = files
        self._path = directory / EPOCHS
        self.is_durable = self._is_written = True
        self._starts: dict[int, int] = {}
        self.latest = UNKNOWN
        """The current epoch, or -1."""
        for words in (None if is_new else read_lines(files, self._path)) or ():
            if len(words) == 2 and all(word.lstrip("-").isdigit() for word in words):
                self._add(int(words[0]), int(words[1]))

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Every (epoch, start offset), oldest first."""
        return list(self._starts.items())

    def assign(self, epoch: int, offset: int) -> None:
        """Add an epoch that starts at an offset."""
        if epoch != self.latest and epoch >= 0 and self._add(epoch, offset):
            self.is_durable = False
            self._save(durable=False)

    def file(self) -> File:
        """The file, written again if the disk refused the last change."""
        if not self._is_written:
            self._save(durable=False)
        return self._files.open(self._path)

    def end_offset(self, epoch: int, log_end: int, current: int = UNKNOWN) -> tuple[int, int]:
        """The largest known epoch up to the requested one, and the offset where it ended; (-1, -1) if unknown.

        An epoch before the first known one ends where the first known one starts. `current` is the leader's epoch.
        """
        latest = max(self.latest, current)
        if epoch == UNKNOWN or epoch > latest:
            return UNKNOWN, UNKNOWN
        if epoch == latest:
            return epoch, log_end
        epochs = list(self._starts)
        after = bisect_right(epochs, epoch)
        end = self._starts[epochs[after]] if after < len(epochs) else log_end
        return (epochs[after - 1] if after else epoch), end

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote an offset, or -1."""
        written = [epoch for epoch, start in self._starts.items() if start <= offset]
        return written[-1] if written else UNKNOWN

    def truncate_end(self, offset: int) -> None:
        """Drop epochs that start at or after a new log end."""
        self._keep({epoch: start for epoch, start in self._starts.items() if start < offset})

    def truncate_start(self, offset: int) -> None:
        """Drop epochs that ended before a new log start; the epoch of that offset now starts there."""
        past = [epoch for epoch, start in self._starts.items() if start <= offset]
        kept = {epoch: start for epoch, start in self._starts.items() if start > offset}
        self._keep({past[-1]: offset, **kept} if past else kept)

    def _save(self, *, durable: bool) -> None:
        lines = (f"{epoch} {start}" for epoch, start in self._starts.items())
        self._is_written = False
        write_lines(self._files, self._path, lines, durable=durable)
        self._is_written = True

    def _add(self, epoch: int, offset: int) -> bool:
        if self._starts.get(epoch) is not None and self._starts[epoch] <= offset:
            return False
        self._starts = {old: start for old, start in self._starts.items() if old < epoch and start < offset}
        self._starts[epoch] = offset
        self.latest = epoch
        return True

    def _keep(self, starts: dict[int, int]) -> None:
        if starts != self._starts:
            self._starts = starts
            self.latest = next(reversed(starts), UNKNOWN)
            self.is_durable = False
            self._save(durable=True)
            self.is_durable = True
