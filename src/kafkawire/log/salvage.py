"""The whole batches of a damaged log file: those before the damage, and those behind it.

Rules:
- A batch is whole if its size, magic and CRC hold. Nothing else is believed, and nothing is decoded.
- After bytes that are not a whole batch, the scan continues where the bad batch says that it ends. If no whole batch
  is there, it searches for the next one byte by byte.
- A batch behind a damage has magic 2 and starts at or after the offset that the last whole batch reached.
- Damage with nothing whole behind it is a torn tail, which every crash may leave.
- `damaged_name` names the copy that a repair keeps. Neither this log nor Kafka's takes it for one of their files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.records import CorruptRecordError, parse_header, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.log.files import Bytes, FileSystem
    from kafkawire.records import BatchScan

PIECE: Final = 4 * 1024 * 1024
MARK: Final = ".damaged-"


class Span(NamedTuple):
    """The place and the offsets of one whole batch."""

    position: int
    end: int
    base_offset: int
    last_offset: int


class Damage(NamedTuple):
    """Bytes that are not a whole batch. `is_tail` is set if no whole batch follows them."""

    position: int
    end: int
    reason: str
    is_tail: bool


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
    view = memoryview(data)
    found = Salvage()
    position, expected = 0, base_offset
    while position < len(view):
        scan = scan_batches(view, start=position)
        spans = zip(scan.position, scan.size, scan.base_offset, scan.last_offset, strict=True)
        found.batches += (Span(at, at + size, base, last) for at, size, base, last in spans)
        if found.batches:
            expected = max(expected, found.batches[-1].last_offset + 1)
        if scan.end == len(view):
            break
        following = _next_batch(view, scan.end, base_offset, expected)
        end = len(view) if following is None else following
        found.damage.append(Damage(scan.end, end, _reason(scan), following is None))
        position = end
    return found


def _reason(scan: BatchScan) -> str:
    if scan.error is not None:
        return str(scan.error).partition(": ")[2]
    return f"{scan.partial_tail} bytes are not a whole batch"


def _next_batch(view: memoryview, position: int, base_offset: int, expected: int) -> int | None:
    """Where the next whole batch after a bad one starts."""
    try:
        stated = parse_header(view, position).end
    except CorruptRecordError:
        stated = -1
    if stated == len(view):
        return None
    if 0 < stated < len(view) and _is_batch(view, stated, expected):
        return stated
    # The offsets of a segment span less than 2**31, so their upper halves have at most two values.
    upper = b"|".join(re.escape(((base_offset >> 32) + more).to_bytes(4, "big")) for more in (0, 1))
    header = re.compile(b"(?=(?:" + upper + b").{12}\x02)", re.DOTALL)
    places = (match.start() for match in header.finditer(view, position + 1))
    return next((place for place in places if _is_batch(view, place, expected)), None)


def _is_batch(view: memoryview, position: int, expected: int) -> bool:
    try:
        header = parse_header(view, position)
    except CorruptRecordError:
        return False
    if header.magic != 2 or header.base_offset < expected or header.last_offset_delta < 0:
        return False
    return header.end <= len(view) and scan_batches(view, start=position, limit=1).count == 1


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
