"""Log directories as Kafka writes them: which files there are, and whether the indexes agree with the logs.

Rules:
- A partition is a directory `topic-N` that holds files named by an offset; a log directory holds partitions.
- A file that is named for deletion, or that cleaning has not finished, is left over: it is no part of the log.
- A log is walked by its own lengths, never by its index: the index is what is checked. Behind a batch whose checksum
  fails the walk goes on; behind a header that makes no sense it goes on at the next batch that the index names.
- An index ends at its first entry of zeros: the broker had allocated the rest.
- An entry of `.index` names the batch at its position by the last offset; one of `.timeindex` names a batch that holds
  its offset by the largest timestamp. Both rise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkawire.inspect.sources.files import map_file
from kafkawire.records import BatchScan, CorruptRecordError, parse_header, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from kafkawire.inspect.sources.files import Bytes

_FOLDER: Final = re.compile(r"(.+)-(\d+)(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")
_SEGMENT: Final = re.compile(r"(\d{20})\.(log|index|timeindex|txnindex|snapshot)(\.(?:deleted|cleaned|swap))?")
_OFFSETS: Final = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIMES: Final = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
_COLUMNS: Final = (
    *("position", "size", "magic", "attributes", "base_offset", "last_offset", "record_count", "base_timestamp"),
    *("max_timestamp", "leader_epoch", "producer_id", "producer_epoch", "base_sequence", "crc"),
)


class SegmentFile(NamedTuple):
    """A file of a partition that is named by an offset."""

    path: Path
    kind: str
    base_offset: int
    is_left_over: bool = False


@dataclass(slots=True)
class Partition:
    """A partition's directory."""

    folder: Path
    topic: str
    number: int
    files: list[SegmentFile] = field(default_factory=list)


class Disagreement(NamedTuple):
    """An entry of a file that the log does not bear out, or what is wrong with the file as a whole."""

    entry: int | None
    offset: int | None
    position: int | None
    expected: int | None
    found: int | None
    text: str


@dataclass(slots=True)
class LogWalk:
    """The batches of a log file as columns, and what was wrong on the way."""

    columns: dict[str, NDArray[np.int64]]
    good: NDArray[np.bool_]
    faults: list[str]

    def __len__(self) -> int:
        return len(self.good)


def find_partitions(root: Path) -> list[Partition]:
    """The partition that a directory is, or those that it holds."""
    found = []
    for folder in (root, *sorted(path for path in root.iterdir() if path.is_dir())):
        name = _FOLDER.fullmatch(folder.name)
        files = list(_segment_files(folder))
        if name is not None and files:
            found.append(Partition(folder, name[1], int(name[2]), files))
    return found


def _segment_files(folder: Path) -> Iterator[SegmentFile]:
    for path in sorted(folder.iterdir()):
        name = _SEGMENT.fullmatch(path.name)
        if name is not None and path.is_file():
            yield SegmentFile(path, name[2], int(name[1]), name[3] is not None)


def walk_log(data: Bytes, resume: NDArray[np.int64] | None = None) -> LogWalk:
    """The batches of a log file; `resume` has the positions at which a walk that is lost may go on."""
    scans: list[dict[str, NDArray[np.int64]]] = []
    good: list[NDArray[np.bool_]] = []
    faults: list[str] = []
    position, view = 0, data.data
    while position < len(data):
        scan = scan_batches(view, start=position)
        scans.append(_columns(scan))
        good.append(np.ones(scan.count, np.bool_))
        if scan.error is None:
            if scan.partial_tail:
                faults.append(f"byte {scan.end}: {scan.partial_tail} bytes that are no whole batch")
            break
        faults.append(str(scan.error))
        following = _step_over(view, scan.end, scans, good, resume)
        if following is None:
            faults.append(f"byte {scan.end}: the remaining {len(data) - scan.end} bytes are not read")
            break
        position = following
    columns = {name: np.concatenate([each[name] for each in scans]) for name in _COLUMNS} if scans else _nothing()
    return LogWalk(columns, np.concatenate(good) if good else np.empty(0, np.bool_), faults)


