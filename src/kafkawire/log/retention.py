"""Which segments have had their time.

A pure judgement over segments: nothing is removed here.
Rules:
- Only from the oldest on, without gaps; an empty segment never goes.
- By time: the largest timestamp of the segment is older than retention.ms; without timestamps, its modification time.
- By size: as long as the log without the segment is still as large as retention.bytes.
- By log start: everything in it was deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log.configs import LogConfig
    from kafkawire.log.segment import Segment

KEEP_ALL = -1


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
