"""Records into the batches that are being filled, in Python: the reference of `_filling.pyx`, and its replacement.

Rules:
- A record is accepted here if its batch exists and has room, and nothing has to be looked up, checked or waited for.
  Otherwise nothing changes, and `Producer.send` does the rest. So no error of a record is raised here.
- Keys and values are bytes here, and timestamps are ints; other types take the longer way.
- Records without key and partition stick to a partition (KIP-480). Keys choose theirs as Java's producer does.
- The bytes that a batch grows by are added to `buffered`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._produce.partitioner import partition_of_key

if TYPE_CHECKING:
    from collections import deque

    from kafkawire.client._cluster.metadata import TopicInfo, TopicPartition
    from kafkawire.client._produce.batches import PartitionQueue, RecordBatch
    from kafkawire.client._produce.results import BatchResult, Delivery, RecordFuture

_new: Final = object.__new__
Record = tuple[str, Any, Any, int | None, int | None, Any]
"""Topic, value, key, partition, timestamp, headers: the arguments of `Producer.send`."""


class Placed:
    """A record in a batch: the result of the batch, and the number of the record in it."""

    __slots__ = ("batch", "number")

    batch: BatchResult
    number: int


class Tail:
    """The end of a partition's queue: the batch that takes records, or None."""

    __slots__ = ("filling",)

    def __init__(self) -> None:
        self.filling: RecordBatch | None = None


class Filling:
    """The queues of a producer by partition, those that keyless records stick to, and the bytes in their batches."""

    def __init__(
        self, topics: dict[str, TopicInfo], future: type[RecordFuture], most_buffered: int, largest: int
    ) -> None:
        self._topics = topics
        self._future = future
        self.queues: dict[TopicPartition, PartitionQueue] = {}
        self.sticky: dict[str, PartitionQueue] = {}
        self.buffered = 0
        self.most_buffered = most_buffered
        self._largest = largest

    def accept(
        self, topic: str, value: Any, key: Any = None, partition: int | None = None, timestamp_ms: int | None = None
    ) -> RecordFuture | None:
        """Accept a record if that is possible at once; None if it is not."""
        batch = self._add(topic, value, key, partition, timestamp_ms)
        if batch is None:
            return None
        future = _new(self._future)
        future.batch, future.number = batch.result, len(batch.stamps) - 1
        return future

    def accept_waiting(self, waiting: deque[tuple[Delivery, Record]]) -> None:
        """Accept records from the left, up to one that cannot be accepted at once; the caller holds `results.LOCK`."""
        while waiting:
            delivery, (topic, value, key, partition, timestamp_ms, headers) = waiting[0]
            batch = None if headers else self._add(topic, value, key, partition, timestamp_ms)
            if batch is None:
                return
            waiting.popleft()
            delivery.place(batch.result, len(batch.stamps) - 1)

    def _add(
        self, topic: str, value: Any, key: Any, partition: int | None, timestamp_ms: int | None
    ) -> RecordBatch | None:
        """Add a record to its batch; returns the batch, or None."""
        size = 0
        for part in (key, value):
            if part is not None:
                if type(part) is not bytes:
                    return None
                size += len(part)
        if size > self._largest or self.buffered >= self.most_buffered:
            return None
        info = self._topics.get(topic)
        if info is None or not info.partitions:
            return None
        if partition is None and key is None:
            queue = self.sticky.get(topic)
        else:
            if partition is None:
                partition = partition_of_key(key, len(info.partitions))
            queue = self.queues.get((topic, partition))  # type: ignore[call-overload]  # equals a TopicPartition
        batch = None if queue is None else queue.filling
        if batch is None:
            return None
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        elif type(timestamp_ms) is not int or not -(2**63) <= timestamp_ms < 2**63:
            return None
        grown = batch.grow(key, value, timestamp_ms)
        if not grown:
            return None
        batch.stamps.append(timestamp_ms)
        self.buffered += grown
        return batch
