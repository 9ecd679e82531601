"""Whether the files of a partition tell the truth: each by itself, against the log, and against each other.

Rules:
- Everything kafka-dump-log checks is checked: CRCs, record by record, offset and time index entries against the batches
  they name, trailing bytes. And: overlaps of segments, index entries that are missing or out of the file, aborted
  transactions without their marker, snapshots, epochs, topic ids.
- The log is what is believed; an index that disagrees is wrong.
- A finding names the file, the place in it, what was expected and what was found. Reading goes on after it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkawire.log import checkpoints
from kafkawire.log.aborted import decode_aborted
from kafkawire.log.files import DiskFiles, map_file
from kafkawire.log.form import payload as payloads
from kafkawire.log.index import IndexFile, OffsetIndex, TimeIndex
from kafkawire.log.lookup import INDEX, TIME_INDEX
from kafkawire.log.rewrite import APPEND_TIME, CODEC, CONTROL
from kafkawire.log.segment import ABORTED, LOG
from kafkawire.log.snapshots import SNAPSHOT, SnapshotError, decode_snapshot
from kafkawire.records import HEADER_SIZE, CorruptRecordError, decompress, read_batches, scan_batches

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from kafkawire.records import BatchScan

DEFAULT_INTERVAL = 4096
AnIndex = TypeVar("AnIndex", bound=IndexFile)


class Finding(NamedTuple):
    """Something that is not as it should be; `position` is a byte in the file, or -1."""

    path: Path
    position: int
    message: str


@dataclass(slots=True)
class CheckedLog:
    """A log file and the headers of its good batches."""

    path: Path
    view: memoryview
    scan: BatchScan

    @property
    def base_offset(self) -> int:
        return int(self.path.name[:20])

    @property
    def next_offset(self) -> int:
        return self.scan.next_offset or self.base_offset


def verify_partition(directory: Path, *, interval: int = DEFAULT_INTERVAL) -> Iterator[Finding]:
    """Every finding in a partition's directory."""
    logs = [open_log(path) for path in sorted(directory.glob("*" + LOG)) if path.name[:20].isdigit()]
    for log in logs:
        yield from verify_log(log)
        yield from verify_offset_index(log, interval)
        yield from verify_time_index(log)
        yield from verify_aborted(log)
    for one, other in pairwise(logs):
        if one.next_offset > other.base_offset:
            yield Finding(
                one.path, -1, f"ends at offset {one.next_offset}, the next segment starts at {other.base_offset}"
            )
    yield from _verify_orphans(directory, logs)
    yield from _verify_snapshots(directory)
    yield from _verify_epochs(directory, logs)
    metadata = directory / checkpoints.PARTITION
    if metadata.exists() and checkpoints.read_topic_id(DiskFiles(), directory) is None:
        yield Finding(metadata, 0, "expected a version of 0 and a topic id")


def open_log(path: Path) -> CheckedLog:
    """A log file, scanned."""
    view = map_file(path)
    return CheckedLog(path, view, scan_batches(view))


def verify_log(log: CheckedLog) -> Iterator[Finding]:
    """Sizes, CRCs, offsets, and every record."""
    scan, expected = log.scan, log.base_offset
    for number in range(scan.count):
        position, base, last = scan.position[number], scan.base_offset[number], scan.last_offset[number]
        if (base if scan.magic[number] == 2 else last) < expected:
            yield Finding(log.path, position, f"batch of offsets {base} to {last}, expected {expected} or later")
        expected = max(expected, last + 1)
        problem = _problem_in_records(log, number)
        if problem:
            yield Finding(log.path, position, problem)
    if scan.error is not None:
        yield Finding(
            log.path, scan.end, f"{scan.error}; {len(log.view) - scan.end} bytes from here on are not readable"
        )
    elif scan.partial_tail:
        yield Finding(log.path, scan.end, f"{scan.partial_tail} trailing bytes that are no whole batch")


def _problem_in_records(log: CheckedLog, number: int) -> str | None:
    scan = log.scan
    position, size, attributes = scan.position[number], scan.size[number], scan.attributes[number]
    data = log.view[position : position + size]
    try:
        if scan.magic[number] < 2:
            offsets = [record.offset for batch in read_batches(data) for record in batch.records()]
            return None if all(a < b for a, b in pairwise(offsets)) else f"offsets {offsets} do not rise"
        if not scan.record_count[number]:
            return None
        records = decompress(attributes & CODEC, data[HEADER_SIZE:])
        count, base_timestamp = scan.record_count[number], scan.base_timestamp[number]
        _, largest, _, _ = payloads.examine(records, count, base_timestamp)
    except CorruptRecordError as error:
        return str(error)
    if not attributes & (APPEND_TIME | CONTROL) and largest != scan.max_timestamp[number]:
        return f"largest timestamp {scan.max_timestamp[number]}, its records have {largest}"
    return None


def _opened(kind: type[AnIndex], log: CheckedLog, suffix: str) -> Generator[Finding, None, AnIndex | None]:
    path = log.path.with_suffix(suffix)
    if not path.exists():
        yield Finding(path, -1, "missing")
        return None
    size = path.stat().st_size
    if size % kind.layout.size:
        yield Finding(path, size, f"{size} bytes, expected a multiple of {kind.layout.size}")
    return kind(DiskFiles(), path, log.base_offset, size, size)


