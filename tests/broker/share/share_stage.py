"""A share partition over a log of batches, with its stored state, as the broker drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkawire.broker.share.acquisition import Acquired, Span, Wanted, acquire
from kafkawire.broker.share.partition import ACCEPT, Acknowledgement, SharePartition
from kafkawire.broker.share.records import decode, encode
from kafkawire.broker.share.stored import ShareKey, ShareStates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.broker.groups.records import Entry
    from kafkawire.broker.share.partition import Update
    from kafkawire.broker.share.stored import Change

KEY = ShareKey("g", UUID(int=1), 0)
LOCK = 30_000


class Stage:
    """One partition, its log and its records."""

    def __init__(self, *sizes: int, limit: int = 5, most_locks: int = 2_000, updates_per_snapshot: int = 500) -> None:
        self.now = 0
        self.limit = limit
        self.most_locks = most_locks
        self.spans: list[Span] = []
        self.aborted: list[Span] = []
        self.log_start = 0
        self.records: list[Entry] = []
        self._updates_per_snapshot = updates_per_snapshot
        self.states = ShareStates(updates_per_snapshot)
        self.append(*sizes)
        self._write(self.states.initialization(KEY, 1, 0, self.now))
        self.partition = SharePartition(0)

    @property
    def end(self) -> int:
        return self.spans[-1].last + 1 if self.spans else 0

    def append(self, *sizes: int) -> None:
        """Add batches of these sizes to the log."""
        for size in sizes:
            self.spans.append(Span(self.end, self.end + size - 1))

    def fetch(self, member: str, most: int = 500, *, size: int = 500, limited: bool = False) -> list[Acquired]:
        """Records for a member."""
        self.partition.log_starts_at(self.log_start)
        if not self.partition.can_acquire(self.most_locks):
            return []
        offset = self.partition.next_offset()
        spans = [span for span in self.spans if span.last >= max(offset, self.log_start)]
        wanted = Wanted(member, most, size, limited, self.now + LOCK, self.limit, self.most_locks)
        aborted = [span for span in self.aborted if span in spans]
        return acquire(self.partition, wanted, offset, spans, aborted)

    def acknowledge(self, member: str, first: int, last: int, *types: int) -> None:
        """Acknowledge records; a refusal is raised."""
        update = self.partition.acknowledge(member, [Acknowledgement(first, last, types or (ACCEPT,))], self.limit)
        self._store(update)

    def release(self, member: str) -> None:
        self._store(self.partition.release(member, self.limit))

    def expire(self) -> None:
        self._store(self.partition.expire(self.now, self.limit))

    def restart(self) -> None:
        """Kill the broker, and load what is stored."""
        states = replayed(self.records, self._updates_per_snapshot)
        assert states.find(KEY) == self.states.find(KEY)
        self.states = states
        stored = states.find(KEY)
        assert stored is not None
        self.partition = SharePartition(stored.start, stored.batches)

    def _store(self, update: Update) -> None:
        if update.batches:
            self._write(self.states.writing(KEY, 0, 1, update.start, update.completed, update.batches, self.now))
        self.partition.apply(update, self.now + LOCK)

    def _write(self, change: Change) -> None:
        self.records.append(encode(change))
        self.states.apply(change)


def replayed(records: Sequence[Entry], updates_per_snapshot: int = 500) -> ShareStates:
    """The states that records lead to."""
    states = ShareStates(updates_per_snapshot)
    for key, value in records:
        change = decode(key, value)
        assert change is not None
        states.apply(change)
    return states
