"""Compaction: rewrites finished segments with the last record of each key.

Rules:
- Only finished segments below the last stable offset, and older than min.compaction.lag.ms, are compacted.
- It runs when enough of the log is dirty (min.cleanable.dirty.ratio), or has waited for max.compaction.lag.ms.
- Neighbouring segments are merged as long as the result fits one. Readers keep the files they hold.
- The new files are durable under `.cleaned` names before they are renamed to `.swap`. After the rename a restart
  completes the exchange; before it, a restart removes the new files.
- If the disk fails, or retention removes one of the segments meanwhile, the log stays as it was.
- Reading, cleaning, writing and syncing are steps for any thread (`steps`). Adding the new segment to the log is not.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._cleanup.cleaner import Cleaner, LastWrite, Transactions
from kafkawire.log._cleanup.retention import discard, removal
from kafkawire.log._position_index import BatchSummary, summary_of
from kafkawire.log._segment import CLEANED, DELETED, MAX_RELATIVE_OFFSET, SWAP, Segment
from kafkawire.log.errors import storage_error, storage_errors
from kafkawire.records import parse_header, read_batches
from kafkawire.records.walk import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.log._cleanup.steps import BackgroundWork
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import File, FileSystem
    from kafkawire.records import Batch

MOST_KEYS = 4_000_000
WRITE = 1024 * 1024
LONGEST_KEY = 32


class KeyOffsets(dict[bytes, int]):
    """The highest offset of each key; a long key is stored as its digest."""

    def get(self, key: bytes, default: int = -1) -> int:  # type: ignore[override]  # only offsets, never None
        return super().get(_short(key), default)

    def note(self, key: bytes, offset: int) -> None:
        self[_short(key)] = offset


class SegmentSource(NamedTuple):
    """A segment to clean, and its open file, which stays readable if the segment is removed."""

    segment: Segment
    file: File
    size: int


def compaction(log: Partition, *, force: bool = False) -> BackgroundWork[bool]:
    """Clean the dirty segments if it is due; whether all of them were cleaned."""
    cleanable = _cleanable(log)
    dirty = _dirty(log, cleanable)
    if not dirty or not (force or is_due(log)):
        return False
    log.flush()
    latest, last = KeyOffsets(), dirty[-1]
    ends = (entry for segment in cleanable for entry in segment.aborted.entries)
    unfinished = Transactions(entry for entry in ends if entry.last_offset >= dirty[0].base_offset)
    for segment in dirty:
        yield partial(_map_keys, latest, _source(segment), unfinished)
        if not _holds(log, cleanable):
            return False
        if len(latest) > MOST_KEYS:
            last = segment
            break
    end = log.segments.end_of(last, log.end_offset)
    scope = [segment for segment in cleanable if segment.base_offset <= last.base_offset]
    aborted = [entry for segment in scope for entry in segment.aborted.entries]
    transactions = Transactions(aborted)
    cleaner = Cleaner(latest, end, transactions, log.clock(), log.config.delete_retention_ms)
    for group in _groups(scope, log.config.segment_bytes):
        fresh = Segment(log.files, log.directory, group[0].base_offset, log.config, log.clock(), suffix=CLEANED)
        cleaner.producers = {each.producer_id: LastWrite.of(each) for each in log.producers.entries.values()}
        taken = False
        try:
            yield partial(_write_group, fresh, [_source(segment) for segment in group], cleaner, transactions)
            yield partial(_announce, fresh, log.files)
            if not _holds(log, group):
                return False
            taken = True
        finally:
            if not taken:
                with suppress(OSError):
                    fresh.remove()
                    log.files.sync_directory(log.directory)
        yield from _exchange(log, group, fresh)
        yield from removal(log)
        if not _holds(log, scope[scope.index(group[-1]) + 1 :]):
            return False
    log.snapshots.keep(segment.base_offset for segment in log.segments)
    log.cleaned_offset = end
    return True


def _holds(log: Partition, segments: list[Segment]) -> bool:
    """Whether the log still has all of the segments."""
    return all(segment in log.segments for segment in segments)


def _source(segment: Segment) -> SegmentSource:
    return SegmentSource(segment, segment.file, segment.size)


def _cleanable(log: Partition) -> list[Segment]:
    found = []
    lag = log.config.min_compaction_lag_ms
    for segment in log.segments.sealed:
        too_young = lag > 0 and log.clock() - segment.largest_timestamp < lag
        if too_young or log.segments.end_of(segment, log.end_offset) > log.last_stable_offset:
            break
        found.append(segment)
    return found


def _dirty(log: Partition, cleanable: list[Segment]) -> list[Segment]:
    return [segment for segment in cleanable if segment.base_offset >= log.cleaned_offset and segment.size]


def is_due(log: Partition) -> bool:
    """Whether enough of a log is dirty, or has waited long enough."""
    cleanable = _cleanable(log)
    dirty = _dirty(log, cleanable)
    if not dirty:
        return False
    ratio = sum(segment.size for segment in dirty) / max(1, sum(segment.size for segment in cleanable))
    waited = log.clock() - dirty[0].first_timestamp
    return ratio >= log.config.min_cleanable_dirty_ratio or waited > log.config.max_compaction_lag_ms


def _map_keys(latest: KeyOffsets, source: SegmentSource, transactions: Transactions) -> None:
    """Record the highest offset of each key in a dirty segment; aborted transactions do not count."""
    for batch, _ in _batches(source):
        if batch.is_control:
            transactions.ends_empty(batch)
        elif not transactions.is_aborted(batch):
            for record in batch.records(verify=False):
                if record.key is not None:
                    latest.note(record.key, record.offset)


def _groups(segments: list[Segment], most_bytes: int) -> Iterator[list[Segment]]:
    group: list[Segment] = []
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else segment.base_offset
        size = sum(other.size for other in group) + segment.size
        if group and (size > most_bytes or following - group[0].base_offset > MAX_RELATIVE_OFFSET):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def _write_group(fresh: Segment, group: list[SegmentSource], cleaner: Cleaner, transactions: Transactions) -> None:
    """Write the records that stay of neighbouring segments to a new one, and sync it."""
    try:
        fresh.remove()
        fresh.create()
        transactions.kept = []
        _write_clean(fresh, group, cleaner)
        _keep_aborted(fresh, group, transactions.kept)
        fresh.seal()
        for file in (fresh.file, *fresh.index_files()):
            file.sync()
    except OSError as error:
        raise storage_error(fresh.path, "compaction", error) from error
    fresh.modified_ms = group[-1].segment.modified_ms


def _write_clean(fresh: Segment, group: list[SegmentSource], cleaner: Cleaner) -> None:
    parts: list[bytes | memoryview] = []
    noted: list[BatchSummary] = []
    size = 0
    for number, source in enumerate(group):
        legacy_tombstones_go = source.segment.modified_ms < cleaner.tombstones_before
        for batch, ends_segment in _batches(source):
            is_last = ends_segment and number == len(group) - 1
            left = cleaner.clean(batch, is_last=is_last, legacy_tombstones_go=legacy_tombstones_go)
            if left is None:
                continue
            parts.append(left)
            noted.append(summary_of(parse_header(left)))
            size += len(left)
            if size >= WRITE:
                fresh.append(parts, noted)
                parts, noted, size = [], [], 0
    fresh.append(parts, noted)


def _batches(source: SegmentSource) -> Iterator[tuple[Batch, bool]]:
    for position, piece, scan in sweep(source.file, 0, source.size):
        for batch in read_batches(piece[: scan.end], verify=False):
            yield batch, position + batch.end == source.size


def _keep_aborted(fresh: Segment, group: list[SegmentSource], kept: list[AbortedTransaction]) -> None:
    # An empty list must replace the old one too, or readers would skip records that the producer committed later.
    if any(source.segment.aborted.entries for source in group):
        fresh.aborted.replace(sorted(kept, key=lambda entry: entry.last_offset), keep_file=True)


def _announce(fresh: Segment, files: FileSystem) -> None:
    """From now on a restart replaces the old segments by the new one."""
    with storage_errors(fresh.path, "compaction"):
        fresh.rename(CLEANED, SWAP)
        files.sync_directory(fresh.path.parent)


def _exchange(log: Partition, group: list[Segment], fresh: Segment) -> BackgroundWork[None]:
    log.segments.replace(group, [fresh])
    # The new segment now belongs to the log, under either name; a restart completes whatever fails from here on.
    with storage_errors(fresh.path, "exchanging compacted segments"):
        for segment in group:
            segment.rename("", DELETED)
        discard(log, group)
        fresh.rename(SWAP, "")
        yield partial(log.files.sync_directory, log.directory)
        fresh.is_durable = True


def _short(key: bytes) -> bytes:
    return key if len(key) <= LONGEST_KEY else blake2b(key, digest_size=LONGEST_KEY).digest()
