"""The repair of one partition directory, planned from the findings of verification.

Rules:
- A damaged log is cut at the first bad batch, as a recovery cuts it: later batches and segments are removed too. With
  `keep_after` only the bad bytes are removed: an empty batch takes their offsets, because a recovery ends a log at a
  gap.
- The checksum of a batch does not cover its base offset. A wrong one that its neighbours contradict is a bad batch too;
  with `keep_after` it gets its offset back.
- A log file that is changed or removed is copied beside itself first.
- Indexes, aborted transactions, snapshots and epochs are built again from the log. No copy of them is kept.
- Records that are whole by their checksum and yet malformed are reported and left alone, because any change loses them.
- The work of the first repair does everything. A stop in between leaves a log that a recovery opens.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.log import checkpoints
from kafkawire.log._position_index import INDEX, TIME_INDEX
from kafkawire.log._producer_snapshots import SNAPSHOT
from kafkawire.log._recovery import LEFTOVERS
from kafkawire.log._repair.plan import Repair
from kafkawire.log._repair.salvage import Span, damaged_name, keep_copy, salvage, write_parts
from kafkawire.log._segment import ABORTED, DELETED, LOG, SUFFIXES, SWAP
from kafkawire.log.config import LogConfig
from kafkawire.log.directory import wall_clock
from kafkawire.log.partition import Partition
from kafkawire.log.storage.files import map_file
from kafkawire.records import BatchBuilder
from kafkawire.records.layout import LEADER_EPOCH_AT, SIZE_AT
from kafkawire.records.walk import PIECE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkawire.log._offline.verify import Finding
    from kafkawire.log.checkpoints import TopicPartition
    from kafkawire.log.storage.files import File, FileSystem

_OFFSETS: Final = (
    checkpoints.RECOVERY_POINTS,
    checkpoints.LOG_STARTS,
    checkpoints.HIGH_WATERMARKS,
    checkpoints.CLEANED,
)
_REBUILT: Final = (INDEX, TIME_INDEX, ABORTED, SNAPSHOT)
# Gaps are not losses here: it is not known whether the topic is compacted.
_CONFIG: Final = LogConfig(cleanup_policy="compact")


class _BadPlace(NamedTuple):
    """A place in a log file that is not a whole batch in order; `offset` is the one that a misnumbered batch had."""

    position: int
    reason: str
    offset: int = -1


@dataclass
class _LogFile:
    """One log file: the batches that are whole, under the offsets that they had, and the places that are bad."""

    path: Path
    size: int
    kept: list[Span] = field(default_factory=list)
    bad: list[_BadPlace] = field(default_factory=list)

    @property
    def base_offset(self) -> int:
        return int(self.path.name[:20])

    @property
    def next_offset(self) -> int:
        return self.kept[-1].last_offset + 1 if self.kept else self.base_offset

    @property
    def has_gaps(self) -> bool:
        return any(one.last_offset + 1 < other.base_offset for one, other in pairwise(self.kept))


def plan_partition(
    files: FileSystem,
    directory: Path,
    findings: list[Finding],
    *,
    keep_after: bool = False,
    is_compacted: bool | None = None,
    log_start_offset: int = 0,
) -> list[Repair]:
    """The faults of a partition and their repairs; nothing is changed yet.

    `findings` are those of `verify_partition`. If it is unknown whether the topic is compacted, a gap between
    segments is a fault unless there are gaps within segments too.
    """
    return _Plan(files, directory, findings, keep_after, log_start_offset).repairs(is_compacted)


class _Plan:
    """The faults of one partition."""

    def __init__(
        self, files: FileSystem, directory: Path, findings: list[Finding], keep_after: bool, log_start_offset: int
    ) -> None:
        self._files = files
        self._directory = directory
        self._findings = findings
        self._keep_after = keep_after
        self._log_start_offset = log_start_offset
        self._logs = list(_read_logs(directory))

    def repairs(self, is_compacted: bool | None) -> list[Repair]:
        found = [*self._damage(), *self._rebuilt(), *self._leftovers()]
        if found:
            found[0] = found[0]._replace(work=self._work)
        return [*found, *self._gaps(is_compacted), *self._left_alone()]

    def _damage(self) -> Iterator[Repair]:
        for number, log in enumerate(self._logs):
            for bad in log.bad:
                before = [span for span in log.kept if span.position < bad.position]
                behind = [span for span in log.kept if span.position > bad.position]
                behind += (span for later in self._logs[number + 1 :] for span in later.kept)
                end = before[-1].last_offset + 1 if before else log.base_offset
                level = logging.ERROR if behind else logging.WARNING
                yield Repair(log.path, bad.position, _fault(bad.reason, behind), self._remedy(end, bad, behind), level)
                if not self._keep_after:
                    return

    def _remedy(self, end: int, bad: _BadPlace, behind: list[Span]) -> str:
        if self._keep_after and bad.offset >= 0:
            return f"the batch gets offset {bad.offset} again; a copy of the file stays beside it"
        if not behind:
            return f"cut at offset {end}; a copy of the file stays beside it"
        if self._keep_after:
            first = behind[0].base_offset
            empty = f", an empty batch takes offsets {end} to {first - 1}" if first > end else ""
            return f"the bad bytes are removed{empty}; a copy of the file stays beside it"
        return f"the log is cut at offset {end}; copies of its files stay beside it (--keep-after keeps what is behind)"

    def _rebuilt(self) -> Iterator[Repair]:
        """One repair per file, however many of its entries are wrong."""
        faults: dict[Path, list[Finding]] = {}
        for finding in self._findings:
            if finding.path.suffix in _REBUILT or finding.path.name == checkpoints.EPOCHS:
                faults.setdefault(finding.path, []).append(finding)
        for path, (first, *others) in faults.items():
            words = f"{first.message}, and {len(others)} faults more" if others else first.message
            yield Repair(path, first.position, words, "built again from the log")

    def _leftovers(self) -> Iterator[Repair]:
        for path in sorted(self._directory.iterdir()):
            # A file that is deleted keeps that name for file.delete.delay.ms, so `.deleted` is not a fault.
            if path.name.endswith((*LEFTOVERS, SWAP)) and not path.name.endswith(DELETED):
                words = "left over from a compaction or a write that was interrupted"
                yield Repair(path, -1, words, "finished" if path.name.endswith(SWAP) else "removed")

    def _gaps(self, is_compacted: bool | None) -> Iterator[Repair]:
        if any(log.has_gaps for log in self._logs) if is_compacted is None else is_compacted:
            return
        for one, other in pairwise(self._logs):
            if one.next_offset < other.base_offset and not one.bad:
                words = f"offsets {one.next_offset} to {other.base_offset - 1} are missing before this segment"
                yield Repair(other.path, -1, words, "left alone", logging.ERROR, is_repaired=False)

    def _left_alone(self) -> Iterator[Repair]:
        ends = {log.path: log.bad[0].position if log.bad else log.size for log in self._logs}
        for finding in self._findings:
            if finding.path.suffix == LOG and 0 <= finding.position < ends.get(finding.path, 0):
                yield Repair(*finding[:3], "left alone", logging.ERROR, is_repaired=False)
            elif finding.path.name == checkpoints.PARTITION:
                remedy = "left alone; the repair of the data directory writes it"
                yield Repair(*finding[:3], remedy, is_repaired=False)

    def _work(self) -> None:
        bad = next((number for number, log in enumerate(self._logs) if log.bad), None)
        if bad is not None and self._keep_after:
            following = [each.base_offset for each in self._logs[1:]]
            for log, until in zip(self._logs, [*following, None], strict=True):
                if log.bad:
                    self._rewrite(log, log.kept, until)
        elif bad is not None:
            log = self._logs[bad]
            self._rewrite(log, [span for span in log.kept if span.position < log.bad[0].position], None)
            for later in self._logs[bad + 1 :]:
                self._forget_indexes(later.path)
                self._files.rename(later.path, damaged_name(self._files, later.path))
        if any(finding.path.name == checkpoints.EPOCHS for finding in self._findings):
            self._files.remove(self._directory / checkpoints.EPOCHS)
        self._files.sync_directory(self._directory)
        self._recover()

    def _rewrite(self, log: _LogFile, kept: list[Span], until: int | None) -> None:
        keep_copy(self._files, log.path)
        self._forget_indexes(log.path)
        write_parts(self._files, log.path, _content(self._files.open(log.path), log, kept, until))

    def _forget_indexes(self, path: Path) -> None:
        for suffix in SUFFIXES[1:]:
            self._files.remove(path.with_suffix(suffix))

    def _recover(self) -> None:
        """Open the log as after a crash, which checks every batch and rebuilds everything else."""
        start = self._log_start_offset
        ends = [log.next_offset for log in self._logs]
        opened = Partition(
            self._files,
            self._directory,
            _CONFIG,
            wall_clock,
            log_start_offset=start if start <= max(ends, default=0) else 0,
        )
        opened.close()
        topic, _, number = self._directory.name.rpartition("-")
        if number.isdigit():
            self._correct_checkpoints((topic, int(number)), opened.end_offset)

    def _correct_checkpoints(self, key: TopicPartition, end: int) -> None:
        for name in _OFFSETS:
            path = self._directory.parent / name
            offsets = checkpoints.read_offsets(self._files, path)
            if offsets is None:
                continue
            corrected = {each: offset for each, offset in offsets.items() if each != key or offset <= end}
            if name == checkpoints.RECOVERY_POINTS:
                corrected[key] = end
            if corrected != offsets:
                checkpoints.write_offsets(self._files, path, corrected)


def _fault(reason: str, behind: list[Span]) -> str:
    if not behind:
        return f"{reason}; nothing whole comes after it"
    offsets = f"{behind[0].base_offset} to {behind[-1].last_offset}"
    return f"{reason}; {len(behind)} whole batches of offsets {offsets} come after it"


def _content(file: File, log: _LogFile, kept: list[Span], until: int | None) -> Iterator[bytes]:
    """The batches that are kept, with an empty one in the place of bad ones; the last empty one reaches `until`."""
    position, offset, epoch = 0, log.base_offset, 0
    for span in kept:
        if span.base_offset > offset and any(position <= bad.position < span.position for bad in log.bad):
            yield _empty(offset, span.base_offset, epoch)
        yield span.base_offset.to_bytes(SIZE_AT, "big")
        for start in range(span.position + SIZE_AT, span.end, PIECE):
            yield file.read(start, min(PIECE, span.end - start))
        position, offset = span.end, span.last_offset + 1
        epoch = max(0, int.from_bytes(file.read(span.position + LEADER_EPOCH_AT, 4), "big", signed=True))
    if until is not None and offset < until and any(bad.position >= position for bad in log.bad):
        yield _empty(offset, until, epoch)


def _empty(start: int, end: int, epoch: int) -> bytes:
    return BatchBuilder(base_offset=start, leader_epoch=epoch).build(last_offset=end - 1)


def _read_logs(directory: Path) -> Iterator[_LogFile]:
    expected = 0
    paths = [path for path in sorted(directory.glob("*" + LOG)) if path.stem.isdigit()]
    for path, following in zip_longest(paths, paths[1:]):
        view = map_file(path)
        log = _LogFile(path, len(view))
        found = salvage(view, log.base_offset)
        log.bad = [_BadPlace(damage.position, damage.problem) for damage in found.damage]
        expected = max(expected, log.base_offset)
        next_bases = [*(span.base_offset for span in found.batches[1:]), int(following.stem) if following else None]
        for span, next_base in zip(found.batches, next_bases, strict=False):
            placed = _placed(span, expected, next_base)
            if placed != span:
                words = f"batch of offsets {span.base_offset} to {span.last_offset}, expected {expected} or later"
                log.bad.append(_BadPlace(span.position, words, placed.base_offset if placed else -1))
            if placed is not None:
                log.kept.append(placed)
                expected = placed.last_offset + 1
        log.bad.sort()
        yield log


def _placed(span: Span, expected: int, next_base: int | None) -> Span | None:
    """A batch under the offset that it must have had between its neighbours; None if it has no place there."""
    extent = span.last_offset - span.base_offset
    if extent < 0:
        return None
    if span.base_offset == expected or (
        span.base_offset > expected and (next_base is None or span.last_offset < next_base)
    ):
        return span
    if next_base == expected + extent + 1:
        return span._replace(base_offset=expected, last_offset=expected + extent)
    return None
