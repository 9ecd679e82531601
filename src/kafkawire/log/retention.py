"""Which segments have had their time, and how they go.

Rules:
- Only from the oldest on, without gaps; an empty segment never goes.
- By time: the largest timestamp of the segment is older than retention.ms; without timestamps, its modification time.
- By size: as long as the log without the segment is still as large as retention.bytes.
- By log start: everything in it was deleted.
- They are out of the log at once, under a name that a restart removes. Their files go after file.delete.delay.ms, which
  takes a while and any thread may do (`lengthy`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.errors import storage_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.log.configs import LogConfig
    from kafkawire.log.lengthy import Lengthy
    from kafkawire.log.partition import Partition
    from kafkawire.log.segment import Segment

KEEP_ALL = -1


class Discarded(NamedTuple):
    """A segment that has left its log, and the time from which its files may go."""

    segment: Segment
    due_ms: int


def retention(log: Partition) -> Lengthy[list[int]]:
    """Let go what is too old or too much, silent producers too; the base offsets of the segments that went."""
    log.producers.expire(log.clock(), log.config.producer_id_expiration_ms)
    gone = expired(list(log.segments), log.config, log.clock(), log.log_start_offset)
    gone = [segment for segment in gone if log.segments.end_of(segment, log.end_offset) <= log.high_watermark]
    if log.segments.active in gone:
        log.roll()
    detach(log, gone)
    yield from removal(log)
    return [segment.base_offset for segment in gone]


def detach(log: Partition, segments: list[Segment]) -> None:
    """Take the oldest segments out of a log, which then starts after them."""
    if not segments:
        return
    with storage_errors(log.directory, "removing segments"):
        log.segments.detach(segments)
        discard(log, segments)
        log.files.sync_directory(log.directory)
        first = log.first_base_offset
        log.snapshots.remove([offset for offset in log.snapshots.offsets if offset < first])
        if first > log.log_start_offset:
            log.log_start_offset = first
            log.epochs.truncate_start(first)


def discard(log: Partition, segments: Iterable[Segment]) -> None:
    """Have the files of segments that left the log removed when their time has come."""
    due_ms = log.clock() + log.config.file_delete_delay_ms
    fresh = [Discarded(segment, due_ms) for segment in segments]
    replaced = {each.segment.path for each in fresh}  # by a rename over what waited under the same name
    log.discarded = [each for each in log.discarded if each.segment.path not in replaced] + fresh


def removal(log: Partition) -> Lengthy[None]:
    """Remove the files of segments that left the log long enough ago; others may be at it too."""
    now = log.clock()
    while due := [each for each in log.discarded if each.due_ms <= now]:
        log.discarded.remove(due[0])
        with storage_errors(log.directory, "removing segments"):
            yield partial(remove, due[0].segment)


def remove(segment: Segment) -> None:
    """Remove the files of a segment that is no longer in its log."""
    segment.remove()


def expired(segments: Sequence[Segment], config: LogConfig, now: int, log_start_offset: int) -> list[Segment]:
    """The oldest segments that retention lets go; the caller starts a new segment if the last one is among them."""
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
