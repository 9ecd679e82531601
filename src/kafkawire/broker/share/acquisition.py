"""Acquisition: a member gets records of a share partition, and locks them.

Rules:
- Records that are available again come first, then those that have not been delivered yet.
- batch_optimized: whole batches of the log are acquired until there are enough records. record_limit (KIP-1206): never
  more records than asked for. The rest of a batch is in flight then, and available.
- At most `most_locks` records are in flight. At the limit only those already in flight are acquired.
- A batch that was delivered half as often as the limit allows, and at least twice, is acquired in smaller parts. The
  last attempt is record by record. So one bad record does not archive its batch.
- Records that the log has lost to compaction, and records of aborted transactions, are archived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.share.in_flight import ACQUIRED, AVAILABLE, InFlight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.broker.share.partition import SharePartition

_FEWEST_DELIVERIES: Final = 2


class Wanted(NamedTuple):
    """The records that a member asks for, and the limits that apply."""

    member: str
    most_records: int
    batch_size: int
    has_record_limit: bool
    locked_until: int
    delivery_limit: int
    most_locks: int


class Span(NamedTuple):
    """The offsets of a batch of the log."""

    first: int
    last: int


class Acquired(NamedTuple):
    """Records that a member has acquired."""

    first: int
    last: int
    deliveries: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def acquire(
    partition: SharePartition, wanted: Wanted, offset: int, spans: Sequence[Span], aborted: Iterable[Span] = ()
) -> list[Acquired]:
    """Acquire records that were read from an offset on; `spans` are the batches that were read."""
    if wanted.most_records <= 0 or not spans or spans[-1].last < partition.start:
        return []
    last = spans[-1].last
    most = min(wanted.most_records, wanted.most_locks - partition.in_flight)
    if most <= 0:
        if offset > partition.end:
            return []
        most = min(wanted.most_records, partition.end - offset + 1)
        last = min(last, partition.end)
    found = _Acquisition(partition, wanted, spans, most, last).run(offset)
    for span in aborted:
        partition.archive(span.first, span.last, ACQUIRED)
        found = [part for each in found for part in _outside(each, span)]
    if aborted:
        partition.move_start()
    return found


class _Acquisition:
    """One acquisition of records up to an offset."""

    def __init__(self, partition: SharePartition, wanted: Wanted, spans: Sequence[Span], most: int, last: int) -> None:
        self._partition = partition
        self._wanted = wanted
        self._spans = spans
        self._most = most
        self._last = last
        self._found: list[Acquired] = []
        self._count = 0

    def run(self, offset: int) -> list[Acquired]:
        partition = self._partition
        base = first = self._spans[0].first
        if offset < first:
            partition.archive(offset, first - 1, AVAILABLE)
        floor = partition.floor(first)
        if floor >= 0 and partition.batches[floor].last >= first:
            base = partition.batches[floor].first
        else:
            base = max(base, partition.start)
        inside = [
            batch for batch in partition.overlapping(min(first, base), self._last) if batch.first >= min(first, base)
        ]
        if not inside:
            self._acquire_new(base, self._last)
            return self._found
        self._acquire_again(inside, base, first)
        if self._count < self._most and inside[-1].last < self._last:
            self._acquire_new(inside[-1].last + 1, self._last)
        if self._found:
            partition.move_gap(self._found[-1].last + 1)
        return self._found

    def _acquire_again(self, inside: Sequence[InFlight], base: int, first: int) -> None:
        """Acquire what is available of the batches in flight, and what is missing between them."""
        partition, wanted = self._partition, self._wanted
        limit = max(_FEWEST_DELIVERIES, -(-wanted.delivery_limit // 2))
        missing = base
        for batch in inside:
            if self._count >= self._most:
                return
            if partition.gap is not None:
                if missing < batch.first:
                    self._acquire_new(missing, batch.first - 1)
                missing = batch.last + 1
                if self._count >= self._most:
                    return
            is_whole = batch.first >= first and batch.last <= self._last
            exceeds = wanted.has_record_limit and len(batch) > self._most - self._count
            is_throttled = batch.most_delivered(first, self._last) >= limit
            if is_throttled and self._count:
                self._most = 0
                return
            if is_whole and not batch.is_split and not exceeds and not is_throttled:
                if batch.state == AVAILABLE:
                    batch.acquire(batch.first, batch.last, wanted.member, wanted.locked_until)
                    self._add(Acquired(batch.first, batch.last, batch.count))
            elif batch.is_split or batch.state == AVAILABLE:
                batch.split()
                if self._acquire_part(batch, first, limit) and is_throttled:
                    self._most = 0
                    return

    def _acquire_part(self, batch: InFlight, first: int, limit: int) -> int:
        """Acquire available records of a split batch; returns how many."""
        wanted = self._wanted
        room = self._most - self._count if wanted.has_record_limit else len(batch)
        final = wanted.delivery_limit - 1 if wanted.delivery_limit > _FEWEST_DELIVERIES else -1
        is_throttled = False
        taken = 0
        for run in list(batch.runs(max(first, batch.first), min(self._last, batch.last))):
            if run.state != AVAILABLE:
                continue
            if run.deliveries == final and taken:
                break
            if run.deliveries >= limit and not is_throttled:
                is_throttled = True
                room = max(taken + 1, min(room, len(batch) >> (run.deliveries - limit + 1)))
            size = 1 if run.deliveries == final else min(run.last - run.first + 1, room - taken)
            last = run.first + size - 1
            batch.acquire(run.first, last, wanted.member, wanted.locked_until)
            self._add(Acquired(run.first, last, run.deliveries + 1), joins=taken > 0)
            taken += size
            if run.deliveries == final or taken >= room:
                break
        return taken

    def _acquire_new(self, first: int, last: int) -> None:
        """Acquire records that are not in flight."""
        partition, wanted = self._partition, self._wanted
        most = self._most - self._count
        if not partition.batches:
            first = max(first, partition.end)
        if first > last:
            return
        ends = last
        if most < last - first + 1:
            ends = self._end_of_batch(first + most - 1)
            if partition.gap is not None:
                ends = min(ends, last)
        parts = self._parts(first, ends)
        for begun, ended in parts:
            acquired = min(ended, begun + most - 1) if wanted.has_record_limit else ended
            if acquired < ended:
                batch = InFlight(begun, ended, AVAILABLE, 0)
                batch.acquire(begun, acquired, wanted.member, wanted.locked_until)
                partition.has_available = True
            else:
                batch = InFlight(begun, ended, ACQUIRED, 1, wanted.member, wanted.locked_until)
            partition.add(batch)
            self._add(Acquired(begun, acquired, 1))
        if partition.batches[0].first == first:
            partition.start = first
        partition.end = max(partition.end, ends)
        partition.move_gap(self._found[-1].last + 1)

    def _parts(self, first: int, last: int) -> list[tuple[int, int]]:
        """Offsets, divided where batches of the log begin into parts of about the client's size."""
        size = self._wanted.batch_size
        if self._wanted.has_record_limit or last - first + 1 <= size:
            return [(first, last)]
        parts, begun = [], first
        for span in self._spans:
            if span.first > last:
                break
            if span.first - begun >= size:
                parts.append((begun, span.first - 1))
                begun = span.first
        return [*parts, (begun, last)]

    def _end_of_batch(self, offset: int) -> int:
        """The last offset of the log's batch that has an offset."""
        holder = None
        for span in self._spans:
            if span.first > offset:
                break
            holder = span
        return holder.last if holder is not None and offset <= holder.last else offset

    def _add(self, acquired: Acquired, *, joins: bool = False) -> None:
        self._partition.lock(acquired.first, acquired.last, self._wanted.locked_until)
        self._count += acquired.size
        before = self._found[-1] if joins and self._found else None
        if before is not None and before.last + 1 == acquired.first and before.deliveries == acquired.deliveries:
            self._found[-1] = before._replace(last=acquired.last)
        else:
            self._found.append(acquired)


def _outside(acquired: Acquired, span: Span) -> list[Acquired]:
    """The parts of acquired records that are not in a span."""
    if acquired.last < span.first or span.last < acquired.first:
        return [acquired]
    parts = [acquired._replace(last=span.first - 1), acquired._replace(first=span.last + 1)]
    return [part for part in parts if part.first <= part.last]
