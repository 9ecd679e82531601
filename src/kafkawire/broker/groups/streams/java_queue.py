"""Java's PriorityQueue: a binary heap whose order of equal elements follows from how it moves them.

Kafka's task assignor takes the least loaded process from such a queue, so its result depends on this order. The heap of
Python's `heapq` moves elements differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


class JavaQueue(Generic[T]):
    """Elements by rank, the lowest first.

    >>> queue = JavaQueue("bca", ord)
    >>> queue.poll(), queue.poll(), len(queue)
    ('a', 'b', 1)
    """

    def __init__(self, elements: Iterable[T], rank: Callable[[T], float]) -> None:
        self._heap: list[T] = []
        self._rank = rank
        for element in elements:
            self.add(element)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: T) -> None:
        heap, rank = self._heap, self._rank
        heap.append(element)
        place = len(heap) - 1
        mine = rank(element)
        while place:
            parent = (place - 1) >> 1
            if mine >= rank(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = element

    def poll(self) -> T:
        """Remove and return the first element."""
        heap, rank = self._heap, self._rank
        first, last = heap[0], heap.pop()
        if not heap:
            return first
        mine = rank(last)
        place, end = 0, len(heap)
        while place < end >> 1:
            child = 2 * place + 1
            if child + 1 < end and rank(heap[child]) > rank(heap[child + 1]):
                child += 1
            if mine <= rank(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first
