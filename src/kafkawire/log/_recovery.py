"""Recovery: opening a partition from its files, in whatever state they are.

Rules:
- After a clean stop nothing is checked, and files are read when needed.
- After any other stop, every batch from the recovery point's segment on is checked. The log ends before the first batch
  that is not whole, has a wrong CRC, or is not in order. Indexes, aborted transactions, producers and epochs are
  rebuilt from the batches that stay.
- If the topic is not compacted, a gap between two unflushed segments means that the first lost its end; the log ends
  there. On a compacted topic gaps are normal, so every whole batch is kept.
- A finished compaction (`.swap`) is completed; the files of an unfinished one (`.cleaned`), `.deleted` and `.tmp` files
  are removed.
- Damaged indexes, snapshots and checkpoints cost time, never data. A checkpoint past the log's end is ignored.
- A cut is synced before anything is appended. Else batches behind the cut could come back behind new ones when the
  power fails, because their offsets and positions may fit.
- Everything that is cut, missing or ignored is reported as a finding that names the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from kafkawire.log._leader_epochs import LeaderEpochs
from kafkawire.log._producer_snapshots import SNAPSHOT, Snapshots, is_needed, replay_producers, replay_segments
from kafkawire.log._producers import Producers
from kafkawire.log._segment import ABORTED, CLEANED, DELETED, LOG, SUFFIXES, SWAP, Segment, stem
from kafkawire.log._txn_index import decode_aborted
from kafkawire.log.checkpoints import CLEANED as CLEANED_OFFSETS
from kafkawire.log.checkpoints import EPOCHS, LOG_STARTS, RECOVERY_POINTS, read_lines
from kafkawire.log.storage.files import read_file
from kafkawire.records.walk import headers, sweep

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import Entry, FileSystem
    from kafkawire.records import BatchScan

LEFTOVERS = (DELETED, CLEANED, ".tmp")
EVERYTHING = 2**63


@dataclass(slots=True)
class PartitionState:
    """The state of a partition when it opens."""

    segments: list[Segment]
    producers: Producers
    epochs: LeaderEpochs
    snapshots: Snapshots
    end_offset: int
    log_start_offset: int
    recovery_point: int
    cleaned_offset: int = 0
    cut_bytes: int = 0
    findings: list[str] = field(default_factory=list)
    """Everything that was cut, missing or ignored, one sentence each."""
    as_closed: bool = False
    """Whether the files are those of a clean stop."""


def make(files: FileSystem, directory: Path, config: LogConfig, now: int) -> PartitionState:
    """Create a log in a new, empty directory."""
    segment = Segment(files, directory, 0, config, now)
    segment.create()
    epochs = LeaderEpochs(files, directory, is_new=True)
    return PartitionState([segment], Producers(), epochs, Snapshots(files, directory), 0, 0, 0)


def load(
    files: FileSystem,
    directory: Path,
    config: LogConfig,
    now: int,
    *,
    clean: bool,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    cleaned_offset: int = 0,
) -> PartitionState:
    """Open the log in a partition's directory."""
    listed = _finish_interrupted(files, directory)
    bases = sorted(_offset(name, LOG) for name in listed if name.endswith(LOG))
    segments = [Segment(files, directory, base, config, now, found=listed) for base in bases]
    if not segments:
        segments = [Segment(files, directory, log_start_offset, config, now)]
        segments[0].create()
    snapshots = Snapshots(files, directory, [_offset(name, SNAPSHOT) for name in listed if name.endswith(SNAPSHOT)])
    gaps_from = None if config.compacts else cleaned_offset
    loader = _Loader(files, directory, segments, snapshots, gaps_from)
    doubts = [] if clean else [recovery_point]
    doubts += loader.find_damage(listed, check_end=clean)
    if doubts:
        loader.recover(min(doubts), EVERYTHING if clean else recovery_point)
    end = loader.find_end()
    if recovery_point > end:
        loader.doubt(RECOVERY_POINTS, recovery_point, end, "every batch is checked")
        doubts.append(0)
        loader.recover(0, EVERYTHING)
        end = loader.find_end()
    if log_start_offset > end and any(segment.size for segment in loader.segments):
        loader.doubt(LOG_STARTS, log_start_offset, end, "the records are kept")
        log_start_offset = 0
    elif log_start_offset > end:
        loader.doubt(LOG_STARTS, log_start_offset, end, "without records, so it starts there")
        end = loader.start_over(Segment(files, directory, log_start_offset, config, now))
    log_start_offset = max(log_start_offset, loader.segments[0].base_offset)
    if cleaned_offset > end:
        loader.doubt(CLEANED_OFFSETS, cleaned_offset, end, "it is cleaned from its start")
        cleaned_offset = log_start_offset
    loader.find_gaps()
    producers = loader.find_producers(end)
    loader.check_epochs()
    return PartitionState(
        loader.segments,
        producers,
        loader.epochs,
        snapshots,
        end,
        log_start_offset,
        min(recovery_point, *doubts, end) if doubts else end,
        cleaned_offset,
        loader.cut_bytes,
        loader.findings,
        not doubts
        and (end in snapshots.offsets or not is_needed(producers, sum(each.size for each in loader.segments))),
    )


