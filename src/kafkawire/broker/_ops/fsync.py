"""Waiting for the disk: one sync for all requests that wait.

Rules:
- At most one sync of a partition runs at a time, in a thread; appends continue meanwhile.
- A caller that arrives during a sync waits for the next one, because the running sync may have started before its
  records were written.
- A failed sync fails all requests that waited for it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kafkawire.messages.errors import KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.log.partition import Partition

TopicPartition = tuple[str, int]
_log = logging.getLogger("kafkawire.broker")


class Flusher:
    """The running syncs, by partition."""

    def __init__(self, moved: Callable[[str, int], None]) -> None:
        self._moved = moved
        self._running: dict[TopicPartition, asyncio.Task[None]] = {}

    async def wait(self, topic: str, index: int, log: Partition, last_offset: int) -> None:
        """Return when everything up to an offset is on the disk; raises KafkaStorageError if the sync fails."""
        while log.recovery_point <= last_offset:
            if log.end_offset <= last_offset:
                raise KafkaStorageError(f"{topic}-{index}: the records up to offset {last_offset} were lost")
            await asyncio.shield(self.flush(topic, index, log))

    def flush(self, topic: str, index: int, log: Partition) -> asyncio.Task[None]:
        """The running sync of a partition; starts one if there is none."""
        key = topic, index
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.get_running_loop().create_task(self._flush(key, log))
            running.add_done_callback(_report)
        return running

    async def drain(self) -> None:
        """Return when no sync is running."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _flush(self, key: TopicPartition, log: Partition) -> None:
        flush = None
        try:
            flush = log.begin_flush()
            await asyncio.get_running_loop().run_in_executor(None, flush.run)
        finally:
            del self._running[key]
            if flush is not None:
                log.finish_flush(flush)
                self._moved(*key)


def _report(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("%s", error)