def verify_offset_index(log: CheckedLog, interval: int = DEFAULT_INTERVAL) -> Iterator[Finding]:
    """Every entry against the batch it names, and every batch that should have one."""
    index = yield from _opened(OffsetIndex, log, INDEX)
    if index is None:
        return
    path = index.path
    starts = log.scan.position.tolist()
    indexed = [0]
    for number in range(len(index)):
        offset, position = index.entry(number)
        if (offset, position) == (log.base_offset, 0):
            break  # preallocated space of a log that is open, or was killed
        at = bisect_left(starts, position)
        where = number * OffsetIndex.layout.size
        if position >= len(log.view):
            yield Finding(path, where, f"position {position}, the log has {len(log.view)} bytes")
        elif at == len(starts) or starts[at] != position:
            yield Finding(path, where, f"no batch starts at position {position}")
        elif log.scan.last_offset[at] != offset:
            yield Finding(path, where, f"offset {offset}, the batch there ends at {log.scan.last_offset[at]}")
        if position <= indexed[-1]:
            yield Finding(path, where, f"position {position} after {indexed[-1]}, expected it to rise")
        indexed.append(max(indexed[-1], position))
    yield from _missing_entries(path, starts, indexed, interval)


def _missing_entries(path: Path, starts: list[int], indexed: list[int], interval: int) -> Iterator[Finding]:
    ends = [*indexed[1:], starts[-1] + 1 if starts else 0]
    for last, following in zip(indexed, ends, strict=True):
        due = bisect_left(starts, last + interval + 1)
        # An append of several batches may be indexed as one, so a single batch without an entry proves nothing.
        if due < len(starts) and starts[due] + interval < following:
            yield Finding(path, -1, f"no entry between positions {last} and {following}, one was due at {starts[due]}")


def verify_time_index(log: CheckedLog) -> Iterator[Finding]:
    """Every entry against the batch it names, and the order of all."""
    index = yield from _opened(TimeIndex, log, TIME_INDEX)
    if index is None:
        return
    path = index.path
    lasts = log.scan.last_offset.tolist()
    newest = -1
    for number in range(len(index)):
        timestamp, offset = index.entry(number)
        if (timestamp, offset) == (0, log.base_offset):
            break
        where = number * TimeIndex.layout.size
        at = bisect_left(lasts, offset)
        if at == len(lasts) or lasts[at] != offset:
            yield Finding(path, where, f"no batch ends at offset {offset}")
        elif log.scan.max_timestamp[at] != timestamp:
            yield Finding(path, where, f"timestamp {timestamp}, the batch has {log.scan.max_timestamp[at]}")
        if timestamp <= newest:
            yield Finding(path, where, f"timestamp {timestamp} after {newest}, expected it to rise")
        newest = max(newest, timestamp)


def verify_aborted(log: CheckedLog) -> Iterator[Finding]:
    """Every aborted transaction against its marker."""
    path = log.path.with_suffix(ABORTED)
    if not path.exists():
        return
    entries = decode_aborted(path.read_bytes())
    if entries is None:
        yield Finding(path, 0, "not a list of aborted transactions")
        return
    scan = log.scan
    markers = {
        last: producer
        for last, producer, attributes in zip(scan.last_offset, scan.producer_id, scan.attributes, strict=True)
        if attributes & CONTROL
    }
    for entry in entries:
        if markers.get(entry.last_offset) != entry.producer_id:
            yield Finding(path, -1, f"no marker of producer {entry.producer_id} at offset {entry.last_offset}")


def _verify_orphans(directory: Path, logs: list[CheckedLog]) -> Iterator[Finding]:
    stems = {log.path.stem for log in logs}
    for path in sorted(directory.iterdir()):
        if path.suffix in (INDEX, TIME_INDEX, ABORTED) and path.stem not in stems:
            yield Finding(path, -1, "there is no log of this name")


def _verify_snapshots(directory: Path) -> Iterator[Finding]:
    for path in sorted(directory.glob("*" + SNAPSHOT)):
        try:
            decode_snapshot(path.read_bytes())
        except SnapshotError as error:
            yield Finding(path, 0, str(error))


def _verify_epochs(directory: Path, logs: list[CheckedLog]) -> Iterator[Finding]:
    path = directory / checkpoints.EPOCHS
    if not path.exists():
        return
    lines = checkpoints.read_lines(DiskFiles(), path)
    try:
        if lines is None:
            raise ValueError("not a checkpoint")
        entries = [(int(epoch), int(start)) for epoch, start in lines]
    except ValueError:
        yield Finding(path, 0, "expected a version of 0, a count, and as many lines of epoch and offset")
        return
    for one, other in pairwise(entries):
        if one[0] >= other[0] or one[1] > other[1]:
            yield Finding(path, -1, f"epoch {other[0]} at {other[1]} after epoch {one[0]} at {one[1]}")
    known = {epoch for epoch, _ in entries}
    for log in logs:
        unknown = {epoch for epoch in set(log.scan.leader_epoch) if epoch >= 0} - known
        for epoch in sorted(unknown):
            yield Finding(path, -1, f"epoch {epoch} is not listed, {log.path.name} has batches of it")
