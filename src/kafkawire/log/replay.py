"""Batches that already stand in the log, told again to those who keep state about them.

Rules:
- What is in the log was accepted once; a replay checks nothing and refuses nothing.
- The tellers: producers (sequences, transactions), leader epochs, and the segment's own indexes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.log import walk
from kafkawire.log.markers import read_marker
from kafkawire.log.producers import ProducerBatch
from kafkawire.records import add_sequence

if TYPE_CHECKING:
    from kafkawire.log.aborted import AbortedTransaction
    from kafkawire.log.producers import Producers
    from kafkawire.log.segment import Segment
    from kafkawire.records import BatchScan

TRANSACTIONAL, CONTROL = 0x10, 0x20


def replay_producers(
    scan: BatchScan, piece: memoryview, count: int, producers: Producers, *, before: int | None = None
) -> list[AbortedTransaction]:
    """Bring producers up to the first `count` batches of a scan, or to an offset; the transactions aborted in them."""
    aborted = []
    for number, producer_id in enumerate(scan.producer_id[:count]):
        if producer_id < 0:
            continue
        last_offset, attributes = scan.last_offset[number], scan.attributes[number]
        if before is not None and last_offset >= before:
            break
        if attributes & CONTROL:
            start = scan.position[number]
            marker = read_marker(piece[start : start + scan.size[number]])
            if marker is not None and (closed := producers.append_marker(marker)) is not None:
                aborted.append(closed)
        elif scan.base_sequence[number] >= 0:
            first, base = scan.base_sequence[number], scan.base_offset[number]
            producers.append(
                ProducerBatch(
                    producer_id,
                    scan.producer_epoch[number],
                    first,
                    add_sequence(first, last_offset - base),
                    base,
                    last_offset,
                    scan.max_timestamp[number],
                    attributes & TRANSACTIONAL != 0,
                )
            )
    return aborted


def replay_segments(segments: list[Segment], producers: Producers, start: int, end: int) -> None:
    """Bring producers from one offset to another through segments that are known to be whole."""
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else None
        if segment.base_offset >= end or (following is not None and following <= start):
            continue
        first = segment.locate(start)
        if first is None:
            continue
        for _, piece, scan in walk.sweep(segment.file, first.position, segment.size):
            replay_producers(scan, memoryview(piece), scan.count, producers, before=end)
