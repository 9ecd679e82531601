"""Who waits for a partition to change.

Rules:
- A watcher names every partition it cares for, and is told once; it looks for itself what changed.
- Telling is cheap where nobody waits, because every append does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Iterable

TopicPartition = tuple[str, int]


class Watchers:
    """Futures by the partitions that end them."""

    def __init__(self) -> None:
        self.changes = 0
        """How many changes there have been: who looked before, and begins to wait now, sees whether it missed one."""
        self._waiting: dict[TopicPartition, set[Future[None]]] = {}

    def __len__(self) -> int:
        """How many partitions are waited for."""
        return len(self._waiting)

    def watch(self, partitions: Iterable[TopicPartition], future: Future[None]) -> None:
        """Let a future end with the next change of any of these partitions."""
        for key in partitions:
            self._waiting.setdefault(key, set()).add(future)

    def unwatch(self, partitions: Iterable[TopicPartition], future: Future[None]) -> None:
        """Forget a future."""
        for key in partitions:
            waiting = self._waiting.get(key)
            if waiting is not None:
                waiting.discard(future)
                if not waiting:
                    del self._waiting[key]

    def notify(self, topic: str, index: int) -> None:
        """A partition has changed."""
        self.changes += 1
        for future in self._waiting.pop((topic, index), ()):
            if not future.done():
                future.set_result(None)
