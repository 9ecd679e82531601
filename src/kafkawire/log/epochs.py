"""The leader epochs of a partition: from which offset on each was in charge.

Rules:
- Epochs and their start offsets both rise; an entry that a new one contradicts is dropped.
- The end of an epoch is the start of the next one, or the log's end.
- The file is written when an entry is added or dropped, never per append. What was dropped is durable at once; what was
  added becomes so with the records of its epoch, from which it could be told again (`durability`, `recovery`). A change
  that the disk refuses is made all the same, and written again with the next flush.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from kafkawire.log.checkpoints import EPOCHS, read_lines, write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.log.files import File, FileSystem

UNKNOWN = -1


class LeaderEpochs:
    """The epoch history of one partition and its file."""

    def __init__(self, files: FileSystem, directory: Path, *, is_new: bool = False) -> None:
        self._files = files
        self._path = directory / EPOCHS
        self.is_durable = self._is_written = True
        self._starts: dict[int, int] = {}
        self.latest = UNKNOWN
        """The epoch in charge, or -1."""
        for words in (None if is_new else read_lines(files, self._path)) or ():
            if len(words) == 2 and all(word.lstrip("-").isdigit() for word in words):
                self._add(int(words[0]), int(words[1]))

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Every (epoch, start offset), oldest first."""
        return list(self._starts.items())

    def assign(self, epoch: int, offset: int) -> None:
        """An epoch writes from this offset on."""
        if epoch != self.latest and epoch >= 0 and self._add(epoch, offset):
            self.is_durable = False
            self._save(durable=False)

    def file(self) -> File:
        """The file, written anew if the disk refused the last change."""
        if not self._is_written:
            self._save(durable=False)
        return self._files.open(self._path)

    def end_offset(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest known epoch not above the one asked for, and where it ended; (-1, -1) if unknown.

        An epoch before the first known one ends where the first known one starts.
        """
        if epoch == UNKNOWN or not self._starts:
            return UNKNOWN, UNKNOWN
        if epoch == self.latest:
            return epoch, log_end
        epochs = list(self._starts)
        after = bisect_right(epochs, epoch)
        if after == len(epochs):
            return UNKNOWN, UNKNOWN
        return (epochs[after - 1] if after else epoch), self._starts[epochs[after]]

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote an offset, or -1."""
        written = [epoch for epoch, start in self._starts.items() if start <= offset]
        return written[-1] if written else UNKNOWN

    def truncate_end(self, offset: int) -> None:
        """Forget epochs that start at or past a new log end."""
        self._keep({epoch: start for epoch, start in self._starts.items() if start < offset})

    def truncate_start(self, offset: int) -> None:
        """Forget epochs that ended before a new log start; the one in charge there now starts there."""
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
