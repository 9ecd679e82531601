"""Deadlines of many keys, with one timer.

Rules:
- A key has one deadline; setting it again moves it.
- All deadlines move together when the system's clock is set.
- Moving a deadline further away costs nothing until its old time, because heartbeats do it often.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

K = TypeVar("K", bound="Hashable")


class Deadlines(Generic[K]):
    """Deadlines by key.

    >>> deadlines = Deadlines[str]()
    >>> deadlines.set("a", 10), deadlines.set("b", 20), deadlines.set("a", 30)
    (None, None, None)
    >>> deadlines.next(), deadlines.take(20), deadlines.take(20), deadlines.next()
    (20, 'b', None, 30)
    """

    def __init__(self) -> None:
        self._due: dict[K, int] = {}
        self._queued: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def set(self, key: K, when: int) -> None:
        """Set the deadline of a key."""
        self._due[key] = when
        queued = self._queued.get(key)
        if queued is None or when < queued:
            self._queue(key, when)

    def cancel(self, key: K) -> None:
        """Remove the deadline of a key."""
        self._due.pop(key, None)

    def move_all(self, by: int) -> None:
        """Move all deadlines by the same time."""
        self._due = {key: when + by for key, when in self._due.items()}
        self._queued = {key: when + by for key, when in self._queued.items()}
        self._heap = [(when + by, order, key) for when, order, key in self._heap]

    def next(self) -> int | None:
        """When the next key is due; None if nothing is."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def take(self, now: int) -> K | None:
        """Remove and return the earliest key that is due; None if there is none."""
        if not self._drop_stale() or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._queued[key], self._due[key]
        return key

    def _queue(self, key: K, when: int) -> None:
        self._queued[key] = when
        heapq.heappush(self._heap, (when, next(self._order), key))

    def _drop_stale(self) -> bool:
        """Drop stale entries from the top of the heap; returns whether a valid one is left."""
        while self._heap:
            when, _, key = self._heap[0]
            if self._queued.get(key) != when:
                heapq.heappop(self._heap)
            elif self._due.get(key) != when:
                heapq.heappop(self._heap)
                del self._queued[key]
                if key in self._due:
                    self._queue(key, self._due[key])
            else:
                return True
        return False
