"""Taking back the end of a log.

Rules:
- A log ends after a whole batch, wherever it is cut.
- Epochs and producers are then what a log knows that ends there: producers come from the snapshot before, and from the
  batches since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.log.replay import replay_segments

if TYPE_CHECKING:
    from kafkawire.log.partition import Partition


def cut(log: Partition, offset: int) -> None:
    """Cut a log before the batch that holds an offset."""
    place = log.segments.locate(offset)
    later = [segment for segment in log.segments if segment.base_offset > offset]
    log.segments.drop(later if len(later) < len(log.segments) else later[1:])
    active = log.segments.active
    if place is not None and place.segment is active:
        active.truncate(place.batch.position, place.batch.base_offset)
    active.file.sync()
    log.files.sync_directory(log.directory)
    last = active.last_batch()
    end = last.next_offset if last else active.base_offset
    log.durability.recovery_point = min(log.recovery_point, end)
    log.cleaned_offset = min(log.cleaned_offset, end)
    log.log_start_offset = min(log.log_start_offset, end)
    log.snapshots.remove([known for known in log.snapshots.offsets if known > end])
    forget_from(log, end)


def forget_from(log: Partition, end: int) -> None:
    """Let a log end at an offset, up to which its segments reach."""
    log.is_as_closed = False
    log.end_offset = end
    log.epochs.truncate_end(end)
    found, log.producers = log.snapshots.load(end)
    replay_segments(list(log.segments), log.producers, found, end)
