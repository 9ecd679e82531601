"""Split segment files into ranges that tasks can read independently.

Rules:
- A cut is at a verified batch start: a batch with a valid CRC begins there.
- Cuts come from the `.index` file beside the log, which names a batch start every few kilobytes. It is only a hint:
  each cut is checked against the log, and an index with one wrong cut is not used.
- If the index is missing, wrong or too short, headers are walked; the bytes after a fault stay in one range. A local
  file is read whole for that. Of a remote file with large batches only headers are read. A remote file is walked only
  if there are fewer files than tasks.
- A remainder of up to twice the target size is not walked.
- Ranges are joined in the order of the files until a task has its target size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.records import scan_batches
from kafkawire.records.layout import MAGIC_AT, PREFIX_SIZE, PROBE_SIZE, stated_size
from kafkawire.records.walk import PIECE, Stretch, walk
from kafkawire.spark._segments.files import OpenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.spark._segments.files import SegmentFile

    Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

MAX_PARTITION_BYTES: Final = 128 * 1024 * 1024
SMALLEST_TASK: Final = 4 * 1024 * 1024
_LARGEST_INDEX: Final = 64 * 1024 * 1024
_LARGEST_PROOF: Final = 16 * 1024 * 1024
_LARGE: Final = 256 * 1024  # from this size on, one read per header is cheaper than reading everything


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
    """The ranges of each task: about `max_bytes`, or less if that gives `min_tasks` tasks."""
    total = sum(file.size for file in files)
    target = max(1, min(max_bytes, max(SMALLEST_TASK, -(-total // max(1, min_tasks)))))
    walks_far = len(files) < min_tasks
    parts = (part for file in files for part in split(file, target, walks_far=walks_far))
    return list(_joined(parts, target))


def plan_whole_files(files: Sequence[SegmentFile], *, max_bytes: int = MAX_PARTITION_BYTES) -> list[list[FileRange]]:
    """The files of each task if files must be read whole; empty files are included."""
    return list(_joined((FileRange(file, 0, file.size) for file in files), max_bytes))


def plan_whole_partitions(
    partitions: Iterable[Sequence[SegmentFile]], *, max_bytes: int = MAX_PARTITION_BYTES
) -> list[list[FileRange]]:
    """The files of each task if all files of a partition must be read by one task."""
    tasks: list[list[FileRange]] = []
    size = 0
    for own in partitions:
        parts = [FileRange(file, 0, file.size) for file in own]
        added = sum(part.size for part in parts)
        if not tasks or size + added > max_bytes:
            tasks.append([])
            size = 0
        tasks[-1] += parts
        size += added
    return tasks


def split(file: SegmentFile, target: int, *, walks_far: bool = True) -> Iterator[FileRange]:
    """Split a file into ranges of about `target` bytes; an empty file has none."""
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
    """Cuts from the index; empty if it is missing or wrong."""
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
    """Relative offsets and positions as far as they rise; the zeros of a preallocated index are not entries."""
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
    head = log.read(position, PREFIX_SIZE) if position + PREFIX_SIZE <= file_size else memoryview(b"")
    size = stated_size(head) if len(head) == PREFIX_SIZE else 0
    if not 0 < size <= min(file_size - position, _LARGEST_PROOF):
        return False
    scan = scan_batches(log.read(position, size), limit=1)
    return bool(scan.count) and scan.last_offset[0] == last_offset


def _cuts_by_walk(file: SegmentFile, log: OpenFile, start: int, target: int) -> Iterator[int]:
    next_cut = start + target
    for part in walk(log, start, file.size, file_size=file.size, verify=False):
        if not isinstance(part, Stretch):
            return
        starts = np.frombuffer(part.scan.position, np.int64) + part.position
        for start in starts[np.searchsorted(starts, next_cut) :].tolist():
            if start >= next_cut:
                yield start
                next_cut = start + target


def _cuts_by_hops(file: SegmentFile, log: OpenFile, start: int, target: int) -> Iterator[int]:
    """Cuts from one header to the next, with as few and as small reads as possible."""
    position, next_cut = start, start + target
    data, at, ahead = memoryview(b""), start, PIECE
    while position + PROBE_SIZE <= file.size:
        if position + PROBE_SIZE > at + len(data):
            data, at = log.read(position, ahead), position
        head = data[position - at : position - at + PROBE_SIZE]
        size = stated_size(head) if len(head) == PROBE_SIZE and head[MAGIC_AT] <= 2 else 0
        if not PROBE_SIZE <= size <= file.size - position:
            return
        if position >= next_cut:
            yield position
            next_cut = position + target
        ahead = PROBE_SIZE if size >= _LARGE else PIECE
        position += size
