"""Taking back the end of a log.

Rules:
- Batches that were held and could not be written are undone in memory alone, so that no further failure of the disk
  can keep them in the log. What the disk still says of them is overwritten, or cut off, before the next write.
- A log ends after a whole batch, wherever it is cut.
- Epochs and producers are then what a log knows that ends there: producers come from the snapshot before, and from the
  batches since.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.log.replay import replay_segments

if TYPE_CHECKING:
    from kafkawire.log.partition import Partition
    from kafkawire.log.producers import Producer, ProducerBatch, Producers


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


@dataclass(slots=True)
class Held:
    """Batches that wait to be written: the first offset they got, and their producers as they were before."""

    first_offset: int
    before: dict[int, Producer | None] = field(default_factory=dict)
    first: dict[int, ProducerBatch] = field(default_factory=dict)
    """The first held batch of each producer."""

    def note(self, batch: ProducerBatch, producers: Producers) -> None:
        """Take note of a producer before its first held batch."""
        if batch.producer_id not in self.before:
            self.before[batch.producer_id] = producers.copy_of(batch.producer_id)
            self.first[batch.producer_id] = batch


def undo(log: Partition, held: Held) -> None:
    """Let a log end where the held batches began; its segment has forgotten them already."""
    log.is_as_closed = False
    log.end_offset = held.first_offset
    log.producers.restore(held.before)
    for batch in held.first.values():
        log.producers.expect(batch)
    with suppress(OSError):  # the file is written again with the next flush
        log.epochs.truncate_end(held.first_offset)


def forget_from(log: Partition, end: int) -> None:
    """Let a log end at an offset, up to which its segments reach."""
    log.is_as_closed = False
    log.end_offset = end
    log.epochs.truncate_end(end)
    found, log.producers = log.snapshots.load(end)
    replay_segments(list(log.segments), log.producers, found, end)
