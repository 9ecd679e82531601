"""The batches of a range of the log: their offsets, and which of them belong to aborted transactions.

Rules:
- Only headers are read, in pieces of PIECE bytes. Records are not decoded.
- A batch that the range cuts off is left out.
- A compressed batch of magic 0 or 1 states only its last offset: it begins after the batch before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.share.acquisition import Span
from kafkawire.records.layout import (
    BATCH,
    CONTROL,
    HEADER_SIZE,
    MAGIC_AT,
    PREFIX_SIZE,
    PROBE_SIZE,
    TRANSACTIONAL,
    stated_size,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.log import AbortedTransaction, FileRange

PIECE: Final = 8 * 1024
_NO_PRODUCER: Final = -1


class ReadBatch(NamedTuple):
    """A batch of the log, and its place in the range."""

    first: int
    last: int
    position: int
    size: int
    attributes: int
    producer_id: int


def read_batches(found: FileRange, offset: int, stop_after: int) -> list[ReadBatch]:
    """The batches of a range that was read from an offset on, until one begins after another offset."""
    batches: list[ReadBatch] = []
    at, end = 0, found.length
    piece, piece_at = b"", 0
    while at + PROBE_SIZE <= end:
        if at + HEADER_SIZE > piece_at + len(piece):
            piece, piece_at = bytes(found.file.read(found.position + at, min(PIECE, end - at))), at
        here = at - piece_at
        if len(piece) - here < PROBE_SIZE:
            break
        size = stated_size(piece, here)
        if size <= PREFIX_SIZE or at + size > end:
            break
        batch = _parse(piece, here, at, size, batches[-1].last + 1 if batches else offset)
        if batch is None or batch.first > stop_after:
            break
        batches.append(batch)
        at += size
    return batches


def _parse(piece: bytes, here: int, at: int, size: int, expected: int) -> ReadBatch | None:
    if piece[here + MAGIC_AT] < 2:
        last = int.from_bytes(piece[here : here + 8], "big", signed=True)
        return ReadBatch(min(expected, last), last, at, size, 0, _NO_PRODUCER)
    if len(piece) - here < HEADER_SIZE:
        return None
    first, _, _, _, _, attributes, delta, _, _, producer_id, _, _, _ = BATCH.unpack_from(piece, here)
    return ReadBatch(first, first + delta, at, size, attributes, producer_id)


def covering(found: FileRange, batches: Sequence[ReadBatch], first: int, last: int) -> FileRange:
    """The part of a range that has the batches with these offsets."""
    inside = [batch for batch in batches if batch.last >= first and batch.first <= last]
    begin = inside[0].position
    end = inside[-1].position + inside[-1].size
    return replace(found, position=found.position + begin, length=end - begin)


def aborted_spans(batches: Iterable[ReadBatch], aborted: Iterable[AbortedTransaction]) -> list[Span]:
    """The batches of aborted transactions."""
    waiting = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    producers: set[int] = set()
    spans = []
    for batch in batches:
        if batch.producer_id == _NO_PRODUCER:
            continue
        while waiting and waiting[-1].first_offset <= batch.last:
            producers.add(waiting.pop().producer_id)
        if batch.attributes & CONTROL:
            producers.discard(batch.producer_id)
        elif batch.attributes & TRANSACTIONAL and batch.producer_id in producers:
            spans.append(Span(batch.first, batch.last))
    return spans
