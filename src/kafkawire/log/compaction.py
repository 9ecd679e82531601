"""Compaction: finished segments rewritten with the last record of each key.

Rules:
- Only finished segments below the last stable offset, and older than min.compaction.lag.ms, are touched.
- It runs when enough of the log is dirty (min.cleanable.dirty.ratio), or waited for max.compaction.lag.ms.
- Neighbouring segments are merged as long as the result fits one. Readers keep the files they hold.
- The new files are durable under `.cleaned` names before they are renamed `.swap`; from then on a restart completes the
  exchange, before that it forgets it.
- A failing disk leaves the log as it was, and so does one that lost a segment meanwhile, to retention or to its owner.
- Reading, cleaning, writing and syncing are steps for any thread (`lengthy`); taking the new segment in is not.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log import walk
from kafkawire.log.chain import Chain
from kafkawire.log.cleaning import Cleaner, LastOf, Transactions
from kafkawire.log.errors import storage_error, storage_errors
from kafkawire.log.lookup import Written, written
from kafkawire.log.retention import discard, removal
from kafkawire.log.segment import CLEANED, DELETED, MAX_RELATIVE_OFFSET, SWAP, Segment
from kafkawire.records import parse_header, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.log.aborted import AbortedTransaction
    from kafkawire.log.files import File, FileSystem
    from kafkawire.log.lengthy import Lengthy
    from kafkawire.log.partition import Partition
    from kafkawire.records import Batch

MOST_KEYS = 4_000_000
WRITE = 1024 * 1024
LONGEST_KEY = 32


class KeyOffsets(dict[bytes, int]):
    """The highest offset of each key; a long key is held as its digest."""

    def get(self, key: bytes, default: int = -1) -> int:  # type: ignore[override]  # only offsets, never None
        return super().get(_short(key), default)

    def note(self, key: bytes, offset: int) -> None:
        self[_short(key)] = offset


class Source(NamedTuple):
    """A segment to be cleaned, with its file in hand: it stays readable whatever becomes of the segment."""

    segment: Segment
    file: File
    size: int


def compaction(log: Partition, *, force: bool = False) -> Lengthy[bool]:
    """Clean what can be cleaned, if it is due; whether all of it was."""
    cleanable = _cleanable(log)
    dirty = _dirty(log, cleanable)
    if not dirty or not (force or is_due(log)):
        return False
    log.flush()
    latest, last = KeyOffsets(), dirty[-1]
    for segment in dirty:
        yield partial(_map_keys, latest, _source(segment), Chain(cleanable))
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
        cleaner.producers = {each.producer_id: LastOf.of(each) for each in log.producers.entries.values()}
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
    """Whether none of the segments has gone meanwhile."""
    return all(segment in log.segments for segment in segments)


def _source(segment: Segment) -> Source:
    return Source(segment, segment.file, segment.size)


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
    """Whether a log has enough to clean, or waited long enough for it."""
    cleanable = _cleanable(log)
    dirty = _dirty(log, cleanable)
    if not dirty:
        return False
    ratio = sum(segment.size for segment in dirty) / max(1, sum(segment.size for segment in cleanable))
    waited = log.clock() - dirty[0].first_timestamp
    return ratio >= log.config.min_cleanable_dirty_ratio or waited > log.config.max_compaction_lag_ms


def _map_keys(latest: KeyOffsets, source: Source, segments: Chain) -> None:
    """Take note of the highest offset of each key in a dirty segment."""
    from kafkawire.records import to_arrow  # brings pyarrow, which a log that is never compacted can do without

    for _, piece, scan in walk.sweep(source.file, 0, source.size):
        whole = memoryview(piece)[: scan.end]
        ends = segments.aborted(scan.base_offset[0], scan.last_offset[-1] + 1) if scan.count else []
        aborted = [(entry.producer_id, entry.first_offset) for entry in ends]
        rows = to_arrow(whole, columns=["offset", "key"], verify=False, aborted=aborted)
        for offset, key in zip(rows["offset"].to_pylist(), rows["key"].to_pylist(), strict=True):
            if key is not None and offset is not None:
                latest.note(key, offset)


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


def _write_group(fresh: Segment, group: list[Source], cleaner: Cleaner, transactions: Transactions) -> None:
    """Write what is left of neighbouring segments into a new one, and have it on the disk."""
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


def _write_clean(fresh: Segment, group: list[Source], cleaner: Cleaner) -> None:
    parts: list[bytes | memoryview] = []
    noted: list[Written] = []
    size = 0
    for number, source in enumerate(group):
        legacy_tombstones_go = source.segment.modified_ms < cleaner.tombstones_before
        for batch, ends_segment in _batches(source):
            is_last = ends_segment and number == len(group) - 1
            left = cleaner.clean(batch, is_last=is_last, legacy_tombstones_go=legacy_tombstones_go)
            if left is None:
                continue
            parts.append(left)
            noted.append(written(parse_header(left)))
            size += len(left)
            if size >= WRITE:
                fresh.append(parts, noted)
                parts, noted, size = [], [], 0
    fresh.append(parts, noted)


def _batches(source: Source) -> Iterator[tuple[Batch, bool]]:
    for position, piece, scan in walk.sweep(source.file, 0, source.size):
        for batch in read_batches(memoryview(piece)[: scan.end], verify=False):
            yield batch, position + batch.end == source.size


def _keep_aborted(fresh: Segment, group: list[Source], kept: list[AbortedTransaction]) -> None:
    # An empty list must replace the old one too, or readers would skip what the producer committed later.
    if any(source.segment.aborted.entries for source in group):
        fresh.aborted.replace(sorted(kept, key=lambda entry: entry.last_offset), keep_file=True)


def _announce(fresh: Segment, files: FileSystem) -> None:
    """Have a restart put the new segment in the place of the old ones."""
    with storage_errors(fresh.path, "compaction"):
        fresh.rename(CLEANED, SWAP)
        files.sync_directory(fresh.path.parent)


def _exchange(log: Partition, group: list[Segment], fresh: Segment) -> Lengthy[None]:
    log.segments.replace(group, [fresh])
    # From here on the new segment is the log's, under whatever name; a restart completes what fails now.
    with storage_errors(fresh.path, "exchanging compacted segments"):
        for segment in group:
            segment.rename("", DELETED)
        discard(log, group)
        fresh.rename(SWAP, "")
        yield partial(log.files.sync_directory, log.directory)
        fresh.is_durable = True


def _short(key: bytes) -> bytes:
    return key if len(key) <= LONGEST_KEY else blake2b(key, digest_size=LONGEST_KEY).digest()
