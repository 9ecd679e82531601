"""The whole batches of a damaged log file: those before the damage, and those behind it.

Rules:
- A batch is whole if its size, magic and CRC hold. Nothing else is checked, and nothing is decoded.
- `records.walk` finds the batches after damage, and gives up no search.
- Damage with nothing whole behind it is a torn tail, which every crash may leave.
- `damaged_name` names the copy that a repair keeps. Neither this log nor Kafka's takes it for one of their files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.records.walk import PIECE, BytesAt, Damage, Stretch, walk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.log.storage.files import Bytes, FileSystem

MARK: Final = ".damaged-"


class Span(NamedTuple):
    """The place and the offsets of one whole batch."""

    position: int
    end: int
    base_offset: int
    last_offset: int


@dataclass
class Salvage:
    """Everything that is whole in a log file, in order, and everything that is not."""

    batches: list[Span] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)

    def behind(self, position: int) -> list[Span]:
        """The whole batches after a position."""
        return [batch for batch in self.batches if batch.position > position]


def salvage(data: Bytes, base_offset: int) -> Salvage:
    """Find every whole batch in the bytes of a log file.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(None, b"hello")
    True
    >>> batch = builder.build()
    >>> found = salvage(batch + bytes(9) + batch[:7] + b"\\x01" + batch[8:], 0)
    >>> [batch.position for batch in found.batches], [(each.position, each.end) for each in found.damage]
    ([0, 82], [(73, 82)])
    """
    found = Salvage()
    size = len(data)
    for part in walk(BytesAt(data), 0, size, file_size=size, piece=size, after_offset=base_offset - 1, most=None):
        if isinstance(part, Stretch):
            scan, start = part.scan, part.position
            spans = zip(scan.position, scan.size, scan.base_offset, scan.last_offset, strict=True)
            found.batches += (Span(start + at, start + at + long, base, last) for at, long, base, last in spans)
        else:
            found.damage.append(part)
    return found


def damaged_name(files: FileSystem, path: Path) -> Path:
    """A free name beside a file for the copy of its damaged content."""
    taken = {entry.name for entry in files.list(path.parent)}
    number = 1
    while f"{path.name}{MARK}{number}" in taken:
        number += 1
    return path.with_name(f"{path.name}{MARK}{number}")


def keep_copy(files: FileSystem, path: Path) -> Path:
    """Copy a file beside itself, durably, before it is changed; the path of the copy."""
    target = damaged_name(files, path)
    source = files.open(path)
    size = source.size()
    write_parts(files, target, (source.read(start, min(PIECE, size - start)) for start in range(0, size, PIECE)))
    return target


def write_parts(files: FileSystem, path: Path, parts: Iterable[Bytes]) -> None:
    """Replace a file durably by these parts, without all of them in memory."""
    temporary = path.with_name(path.name + ".tmp")
    files.remove(temporary)
    file = files.open(temporary, create=True)
    position = 0
    for part in parts:
        file.write(position, [part])
        position += len(part)
    file.sync()
    files.rename(temporary, path)
    files.sync_directory(path.parent)
