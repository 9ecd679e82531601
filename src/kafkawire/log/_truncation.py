"""Truncation: removing the end of a log.

Rules:
- Held batches that could not be written are undone in memory only, so that a second disk failure cannot leave them in
  the log. Their remains on the disk are overwritten, or cut off, before the next write.
- A log always ends after a whole batch.
- After a truncation, epochs and producers match the new end: producers are loaded from the last snapshot before it, and
  the batches since are replayed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.log._producer_snapshots import replay_segments

if TYPE_CHECKING:
    from kafkawire.log._producers import Producer, ProducerBatch, Producers
    from kafkawire.log.partition import Partition


def cut(log: Partition, offset: int) -> None:
    """Truncate a log before the batch that holds an offset."""
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


@dataclass(slots=True)
class HeldBatches:
    """Batches that wait to be written: their first offset, and the state of their producers before them."""

    first_offset: int
    before: dict[int, Producer | None] = field(default_factory=dict)
    first: dict[int, ProducerBatch] = field(default_factory=dict)
    """The first held batch of each producer."""

    def note(self, batch: ProducerBatch, producers: Producers) -> None:
        """Copy the state of a producer before its first held batch."""
        if batch.producer_id not in self.before:
            self.before[batch.producer_id] = producers.copy_of(batch.producer_id)
            self.first[batch.producer_id] = batch


def undo(log: Partition, held: HeldBatches) -> None:
    """Set the end of a log to the first held batch; its segment has dropped them already."""
    log.is_as_closed = False
    log.end_offset = held.first_offset
    log.producers.restore(held.before)
    for batch in held.first.values():
        log.producers.expect(batch)
    with suppress(OSError):  # the next flush writes the file again
        log.epochs.truncate_end(held.first_offset)


def forget_from(log: Partition, end: int) -> None:
    """Set the end of a log to an offset, which its segments already end at."""
    log.is_as_closed = False
    log.end_offset = end
    log.epochs.truncate_end(end)
    found, log.producers = log.snapshots.load(end)
    replay_segments(list(log.segments), log.producers, found, end)