class _Loader:
    """The steps of opening a partition, over the segments in its directory."""

    def __init__(
        self,
        files: FileSystem,
        directory: Path,
        segments: list[Segment],
        snapshots: Snapshots,
        gaps_from: int | None,
    ) -> None:
        self.files = files
        self.directory = directory
        self.segments = segments
        self.snapshots = snapshots
        self.gaps_from = gaps_from
        """The offset after which no compaction made gaps; None if there may be gaps anywhere."""
        self.epochs = LeaderEpochs(files, directory)
        self.cut_bytes = 0
        self.findings: list[str] = []
        self._replayed: tuple[int, Producers] | None = None

    def doubt(self, checkpoint: str, offset: int, end: int, done: str) -> None:
        """Report a checkpoint that the log does not confirm."""
        path, name = self.directory.parent / checkpoint, self.directory.name
        self.findings.append(f"{path}: {name} at offset {offset}, its log ends at {end}; {done}")

    def find_gaps(self) -> None:
        """Report offsets that no segment holds, and segments that do not end with a whole batch."""
        if self.gaps_from is None:
            return
        for segment, following in pairwise(self.segments):
            if following.base_offset <= self.gaps_from:
                continue
            last = segment.last_batch()
            end = last.next_offset if last else segment.base_offset
            if last is None and segment.size:
                self.findings.append(f"{segment.path}: it does not end with a whole batch")
            elif end < following.base_offset:
                self.findings.append(
                    f"{self.directory}: offsets {end} to {following.base_offset - 1} are missing "
                    f"between {segment.path.name} and {following.path.name}"
                )

    def find_damage(self, listed: dict[str, Entry], *, check_end: bool) -> Iterator[int]:
        """Base offsets of segments whose files are damaged."""
        for segment in self.segments:
            path = segment.aborted.path
            if path.name in listed and decode_aborted(read_file(self.files, path)) is None:
                yield segment.base_offset
        *before, last = self.segments
        if check_end and last.size and last.last_batch() is None:
            yield last.base_offset
        # A segment that failed to start may have left its log, while the segment before it continued to grow.
        ended = before[-1].last_batch() if check_end and before and not last.size else None
        if ended is not None and ended.next_offset > last.base_offset:
            yield before[-1].base_offset

    def recover(self, doubted: int, durable: int) -> None:
        """Check every batch from an offset's segment on, and truncate the log at the first bad one.

        A gap between segments before the offset `durable` does not end the log: everything there had been synced.
        """
        start = max((n for n, segment in enumerate(self.segments) if segment.base_offset <= doubted), default=0)
        first = self.segments[start].base_offset
        found, producers = self.snapshots.load(first)
        replay_segments(self.segments[:start], producers, found, first)
        self.snapshots.remove([offset for offset in self.snapshots.offsets if offset > first])
        next_offset = first
        for number in range(start, len(self.segments)):
            segment = self.segments[number]
            if segment.base_offset < next_offset:
                self._drop_from(number, f"it starts before offset {next_offset}, where {self._named(number - 1)} ends")
                break
            if self.gaps_from is not None and segment.base_offset > max(next_offset, durable, self.gaps_from):
                self._drop_from(number, f"offsets {next_offset} to {segment.base_offset - 1} before it were lost")
                break
            if number > start:
                self.snapshots.save(segment.base_offset, producers)
            next_offset, whole = self._recover_segment(segment, producers)
            if not whole:
                self._drop_from(number + 1, f"it comes after the cut of {segment.path.name}")
                break
        self.epochs.truncate_end(next_offset)
        self.snapshots.save(next_offset, producers)
        self._replayed = next_offset, producers

    def _recover_segment(self, segment: Segment, producers: Producers) -> tuple[int, bool]:
        size = segment.file.size()
        segment.start_rebuilding()
        next_offset = segment.base_offset
        reason = ""
        for _, piece, scan in sweep(segment.file, 0, size):
            count, next_offset = _in_order(scan, next_offset)
            segment.note(zip(scan.last_offset[:count], scan.size[:count], _timestamps(scan), strict=False))
            for closed in replay_producers(scan, piece, count, producers):
                segment.aborted.append(closed)
            self._replay_epochs(scan, count)
            if count < scan.count:
                found = scan.base_offset[count]
                reason = f"batch out of order, offset {found}, expected {next_offset} or more"
                break
            if scan.error is not None:
                reason = str(scan.error).partition(": ")[2]
        whole = segment.size == size
        if not whole:
            reason = reason or "torn batch"
            self.findings.append(f"{segment.path}: cut at byte {segment.size} of {size}: {reason}")
            self.cut_bytes += size - segment.size
            segment.file.truncate(segment.size)
            segment.file.sync()
        segment.seal()
        return next_offset, whole

    def _replay_epochs(self, scan: BatchScan, count: int) -> None:
        latest = self.epochs.latest
        for epoch, offset in zip(scan.leader_epoch[:count], scan.base_offset[:count], strict=True):
            if epoch > latest:
                self.epochs.assign(epoch, offset)
                latest = epoch

    def _named(self, number: int) -> str:
        return self.segments[number].path.name

    def _drop_from(self, number: int, reason: str = "") -> None:
        for segment in self.segments[number:]:
            if reason:
                self.findings.append(f"{segment.path}: removed, {segment.size} bytes: {reason}")
            self.cut_bytes += segment.size
            segment.rename("", DELETED)
            segment.remove()
        if number < len(self.segments):
            self.files.sync_directory(self.directory)
        del self.segments[number:]

    def start_over(self, fresh: Segment) -> int:
        """Remove all segments, because they are before the log start, and start there with an empty one."""
        self._drop_from(0)
        fresh.create()
        self.segments.append(fresh)
        self.files.sync_directory(self.directory)
        self.epochs.truncate_end(0)
        return fresh.base_offset

    def find_end(self) -> int:
        """The end offset of the log: the one after the last batch of the last segment."""
        last = self.segments[-1]
        batch = last.last_batch()
        return batch.next_offset if batch else last.base_offset

    def find_producers(self, end: int) -> Producers:
        """The producers at the log's end: from the recovery, or from the latest snapshot and the batches since."""
        if self._replayed is not None and self._replayed[0] == end:
            found, producers = self._replayed
        else:
            found, producers = self.snapshots.load(end)
        if found < end:
            replay_segments(self.segments, producers, found, end)
        self.snapshots.keep(segment.base_offset for segment in self.segments)
        return producers

    def check_epochs(self) -> None:
        """Rebuild the epochs if their file was lost."""
        if any(segment.size for segment in self.segments) and read_lines(self.files, self.directory / EPOCHS) is None:
            for segment in self.segments:
                for header in segment.batches():
                    if header.leader_epoch > self.epochs.latest:
                        self.epochs.assign(header.leader_epoch, header.base_offset)