def _step_over(
    view: memoryview,
    position: int,
    scans: list[dict[str, NDArray[np.int64]]],
    good: list[NDArray[np.bool_]],
    resume: NDArray[np.int64] | None,
) -> int | None:
    """Where to go on behind a bad batch: at its end if its header reads, else where the index says one begins."""
    try:
        header = parse_header(view, position)
    except CorruptRecordError:
        later = np.empty(0, np.int64) if resume is None else resume[resume > position]
        return int(later[0]) if len(later) else None
    if header.end > len(view):
        return None
    scans.append({name: np.array([getattr(header, name)], np.int64) for name in _COLUMNS})
    good.append(np.zeros(1, np.bool_))
    return header.end


def _columns(scan: BatchScan) -> dict[str, NDArray[np.int64]]:
    columns: dict[str, NDArray[np.int64]] = {}
    for name in _COLUMNS:
        values: memoryview[Any] = getattr(scan, name)
        columns[name] = np.asarray(values).astype(np.int64)
    return columns


def _nothing() -> dict[str, NDArray[np.int64]]:
    return {name: np.empty(0, np.int64) for name in _COLUMNS}


def read_index(file: SegmentFile) -> NDArray[Any]:
    """The entries of an `.index` or `.timeindex` file."""
    layout = _OFFSETS if file.kind == "index" else _TIMES
    if file.path.stat().st_size < layout.itemsize:
        return np.empty(0, layout)
    data = map_file(file.path)
    entries = np.frombuffer(data[: len(data) // layout.itemsize * layout.itemsize], layout)
    blank = np.flatnonzero(
        (entries["offset"] == 0) & (entries["position" if file.kind == "index" else "timestamp"] == 0)
    )
    return entries[: blank[0]] if len(blank) else entries


def check_index(file: SegmentFile, entries: NDArray[Any], log: LogWalk, size: int) -> Iterator[Disagreement]:
    """What an offset index says that its log does not."""
    offsets = entries["offset"].astype(np.int64) + file.base_offset
    positions = entries["position"].astype(np.int64)
    starts = log.columns["position"]
    place = np.searchsorted(starts, positions)
    inside = place < len(starts)
    meets = inside & (starts[np.minimum(place, max(len(starts) - 1, 0))] == positions) if len(starts) else inside
    last = log.columns["last_offset"]
    rising = np.concatenate([np.ones(1, np.bool_), offsets[1:] > offsets[:-1]]) if len(offsets) else offsets > 0
    for entry in range(len(entries)):
        offset, position = int(offsets[entry]), int(positions[entry])
        if not rising[entry]:
            before = int(offsets[entry - 1])
            yield Disagreement(entry, offset, position, before + 1, offset, f"offset {offset} follows {before}")
        elif position >= size or position < 0:
            yield Disagreement(
                entry, offset, position, size, position, f"position {position} is beyond the log's {size}"
            )
        elif not meets[entry]:
            yield Disagreement(entry, offset, position, None, None, f"no batch begins at position {position}")
        elif int(last[place[entry]]) != offset:
            found = int(last[place[entry]])
            text = f"the batch at position {position} ends at offset {found}, the index says {offset}"
            yield Disagreement(entry, offset, position, offset, found, text)


def check_time_index(file: SegmentFile, entries: NDArray[Any], log: LogWalk) -> Iterator[Disagreement]:
    """What a time index says that its log does not."""
    offsets = entries["offset"].astype(np.int64) + file.base_offset
    stamps = entries["timestamp"].astype(np.int64)
    place = np.searchsorted(log.columns["last_offset"], offsets)
    for entry in range(len(entries)):
        offset, stamp = int(offsets[entry]), int(stamps[entry])
        if entry and stamp <= int(stamps[entry - 1]):
            before = int(stamps[entry - 1])
            yield Disagreement(entry, offset, None, before + 1, stamp, f"timestamp {stamp} follows {before}")
            continue
        index = int(place[entry])
        if index >= len(log) or int(log.columns["base_offset"][index]) > offset:
            yield Disagreement(entry, offset, None, None, None, f"no batch holds offset {offset}")
            continue
        found = int(log.columns["max_timestamp"][index])
        if found != stamp:
            text = f"the batch of offset {offset} has the timestamp {found}, the index says {stamp}"
            yield Disagreement(entry, offset, None, stamp, found, text)
