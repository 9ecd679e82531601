"""Walking the batches of a file without holding the file in memory.

Rules:
- A file is anything that reads at a position (`ReadAt`): a log on disk, an object in a store, bytes in memory.
- `headers` reads headers only. `sweep` reads everything in pieces and checks every CRC. Both end at the first bytes
  that are not a whole batch, and never raise for them; the last piece of a sweep has the fault.
- `walk` continues after a fault: at the end that the bad batch states if a sound batch starts there, else at the next
  sound batch that `resync` finds. If there is none, the rest is lost.
- A batch that the end of the file cuts is one that its writer has not finished. So are zeros up to the end, in a file
  that was allocated ahead.
- Memory is bounded by the piece that is read at a time, or by one batch if that is larger.
- `resync` takes a batch only whole: a header that makes sense, an offset after the last known one, and a CRC that
  agrees. Offsets from 2**48 on do not occur, which rules out nearly every false start cheaply.
- Bytes that look like a header are common in hostile files, and each costs a CRC. So a search ends after a number of
  them, unless the caller wants every batch that there is.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkawire.records._scan import scan_batches
from kafkawire.records.batch import BatchHeader, parse_header
from kafkawire.records.errors import CorruptRecordError
from kafkawire.records.layout import (
    HEADER_SIZE,
    MAGIC_AT,
    PREFIX_SIZE,
    PROBE_SIZE,
    SMALLEST_LENGTHS,
    stated_size,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.records._kernel.kernel import Buffer
    from kafkawire.records._scan import BatchScan

HOP: Final = 16 * 1024
PIECE: Final = 4 * 1024 * 1024
MOST_CANDIDATES: Final = 256
MOST_EXAMINED: Final = 1024 * 1024
# An offset below 2**48, a size field of 14 or more, and a magic of 0, 1 or 2.
_HEADER: Final = re.compile(rb"\x00\x00.{6}(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}[\x00-\x02]", re.DOTALL)


class ReadAt(Protocol):
    """A file that is read at any position."""

    def read(self, position: int, size: int, /) -> Buffer:
        """Bytes from a position on; fewer at the end of the file."""
        ...


class BytesAt:
    """Bytes in memory as a file."""

    def __init__(self, data: Buffer) -> None:
        self._view = memoryview(data)

    def read(self, position: int, size: int) -> memoryview:
        """Bytes from a position on; fewer at the end."""
        return self._view[position : position + size]


class Stretch(NamedTuple):
    """Batches that follow each other: their position in the file, their bytes, and their headers."""

    position: int
    data: memoryview
    scan: BatchScan


class Damage(NamedTuple):
    """Bytes of a file that are not a sound batch, and the reason."""

    position: int
    size: int
    problem: str
    is_tail: bool = False
    """Whether no sound batch follows in the range."""
    is_unfinished: bool = False
    """Whether it is a cut batch or zeros, up to the end of the file: a write that was not finished."""

    @property
    def end(self) -> int:
        """The position after the bytes."""
        return self.position + self.size


def headers(file: ReadAt, start: int, end: int) -> Iterator[BatchHeader]:
    """The headers of whole batches between two positions; each one's `position` is that in the file."""
    piece: Buffer = b""
    origin = position = start
    while end - position >= PROBE_SIZE:
        if position - origin + HEADER_SIZE > len(piece):
            origin, piece = position, file.read(position, min(HOP, end - position))
        try:
            header = parse_header(piece, position - origin)
        except CorruptRecordError:
            return
        if header.size > end - position:
            return
        header.position = position
        yield header
        position += header.size


def sweep(file: ReadAt, start: int, end: int) -> Iterator[Stretch]:
    """Pieces of a file with the scan of each, every CRC checked; the last one has the fault that ended it early."""
    position = start
    while position < end:
        data, scan = _read_piece(file, position, end, True, PIECE)
        yield Stretch(position, data, scan)
        if not scan.count or scan.error is not None:
            return
        position += scan.end