def _finish_interrupted(files: FileSystem, directory: Path) -> dict[str, Entry]:
    """Complete or undo the file operations that the stop interrupted; the files that are left."""
    listed = files.list(directory)
    names = {entry.name for entry in listed}
    swaps = sorted(name for name in names if name.endswith(LOG + SWAP))
    leftovers = [
        name
        for name in names
        if name.endswith(LEFTOVERS) or (name.endswith(SWAP) and name[:20] + LOG + SWAP not in names)
    ]
    for name in leftovers:
        files.remove(directory / name)
    for name in swaps:
        _finish_swap(files, directory, name, names)
    if leftovers or swaps:
        listed = files.list(directory)
        names = {entry.name for entry in listed}
    found = {entry.name: entry for entry in listed if _belongs(entry.name)}
    for name in [name for name in found if name.endswith(SUFFIXES) and name[:20] + LOG not in names]:
        files.remove(directory / name)
        del found[name]
    return found


def _finish_swap(files: FileSystem, directory: Path, name: str, names: set[str]) -> None:
    base = _offset(name, LOG + SWAP)
    file = files.open(directory / name)
    last = None
    for header in headers(file, 0, file.size()):
        last = header
    end = last.next_offset if last else base
    for other in [_offset(found, LOG) for found in names if found.endswith(LOG)]:
        if base <= other < end:
            for suffix in SUFFIXES if other != base else SUFFIXES[1:3]:
                files.remove(directory / (stem(other) + suffix))
    aborted = directory / (stem(base) + ABORTED + SWAP)
    if files.exists(aborted):
        files.rename(aborted, aborted.with_name(stem(base) + ABORTED))
    for suffix in SUFFIXES[1:3]:
        files.remove(directory / (stem(base) + suffix + SWAP))
    files.rename(directory / name, directory / (stem(base) + LOG))
    files.sync_directory(directory)


def _belongs(name: str) -> bool:
    return name.endswith((*SUFFIXES, SNAPSHOT)) and name[:20].isdigit() and name[20:21] == "."


def _offset(name: str, suffix: str) -> int:
    return int(name.removesuffix(suffix))


def _in_order(scan: BatchScan, next_offset: int) -> tuple[int, int]:
    """The number of batches of a scan that are in order from an offset on, and the offset after them."""
    for number, (magic, base, last) in enumerate(zip(scan.magic, scan.base_offset, scan.last_offset, strict=True)):
        if (base if magic == 2 else last) < next_offset or last < base:
            return number, next_offset
        next_offset = last + 1
    return scan.count, next_offset


def _timestamps(scan: BatchScan) -> Iterable[int]:
    if 0 not in scan.record_count:
        return scan.max_timestamp
    return (stamp if count else -1 for stamp, count in zip(scan.max_timestamp, scan.record_count, strict=True))
