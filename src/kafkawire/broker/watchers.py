"""Fetches that wait for partitions to change.

Rules:
- A watch names its partitions once. It collects the partitions that have changed since it was last asked, so that only
  those are read again.
- A notification is cheap if no fetch waits for the partition, because every append sends one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker.clock import wait

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkawire.broker.clock import Clock

TopicPartition = tuple[str, int]


class Watch:
    """The partitions that one fetch waits for."""

    __slots__ = ("_changed", "_woken", "partitions")

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        self.partitions = partitions
        self._changed: set[TopicPartition] = set()
        self._woken: asyncio.Future[None] | None = None

    def note(self, key: TopicPartition) -> None:
        """One of the partitions has changed."""
        self._changed.add(key)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def wait(self, clock: Clock, milliseconds: int) -> bool:
        """Wait for a change; returns whether one came in time."""
        if not self._changed:
            self._woken = asyncio.get_running_loop().create_future()
            return await wait(clock, self._woken, milliseconds)
        return True

    def take(self) -> set[TopicPartition]:
        """The partitions that have changed since this was last called."""
        changed, self._changed = self._changed, set()
        return changed


class Watchers:
    """Watches by the partitions that wake them."""

    def __init__(self) -> None:
        self.changes = 0
        """The number of changes so far. A fetch that reads first and watches later sees whether it missed one."""
        self._watches: dict[TopicPartition, set[Watch]] = {}

    def __len__(self) -> int:
        """The number of partitions that are watched."""
        return len(self._watches)

    def add(self, watch: Watch) -> None:
        """Let a watch note every change of its partitions from now on."""
        for key in watch.partitions:
            watches = self._watches.get(key)
            if watches is None:
                self._watches[key] = {watch}
            else:
                watches.add(watch)

    def remove(self, watch: Watch) -> None:
        """Forget a watch."""
        for key in watch.partitions:
            watches = self._watches.get(key)
            if watches is not None:
                watches.discard(watch)
                if not watches:
                    del self._watches[key]

    def notify(self, topic: str, index: int) -> None:
        """A partition has changed."""
        self.changes += 1
        key = topic, index
        for watch in self._watches.get(key, ()):
            watch.note(key)
