"""What the broker does by itself from time to time.

Rules:
- Logs are flushed when flush.ms asks for it, cut by retention, compacted; checkpoints follow.
- Syncs run in a thread, through the same flusher as acknowledgements; the rest is short and runs on the loop.
- Logs are compacted one by one, and requests are served between them.
- A fault of one log is logged, and the others go on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker.clock import Timer
    from kafkawire.broker.node import Node
    from kafkawire.log.partition import Partition

_log = logging.getLogger("kafkawire.broker")


class Maintenance:
    """The timers of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._timers: dict[str, Timer] = {}

    def start(self) -> None:
        for name, work in (
            ("log.flush.scheduler.interval.ms", self.flush_due),
            ("log.flush.offset.checkpoint.interval.ms", self._node.logs.checkpoint),
            ("log.retention.check.interval.ms", self.apply_retention),
            ("log.cleaner.backoff.ms", self.compact),
        ):
            self._repeat(name, work)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def flush_due(self) -> None:
        """Sync the logs whose records have waited long enough, and those of finished segments."""
        now = self._node.clock.now()
        for (topic, index), log in self._logs():
            if log.flush_is_due(now):
                self._node.flusher.flush(topic, index, log)

    def apply_retention(self) -> None:
        """Let segments go that are too old or too many, and forget silent producers."""
        for (topic, index), log in self._logs():
            before = log.log_start_offset
            try:
                log.apply_retention()
            except KafkaWireError as error:
                _log.error("retention of %s-%s failed: %s", topic, index, error)
            if log.log_start_offset != before:
                self._node.watchers.notify(topic, index)
        self._node.logs.purge()

    def compact(self) -> None:
        """Compact the logs that ask for it and have enough new records."""
        if self._node.config.boolean("log.cleaner.enable"):
            self._compact_next([key for key, log in self._logs() if log.config.compacts])

    def _compact_next(self, left: list[tuple[str, int]]) -> None:
        """Compact one log, and the rest after requests had their turn."""
        if not left:
            return
        log = self._node.logs.partitions.get(left.pop())
        try:
            if log is not None:
                log.compact()
        except KafkaWireError as error:
            _log.error("compaction failed: %s", error)
        self._timers["next log"] = self._node.clock.call_later(1, lambda: self._compact_next(left))

    def _logs(self) -> list[tuple[tuple[str, int], Partition]]:
        return [(key, log) for key, log in self._node.logs.partitions.items() if key[0] in self._node.topics]

    def _repeat(self, name: str, work: Callable[[], object]) -> None:
        def run() -> None:
            try:
                work()
            except KafkaWireError as error:
                _log.error("%s", error)
            self._repeat(name, work)

        self._timers[name] = self._node.clock.call_later(max(1, self._node.config.integer(name)), run)
