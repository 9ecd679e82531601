"""A range of a segment file as stretches of sound batches, and the faults between them.

Rules:
- A range starts at a batch start and ends at one, or at the end of the file. Its reader never looks past the end for
  records, so ranges can be read in any order, by anyone.
- Memory is bounded by the piece read at a time, or by one batch where that is larger.
- A batch cut by the end of the file is the tail that a writer has not finished, and so are zeros up to the end (a file
  allocated ahead): neither is a fault, unless a sound batch is found behind it.
- After a fault, reading goes on behind the batch if a sound one starts there; else at the next sound batch that can be
  found; else the rest of the range is lost.
- With `verify` off, CRCs are not checked: a fault is then only what cannot be walked over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkawire.records import scan_batches
from kafkawire.spark.resync import find_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.records import BatchScan
    from kafkawire.spark.listing import OpenFile

PIECE: Final = 4 * 1024 * 1024


@dataclass(frozen=True)
class Stretch:
    """Whole, sound batches that follow each other: where they start in the file, their bytes, their headers."""

    position: int
    data: memoryview
    scan: BatchScan


@dataclass(frozen=True)
class Fault:
    """Bytes of a file that are no sound batch, and why."""

    position: int
    size: int
    problem: str


def walk_range(
    file: OpenFile, start: int, end: int, *, file_size: int, verify: bool = True, piece: int = PIECE
) -> Iterator[Stretch | Fault]:
    """What a file holds between two positions."""
    position, last_offset = start, -1
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
        resume = _next_start(file, position, end, last_offset)
        if resume is None and end == file_size and _is_tail(file, position, end, scan):
            return
        resume = end if resume is None else resume
        yield Fault(position, resume - position, problem)
        position = resume


def _read_piece(file: OpenFile, position: int, end: int, verify: bool, piece: int) -> tuple[memoryview, BatchScan]:
    data = file.read(position, min(piece, end - position))
    scan = scan_batches(data, verify=verify)
    if not scan.count and scan.error is None and len(data) >= 12 and position + len(data) < end:
        needed = stated_size(data)
        if needed <= end - position:
            data = file.read(position, needed)
            scan = scan_batches(data, verify=verify)
    return data, scan


def _next_start(file: OpenFile, position: int, end: int, last_offset: int) -> int | None:
    """Where a sound batch starts behind the faulty one, or the end if that one reaches it exactly."""
    head = file.read(position, 12)
    behind = position + stated_size(head) if len(head) == 12 else position
    if behind == end:
        return end
    if position < behind < end:
        size = stated_size(file.read(behind, 12))
        if 0 < size <= end - behind and scan_batches(file.read(behind, size), limit=1).count:
            return behind
    return find_batch(file, position, end, after_offset=last_offset)


def stated_size(data: memoryview) -> int:
    """The size of a batch by its size field."""
    return 12 + int.from_bytes(data[8:12], "big", signed=True)


def _problem(file: OpenFile, position: int, end: int, scan: BatchScan) -> str:
    if scan.error is not None:
        return str(scan.error).partition(": ")[2]
    left = end - position
    if left < 12:
        return f"{left} bytes left, too few for a batch"
    return f"size {stated_size(file.read(position, 12))} with {left} bytes left"


def _is_tail(file: OpenFile, position: int, end: int, scan: BatchScan) -> bool:
    """Whether the bytes up to the end of the file are an unfinished batch, or zeros."""
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
