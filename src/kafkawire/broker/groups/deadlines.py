"""When something is due, for many things at once.

Rules:
- A key has one deadline; setting it again moves it.
- All of them move together when the clock that they were told by is set.
- Moving one further away costs nothing until the old time comes: heartbeats do it all the time.
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
        """Let a key be due at a time, and at no other."""
        self._due[key] = when
        queued = self._queued.get(key)
        if queued is None or when < queued:
            self._queue(key, when)

    def cancel(self, key: K) -> None:
        """Let a key never be due."""
        self._due.pop(key, None)

    def move_all(self, by: int) -> None:
        """Let every key be due later, or earlier, by as much."""
        self._due = {key: when + by for key, when in self._due.items()}
        self._queued = {key: when + by for key, when in self._queued.items()}
        self._heap = [(when + by, order, key) for when, order, key in self._heap]

    def next(self) -> int | None:
        """When the next key is due; None if nothing is."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def take(self, now: int) -> K | None:
        """Take out the earliest key that is due; None if none is. What is done about it may move the others."""
        if not self._settle() or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._queued[key], self._due[key]
        return key

    def _queue(self, key: K, when: int) -> None:
        self._queued[key] = when
        heapq.heappush(self._heap, (when, next(self._order), key))

    def _settle(self) -> bool:
        """Bring the earliest entry that still holds to the top; whether there is one."""
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
