"""A log file as verification sees it: the headers of all its batches as columns, and the damage between them.

Rules:
- Reading continues after damage (`records.walk`). A batch whose header can be read is in the columns even if its CRC is
  wrong, because index entries may name it; `is_sound` is 0 for it.
- Columns have the names and types of a `BatchScan`. Positions are those in the file.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.log.storage.files import map_file
from kafkawire.records import SCAN_COLUMNS
from kafkawire.records.walk import BytesAt, Damage, Stretch, headers, walk

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.records import BatchScan

LARGEST_SIZE = 2**31 - 1


def _no_columns() -> dict[str, array[int]]:
    return {name: array(code) for name, code in SCAN_COLUMNS.items()}


@dataclass(slots=True)
class LogFile:
    """A log file, the headers of its batches, and its damage."""

    path: Path
    view: memoryview
    columns: dict[str, array[int]] = field(default_factory=_no_columns)
    is_sound: bytearray = field(default_factory=bytearray)
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.is_sound)

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return len(self.view)

    @property
    def base_offset(self) -> int:
        """The offset in the name of the file."""
        return int(self.path.name[:20])

    @property
    def next_offset(self) -> int:
        """The offset after the last sound batch; the base offset if there is none."""
        last = self.is_sound.rfind(1)
        return self.columns["last_offset"][last] + 1 if last >= 0 else self.base_offset

    @property
    def leader_epochs(self) -> set[int]:
        """The epochs of its sound batches."""
        epochs = zip(self.columns["leader_epoch"], self.is_sound, strict=True)
        return {epoch for epoch, is_sound in epochs if is_sound and epoch >= 0}

    def _add(self, position: int, scan: BatchScan) -> None:
        for name, column in self.columns.items():
            values: memoryview[int] = getattr(scan, name)
            if name == "position" and position:
                column.extend(position + each for each in values)
            else:
                column.frombytes(values.cast("B"))
        self.is_sound += b"\1" * scan.count

    def _add_unsound(self, file: BytesAt, damage: Damage) -> None:
        for header in headers(file, damage.position, damage.end):
            if header.size <= LARGEST_SIZE:
                for name, column in self.columns.items():
                    column.append(getattr(header, name))
                self.is_sound.append(0)


def open_log(path: Path) -> LogFile:
    """A log file, walked to its end."""
    view = map_file(path)
    log, file, size = LogFile(path, view), BytesAt(view), len(view)
    for part in walk(file, 0, size, file_size=size, piece=max(1, size)):
        if isinstance(part, Stretch):
            log._add(part.position, part.scan)
        else:
            log.damage.append(part)
            if not part.is_unfinished:
                log._add_unsound(file, part)
    return log
