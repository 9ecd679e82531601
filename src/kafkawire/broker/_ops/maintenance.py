"""The periodic work of the broker: flushes, checkpoints, retention, compaction, removal of files and of expired tokens.

Rules:
- Slow work runs in a thread, one step after the other, while requests are served. Syncs use the same flusher as
  acknowledgements. Retention and compaction run in the steps of `log._cleanup.steps`.
- The loop is free again every few milliseconds, however many partitions there are.
- Work of one kind starts again only after it has ended. When the broker stops, it ends after its current step.
- An error of one log is logged, and the other logs continue.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.broker._dispatch.turns import TurnBudget, Turns
from kafkawire.broker._ops import threads
from kafkawire.broker._ops.event_log import log_event
from kafkawire.exceptions import KafkaWireError
from kafkawire.log import compaction, removal, retention
from kafkawire.log import compaction_is_due as is_due

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from kafkawire.broker._clock import Timer
    from kafkawire.broker._node import Node
    from kafkawire.log import BackgroundWork, Step
    from kafkawire.log.partition import Partition

T = TypeVar("T")
TopicPartition = tuple[str, int]
_log = logging.getLogger("kafkawire.broker")
REMOVAL_MS: Final = 5000
"""The interval of looking for files to remove; each has its own time, by the delay of its topic."""


class Maintenance:
    """The timers of one node, and the work that they start."""

    def __init__(self, node: Node, turns: Turns | None = None) -> None:
        self._node = node
        self._turns = turns or Turns()
        self._timers: dict[Callable[[], Awaitable[None]], Timer] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = False

    def start(self) -> None:
        for work, setting in (
            (self.flush_due, "log.flush.scheduler.interval.ms"),
            (self.checkpoint, "log.flush.offset.checkpoint.interval.ms"),
            (self.apply_retention, "log.retention.check.interval.ms"),
            (self.compact, "log.cleaner.backoff.ms"),
        ):
            self._repeat(work, partial(self._node.config.integer, setting))
        self._repeat(self.remove_files, lambda: REMOVAL_MS)
        if self._node.tokens.is_enabled:
            interval = "delegation.token.expiry.check.interval.ms"
            self._repeat(self.remove_tokens, partial(self._node.config.integer, interval))

    async def stop(self) -> None:
        """Start nothing more, and return when nothing is running."""
        self._stopping = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        await asyncio.gather(*self._running)

    async def flush_due(self) -> None:
        """Sync the logs whose records have waited long enough, and those of finished segments."""
        now = self._node.clock.now()
        async for (topic, index), log in self._logs():
            if log.flush_is_due(now):
                self._node.flusher.flush(topic, index, log)

    async def checkpoint(self) -> None:
        """Write the offsets from which a restart recovers."""
        await self._in_thread(self._node.logs.begin_checkpoint())

    async def apply_retention(self) -> None:
        """Delete segments that are too old or too many, and forget silent producers."""
        async for (topic, index), log in self._logs():
            before = log.log_start_offset
            try:
                await self._run((topic, index), log, retention(log))
            except (KafkaWireError, OSError) as error:
                self._report("retention", (topic, index), log, error)
            if log.log_start_offset != before:
                self._node.notify(topic, index)
                log_event("records expired", partition=f"{topic}-{index}", start=log.log_start_offset, was=before)

    async def remove_files(self) -> None:
        """Remove the files of segments and partitions that were deleted file.delete.delay.ms ago."""
        async for (topic, index), log in self._logs(of_all=True):
            try:
                await self._run((topic, index), log, removal(log))
            except (KafkaWireError, OSError) as error:
                self._report("removing files", (topic, index), log, error)
        await self._in_thread(self._node.logs.purge)

    async def remove_tokens(self) -> None:
        """Remove the delegation tokens that have expired."""
        tokens = self._node.tokens
        await self._node.changes.run(tokens.removal(tokens.expired()))

    async def compact(self) -> None:
        """Compact the logs whose settings ask for it and that have enough new records."""
        if not self._node.config.boolean("log.cleaner.enable"):
            return
        async for (topic, index), log in self._logs():
            try:
                if log.config.compacts and is_due(log):
                    await self._node.flusher.wait(topic, index, log, log.end_offset - 1)
                    before = log.segments.size
                    if await self._run((topic, index), log, compaction(log)):
                        log_event("log compacted", partition=f"{topic}-{index}", bytes=log.segments.size, was=before)
            except (KafkaWireError, OSError) as error:
                self._report("compaction", (topic, index), log, error)

    async def _logs(self, *, of_all: bool = False) -> AsyncIterator[tuple[TopicPartition, Partition]]:
        """The logs of topics, or with `of_all` every log, in turns with requests; deleted logs are skipped."""
        turn = TurnBudget(self._turns)
        for key, log in list(self._node.logs.partitions.items()):
            await turn.yield_if_due()
            if self._is_served(key, log) and (of_all or key[0] in self._node.topics):
                yield key, log

    def _is_served(self, key: TopicPartition, log: Partition) -> bool:
        return not self._stopping and self._node.logs.partitions.get(key) is log

    def _report(self, what: str, key: TopicPartition, log: Partition, error: Exception) -> None:
        if self._is_served(key, log):
            _log.error("%s of %s-%d failed: %s", what, *key, error)

    async def _run(self, key: TopicPartition, log: Partition, work: BackgroundWork[T]) -> T | None:
        """The result of long work; None if the broker stops or the log is deleted meanwhile."""
        return await threads.run(work, partial(self._is_served, key, log))

    async def _in_thread(self, step: Step) -> None:
        await asyncio.get_running_loop().run_in_executor(None, step)

    def _repeat(self, work: Callable[[], Awaitable[None]], period_ms: Callable[[], int]) -> None:
        async def run() -> None:
            try:
                await work()
            except (KafkaWireError, OSError) as error:
                _log.error("%s", error)
            except Exception:
                _log.exception("maintenance failed")
            if not self._stopping:
                self._repeat(work, period_ms)

        def begin() -> None:
            task = asyncio.get_running_loop().create_task(run())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        self._timers[work] = self._node.clock.call_later(max(1, period_ms()), begin)
