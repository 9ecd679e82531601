"""Retention: which segments are removed, and how.

Rules:
- Segments are removed from the oldest on, without gaps. An empty segment is never removed.
- By time: the largest timestamp of the segment is older than retention.ms; without timestamps, its modification time.
- By size: as long as the log without the segment is still as large as retention.bytes.
- By log start: all records of the segment were deleted.
- They leave the log at once, under a name that a restart removes. Their files are removed after file.delete.delay.ms,
  in steps for any thread (`steps`), because that takes a while.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.errors import storage_errors
from kafkawire.messages.errors import KafkaStorageError, OffsetOutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.log._cleanup.steps import BackgroundWork
    from kafkawire.log._segment import Segment
    from kafkawire.log.config import LogConfig
    from kafkawire.log.partition import Partition

KEEP_ALL = -1


class DiscardedSegment(NamedTuple):
    """A segment that has left its log, and the time from which its files may be removed."""

    segment: Segment
    due_ms: int


def retention(log: Partition) -> BackgroundWork[list[int]]:
    """Expire idle producers and old segments; the base offsets of the segments removed."""
    log.producers.expire(log.clock(), log.config.producer_id_expiration_ms)
    gone = expired(list(log.segments), log.config, log.clock(), log.log_start_offset)
    gone = [segment for segment in gone if log.segments.end_of(segment, log.end_offset) <= log.high_watermark]
    if log.segments.active in gone:
        log.roll()
    detach(log, gone)
    yield from removal(log)
    return [segment.base_offset for segment in gone]


def delete_before(log: Partition, offset: int) -> None:
    """Let a log start at an offset, and remove the segments before it; see `Partition.delete_records`."""
    if offset > log.high_watermark:
        raise OffsetOutOfRangeError(
            f"{log.directory.name}: delete before {offset}, expected at most {log.high_watermark}"
        )
    if offset > log.recovery_point:
        log.flush()
    if offset > log.log_start_offset:
        log.log_start_offset = offset
        # The next flush writes the epochs again, and retention removes segments before the log start.
        with suppress(OSError):
            log.epochs.truncate_start(offset)
        with suppress(KafkaStorageError):
            detach(log, [each for each in log.segments.sealed if log.segments.end_of(each, offset) <= offset])


def detach(log: Partition, segments: list[Segment]) -> None:
    """Remove the oldest segments from a log, which then starts after them."""
    if not segments:
        return
    with storage_errors(log.directory, "removing segments"):
        log.segments.detach(segments)
        discard(log, segments)
        log.files.sync_directory(log.directory)
        first = next(iter(log.segments)).base_offset
        log.snapshots.remove([offset for offset in log.snapshots.offsets if offset < first])
        if first > log.log_start_offset:
            log.log_start_offset = first
            log.epochs.truncate_start(first)


def discard(log: Partition, segments: Iterable[Segment]) -> None:
    """Schedule the removal of the files of segments that left the log."""
    due_ms = log.clock() + log.config.file_delete_delay_ms
    fresh = [DiscardedSegment(segment, due_ms) for segment in segments]
    replaced = {each.segment.path for each in fresh}  # by a rename over what waited under the same name
    log.discarded = [each for each in log.discarded if each.segment.path not in replaced] + fresh


def removal(log: Partition) -> BackgroundWork[None]:
    """Remove the files of segments that left the log long enough ago; it may run more than once at a time."""
    now = log.clock()
    while due := [each for each in log.discarded if each.due_ms <= now]:
        log.discarded.remove(due[0])
        with storage_errors(log.directory, "removing segments"):
            yield partial(remove, due[0].segment)


def remove(segment: Segment) -> None:
    """Remove the files of a segment that is no longer in its log."""
    segment.remove()


def expired(segments: Sequence[Segment], config: LogConfig, now: int, log_start_offset: int) -> list[Segment]:
    """The oldest segments that retention removes; the caller starts a new segment if the last one is among them."""
    gone: list[Segment] = []
    size = sum(segment.size for segment in segments)
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else None
        passed = following is not None and following <= log_start_offset
        if not (passed or (config.deletes and _is_over(segment, size, config, now))):
            break
        gone.append(segment)
        size -= segment.size
    return gone


def _is_over(segment: Segment, log_size: int, config: LogConfig, now: int) -> bool:
    if not segment.size:
        return False
    if config.retention_ms != KEEP_ALL and now - _age_from(segment) > config.retention_ms:
        return True
    return config.retention_bytes != KEEP_ALL and log_size - segment.size >= config.retention_bytes


def _age_from(segment: Segment) -> int:
    largest = segment.largest_timestamp
    return largest if largest >= 0 else segment.modified_ms