def walk(
    file: ReadAt,
    start: int,
    end: int,
    *,
    file_size: int,
    verify: bool = True,
    piece: int = PIECE,
    after_offset: int = -1,
    most: int | None = MOST_CANDIDATES,
) -> Iterator[Stretch | Damage]:
    """Everything between two positions: sound batches in stretches, and the damage between them.

    A range starts at a batch, and ends at one or at the end of the file: nothing past its end is read. With `verify`
    off, CRCs are not checked. `after_offset` is the last offset before the range, `most` bounds each search.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(None, b"hello")
    True
    >>> data = builder.build() + bytes(9)
    >>> [(type(part).__name__, part.position) for part in walk(BytesAt(data), 0, len(data), file_size=len(data))]
    [('Stretch', 0), ('Damage', 73)]
    """
    position, last_offset = start, after_offset
    while position < end:
        data, scan = _read_piece(file, position, end, verify, piece)
        if scan.count:
            yield Stretch(position, data[: scan.end], scan)
            position += scan.end
            last_offset = scan.last_offset[-1]
        if scan.count and scan.error is None:
            continue
        if position >= end:
            return
        problem = _problem(file, position, end, scan)
        resume = _next_start(file, position, end, last_offset, most)
        if resume is None:
            is_unfinished = end == file_size and _is_unfinished(file, position, end, scan)
            yield Damage(position, end - position, problem, True, is_unfinished)
            return
        yield Damage(position, resume - position, problem, is_tail=resume == end)
        position = resume


def resync(
    file: ReadAt, position: int, end: int, *, after_offset: int, most: int | None = MOST_CANDIDATES
) -> int | None:
    """The first position after `position` at which a sound batch starts that ends by `end`, if there is one."""
    for candidate, size in islice(_candidates(file, position + 1, end, most), most):
        scan = scan_batches(file.read(candidate, size), limit=1)
        if scan.count and after_offset < scan.base_offset[0] <= scan.last_offset[0]:
            return candidate
    return None


def _read_piece(file: ReadAt, position: int, end: int, verify: bool, piece: int) -> tuple[memoryview, BatchScan]:
    data = memoryview(file.read(position, min(piece, end - position)))
    scan = scan_batches(data, verify=verify)
    if not scan.count and scan.error is None and len(data) >= PREFIX_SIZE and position + len(data) < end:
        needed = stated_size(data)
        if needed <= end - position:
            data = memoryview(file.read(position, needed))
            scan = scan_batches(data, verify=verify)
    return data, scan


def _next_start(file: ReadAt, position: int, end: int, last_offset: int, most: int | None) -> int | None:
    """The position of the next sound batch after a bad one, or the end if the bad one reaches it exactly."""
    following = position + _size_at(file, position)
    if following == end:
        return end
    if position < following < end:
        size = _size_at(file, following)
        if 0 < size <= end - following and scan_batches(file.read(following, size), limit=1).count:
            return following
    return resync(file, position, end, after_offset=last_offset, most=most)


def _size_at(file: ReadAt, position: int) -> int:
    head = file.read(position, PREFIX_SIZE)
    return stated_size(head) if len(head) == PREFIX_SIZE else 0


def _candidates(file: ReadAt, start: int, end: int, most: int | None) -> Iterator[tuple[int, int]]:
    """Positions whose first bytes could be those of a batch that ends in time, with its size."""
    examined = 0
    while end - start >= PROBE_SIZE:
        data = memoryview(file.read(start, min(PIECE, end - start)))
        at = 0
        while match := _HEADER.search(data, at):
            found = match.start()
            size = stated_size(data, found)
            if PREFIX_SIZE + SMALLEST_LENGTHS[data[found + MAGIC_AT]] <= size <= end - start - found:
                yield start + found, size
            examined += 1
            at = found + 1
            if most is not None and examined == MOST_EXAMINED:
                return
        advance = len(data) - PROBE_SIZE + 1
        if advance <= 0:
            return
        start += advance


def _problem(file: ReadAt, position: int, end: int, scan: BatchScan) -> str:
    if scan.error is not None:
        return str(scan.error).partition(": ")[2]
    left = end - position
    if left < PREFIX_SIZE:
        return f"{left} bytes left, too few for a batch"
    return f"size {_size_at(file, position)} with {left} bytes left"


def _is_unfinished(file: ReadAt, position: int, end: int, scan: BatchScan) -> bool:
    """Whether the bytes up to the end of the file are a cut batch, or zeros."""
    if scan.error is None:
        return True
    while position < end:
        data = bytes(file.read(position, min(PIECE, end - position)))
        if not data:
            return True
        if data.count(0) != len(data):
            return False
        position += len(data)
    return True
