"""A fetch that waits for partitions to change.

Rules:
- A watch registers for its partitions once. It collects the partitions that changed since the last `take`, so that
  only those are read again.
- `Node.notify` calls `note`. A notification is cheap if no fetch waits, because every append sends one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from kafkawire.broker._clock import wait

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    from kafkawire.broker._clock import Clock

TopicPartition = tuple[str, int]


class Watch:
    """The partitions that one fetch waits for, registered within a `with` block."""

    __slots__ = ("_changed", "_partitions", "_watches", "_woken")

    def __init__(self, watches: dict[TopicPartition, set[Watch]], partitions: Collection[TopicPartition]) -> None:
        self._watches = watches
        self._partitions = partitions
        self._changed: set[TopicPartition] = set()
        self._woken: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        for key in self._partitions:
            watches = self._watches.get(key)
            if watches is None:
                self._watches[key] = {self}
            else:
                watches.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for key in self._partitions:
            watches = self._watches.get(key)
            if watches is not None:
                watches.discard(self)
                if not watches:
                    del self._watches[key]

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
        """The partitions that have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed
