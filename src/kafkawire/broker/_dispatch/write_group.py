"""Appends held in memory, to be written together.

Requests that arrive together are written together, which halves the cost of small batches.
Rules:
- A group belongs to the requests of one connection that arrived in one read. It is written before the loop runs
  anything else.
- A log that cannot be written loses all held records. Every request that appended to it reports the error: its
  response is built from `failures`, which is complete once `write` has returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.messages.errors import KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.log.partition import Partition


class WriteGroup:
    """The logs that hold records of one group of requests."""

    def __init__(self, report: Callable[[KafkaStorageError], None]) -> None:
        self.failures: dict[Partition, KafkaStorageError] = {}
        """The logs whose records were lost, and why."""
        self._logs: dict[Partition, None] = {}
        self._report = report

    def __contains__(self, log: Partition) -> bool:
        return log in self._logs

    def add(self, log: Partition) -> None:
        self._logs[log] = None

    def write(self) -> None:
        """Write everything that is held; a log that fails is noted in `failures`."""
        while self._logs:
            log, _ = self._logs.popitem()
            self.failures[log] = KafkaStorageError("the records were not written")
            try:
                log.write_held()
            except KafkaStorageError as error:
                self.failures[log] = error
                self._report(error)
            else:
                del self.failures[log]
