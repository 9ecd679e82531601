"""Cutting segment files into ranges that tasks can read on their own.

Rules:
- A cut is at a batch start, and known to be one: a batch with a good CRC stands there.
- Cuts come from the `.index` file beside the log, which names batch starts every few kilobytes. It is a hint: each cut
  taken from it is checked against the log, and an index that is wrong once is not used.
- Where the index is missing, wrong or too short, headers are walked; what lies behind a fault in them stays in one
  piece. A local file is read whole for that. Of a file that is elsewhere, only headers are read where batches are
  large; and it is walked only where files are fewer than tasks.
- A rest of up to twice the size wanted is not worth a walk.
- Ranges of files are joined until a task has enough to do, in the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.records import scan_batches
from kafkawire.spark.listing import OpenFile
from kafkawire.spark.walk import PIECE, Stretch, stated_size, walk_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.spark.listing import SegmentFile

    Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

MAX_PARTITION_BYTES: Final = 128 * 1024 * 1024
SMALLEST_TASK: Final = 4 * 1024 * 1024
_LARGEST_INDEX: Final = 64 * 1024 * 1024
_LARGEST_PROOF: Final = 16 * 1024 * 1024
_HEAD: Final = 17  # offset, size, what was the CRC, magic
_MAGIC: Final = 16
_LARGE: Final = 256 * 1024  # from here on a read of its own for each header is cheaper than reading everything


@dataclass(frozen=True)
class FileRange:
    """A part of a segment file that starts at a batch."""

    file: SegmentFile
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def plan_tasks(
    files: Sequence[SegmentFile], *, max_bytes: int = MAX_PARTITION_BYTES, min_tasks: int = 1
) -> list[list[FileRange]]:
    """What each task is to read: about `max_bytes`, or less where that gives `min_tasks` tasks something to do."""
    total = sum(file.size for file in files)
    target = max(1, min(max_bytes, max(SMALLEST_TASK, -(-total // max(1, min_tasks)))))
    walks_far = len(files) < min_tasks
    parts = (part for file in files for part in split(file, target, walks_far=walks_far))
    return list(_joined(parts, target))


def plan_whole_files(files: Sequence[SegmentFile], *, max_bytes: int = MAX_PARTITION_BYTES) -> list[list[FileRange]]:
    """What each task is to read where a file, also an empty one, has to be seen whole."""
    return list(_joined((FileRange(file, 0, file.size) for file in files), max_bytes))


def split(file: SegmentFile, target: int, *, walks_far: bool = True) -> Iterator[FileRange]:
    """A file in parts of about `target` bytes; an empty file has none."""
    start = 0
    if file.size > target:
        with OpenFile(file.name) as log:
            for cut in _cuts(file, log, target, walks_far):
                yield FileRange(file, start, cut)
                start = cut
    if file.size > start:
        yield FileRange(file, start, file.size)


def _joined(parts: Iterable[FileRange], target: int) -> Iterator[list[FileRange]]:
    task: list[FileRange] = []
    size = 0
    for part in parts:
        if task and size + part.size > target:
            yield task
            task, size = [], 0
        task.append(part)
        size += part.size
    if task:
        yield task


def _cuts(file: SegmentFile, log: OpenFile, target: int, walks_far: bool) -> Iterator[int]:
    cuts = _cuts_by_index(file, log, target)
    yield from cuts
    reached = cuts[-1] if cuts else 0
    if file.size - reached <= 2 * target:
        return
    if "://" not in file.name:
        yield from _cuts_by_walk(file, log, reached, target)
    elif walks_far:
        yield from _cuts_by_hops(file, log, reached, target)


def _cuts_by_index(file: SegmentFile, log: OpenFile, target: int) -> list[int]:
    """Cuts from the index; none if there is no index or it is wrong."""
    entries = _read_index(file)
    if entries is None or file.base_offset is None:
        return []
    offsets, positions = entries
    numbers = np.unique(np.searchsorted(positions, np.arange(target, file.size, target)))
    cuts = []
    for number in numbers[numbers < len(positions)].tolist():
        position = int(positions[number])
        if not _is_batch(log, position, file.size, file.base_offset + int(offsets[number])):
            return []
        cuts.append(position)
    return cuts


def _read_index(file: SegmentFile) -> tuple[Integers, Integers] | None:
    """Relative offsets and positions as far as they rise; the zeros of an index allocated ahead are not entries."""
    try:
        with OpenFile(file.beside(".index")) as index:
            data = index.read(0, _LARGEST_INDEX)
    except OSError:
        return None
    entries = np.frombuffer(data[: len(data) // 8 * 8], ">i4").astype(np.int64).reshape(-1, 2)
    rising = np.flatnonzero(np.diff(entries[:, 1], prepend=0) <= 0)
    entries = entries[: rising[0] if len(rising) else len(entries)]
    return (entries[:, 0], entries[:, 1]) if len(entries) else None


def _is_batch(log: OpenFile, position: int, file_size: int, last_offset: int) -> bool:
    head = log.read(position, 12) if position + 12 <= file_size else memoryview(b"")
    size = stated_size(head) if len(head) == 12 else 0
    if not 0 < size <= min(file_size - position, _LARGEST_PROOF):
        return False
    scan = scan_batches(log.read(position, size), limit=1)
    return bool(scan.count) and scan.last_offset[0] == last_offset


def _cuts_by_walk(file: SegmentFile, log: OpenFile, start: int, target: int) -> Iterator[int]:
    next_cut = start + target
    for part in walk_range(log, start, file.size, file_size=file.size, verify=False):
        if not isinstance(part, Stretch):
            return
        starts = np.frombuffer(part.scan.position, np.int64) + part.position
        for start in starts[np.searchsorted(starts, next_cut) :].tolist():
            if start >= next_cut:
                yield start
                next_cut = start + target


def _cuts_by_hops(file: SegmentFile, log: OpenFile, start: int, target: int) -> Iterator[int]:
    """Cuts from one header to the next, by as few and as small reads as the batches allow."""
    position, next_cut = start, start + target
    data, at, ahead = memoryview(b""), start, PIECE
    while position + _HEAD <= file.size:
        if position + _HEAD > at + len(data):
            data, at = log.read(position, ahead), position
        head = data[position - at : position - at + _HEAD]
        size = stated_size(head) if len(head) == _HEAD and head[_MAGIC] <= 2 else 0
        if not _HEAD <= size <= file.size - position:
            return
        if position >= next_cut:
            yield position
            next_cut = position + target
        ahead = _HEAD if size >= _LARGE else PIECE
        position += size
