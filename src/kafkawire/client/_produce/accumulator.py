"""The records that a producer has accepted and not delivered: their queues, their memory and their timers.

Rules:
- A batch is ready when it is full, when `linger_ms` is over, on `flush`, or while a caller waits for memory. A batch
  that follows a full one lingers for a millisecond, because answers that arrive meanwhile would close it half empty.
- Records count against `buffer_memory` until their batch is delivered or given up. A caller without room waits, and
  callers get room in the order in which they came.
- `delivery_timeout_ms` after its first record a batch is given up, wherever it is.
- Most records are added to a batch in `filling.py`, the others by `Producer.send`. Both add the bytes to `buffered`.
  Everything else about queues, memory and timers is here.
- The accumulator hands ready queues to `on_ready`, by leader; nothing else knows when a batch is ready.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from kafkawire._native import load
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._produce.batches import BatchMemory, PartitionQueue, RecordBatch
from kafkawire.client._produce.partitioner import another_partition, partition_of_key
from kafkawire.client._produce.results import BatchResult, RecordFuture
from kafkawire.client.errors import (
    BufferFullError,
    ClosedError,
    RequestTimeoutError,
    UnknownPartitionError,
)
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client._cluster.metadata import Metadata, TopicInfo
    from kafkawire.client._produce import filling as form
    from kafkawire.client._produce.batches import Batch
    from kafkawire.client.options import ProducerOptions
else:
    form = load("kafkawire.client._produce._filling", "kafkawire.client._produce.filling")

MAX_IN_FLIGHT: Final = 5  # the number of batches that a broker remembers of each producer
_log = logging.getLogger("kafkawire.client")
_BUSY_LINGER: Final = 0.001


class Accumulator(form.Filling):
    """Queues of batches for one producer."""

    on_ready: Callable[[dict[int, list[PartitionQueue]]], None]
    on_expired: Callable[[BaseException], None]

    def __init__(self, metadata: Metadata, options: ProducerOptions) -> None:
        super().__init__(metadata.topics, RecordFuture, options.buffer_memory, options.max_request_size // 2)
        self._metadata = metadata
        self._options = options
        self.limits: dict[str, int] = {}
        self._partitioner = options.partitioner
        self._codec = options.codec
        self._is_transactional = options.transactional_id is not None
        self._most_in_flight = _most_in_flight(options)
        self._memory = BatchMemory(options.max_batch_size)
        self._room: deque[asyncio.Future[None]] = deque()
        self._flushing = 0
        self._wakes_soon = False
        self._is_closing = False

    def start(self) -> None:
        """Use the running loop for timers."""
        self._loop = asyncio.get_running_loop()

    def queue_for(self, info: TopicInfo, key: bytes | None, partition: int | None) -> PartitionQueue:
        """The queue of a record that does not stick to a partition."""
        if partition is None:
            if self._partitioner is not None:
                partition = self._partitioner(key, list(info.partitions), info.available())
            else:
                assert key is not None
                partition = partition_of_key(bytes(key), len(info.partitions))
        return self._queue(info, partition)

    def new_batch(self, topic: str) -> RecordBatch:
        """An empty batch, in no queue yet."""
        limit = self.limits.get(topic, self._options.max_batch_size)
        level = self._options.compression_level
        builder = BatchBuilder(
            compression=self._codec, level=level, size_limit=limit, is_transactional=self._is_transactional
        )
        return RecordBatch(builder, BatchResult(self._loop), self._loop.time(), self._memory)

    def fill(self, batch: RecordBatch, info: TopicInfo, queue: PartitionQueue | None, sticks: bool) -> None:
        """Fill this batch from now on; records without keys switch to another partition."""
        is_full = queue is not None and queue.filling is not None
        if queue is not None:
            queue.close_filling()
        if sticks or queue is None:
            last = None if queue is None else queue.partition.partition
            queue = self.sticky[info.name] = self._queue(info, another_partition(info.available(), last))
            queue.close_filling()
        queue.filling = batch
        self._set_timer(queue, batch)
        batch.lingers = self._options.linger_ms / 1000 or (_BUSY_LINGER if is_full else 0)
        if batch.lingers:
            self.wake_in(batch.lingers)
        else:
            self.wake()

    async def wait_for_room(self) -> None:
        """Wait until a record may be added, at most `max_block_ms`."""
        room: asyncio.Future[None] = self._loop.create_future()
        self._room.append(room)
        self._let_in()
        try:
            async with asyncio.timeout(self._options.max_block_ms / 1000):
                await room
        except TimeoutError:
            raise BufferFullError(
                f"{self.buffered} bytes wait to be sent (buffer_memory is {self.most_buffered}), "
                f"and no room came free within {self._options.max_block_ms} ms"
            ) from None
        finally:
            # the next waiter may use the room that this one leaves, even if this one has left without using any
            self._loop.call_soon(self._let_in)

    async def flush(self) -> None:
        """Send all records that were added so far, and wait until each is delivered or given up."""
        batches = [batch for queue in self.queues.values() for batch in queue.batches()]
        self._flushing += 1
        try:
            self.drain()
            while batches:
                batch = batches.pop()
                if not batch.is_done and isinstance(batch, RecordBatch):
                    finished: asyncio.Future[None] = self._loop.create_future()
                    batch.finished.append(finished)
                    await finished
                batches += batch.halves
        finally:
            self._flushing -= 1

    def close(self) -> None:
        """Take no further record; batches are sent without waiting for more of them."""
        self._is_closing = True
        for room in self._room:
            if not room.done():
                room.set_exception(ClosedError("the producer was stopped before there was room"))

    def abandon(self) -> None:
        """Give up all remaining batches; after a flush there are none."""
        error = ClosedError("the producer was stopped before the record was delivered")
        for queue in self.queues.values():
            for batch in queue.batches():
                if not batch.is_done:
                    batch.fail(error)
            queue.in_flight.clear()
            queue.waiting.clear()
            queue.filling = None

    def drop_waiting(self, error: BaseException) -> bool:
        """Give up all batches that are not in flight; whether one of them has a sequence."""
        has_sequence = False
        for queue in self.queues.values():
            for batch in queue.drop_waiting():
                has_sequence |= batch.sequence is not None
                if not batch.is_done:
                    batch.fail(error)
                    self.release(batch)
        return has_sequence

    def release(self, batch: Batch) -> None:
        """A batch is delivered or given up; its memory is free."""
        assert isinstance(batch, RecordBatch)
        self.buffered -= batch.size
        self._let_in()

    def replace(self, queue: PartitionQueue, batch: Batch) -> None:
        """The halves of a batch take over its delivery timeout."""
        for half in batch.halves:
            assert isinstance(half, RecordBatch)
            self._set_timer(queue, half)

    def wake_in(self, seconds: float) -> None:
        """Look for ready batches after a while."""
        self._loop.call_later(seconds, self.wake)

    def wake(self) -> None:
        """Look for ready batches in the next turn of the loop."""
        if not self._wakes_soon:
            self._wakes_soon = True
            self._loop.call_soon(self._drain_when_awake)

    def drain(self, *, closing: bool = True) -> None:
        """Hand over batches that are ready; with `closing` also batches that are not full but due."""
        now = self._loop.time()
        is_urgent = self._flushing or self._room or self._is_closing
        ready: dict[int, list[PartitionQueue]] = {}
        for queue in self.queues.values():
            filling = queue.filling
            is_due = filling is not None and (is_urgent or now - filling.opened_at >= filling.lingers)
            if closing and is_due and not queue.waiting:
                if len(queue.in_flight) >= self._most_in_flight and not self._flushing:
                    continue  # it can take more records while it cannot be sent
                queue.close_filling()
            if queue.may_send(now, self._most_in_flight):
                node = self._metadata.leader(*queue.partition)
                ready.setdefault(-1 if node is None else node.id, []).append(queue)
        self.on_ready(ready)

    def _drain_when_awake(self) -> None:
        self._wakes_soon = False
        self.drain()

    def _let_in(self) -> None:
        """Give room to the first waiter if there is any; if not, send all batches, full or not."""
        while self._room:
            if self.buffered >= self.most_buffered:
                self.wake()
                return
            room = self._room.popleft()
            if not room.done():
                room.set_result(None)
                return

    def _queue(self, info: TopicInfo, partition: int) -> PartitionQueue:
        place = (info.name, partition)
        queue = self.queues.get(place)  # type: ignore[call-overload]  # a plain tuple equals a TopicPartition
        if queue is None:
            if partition not in info.partitions:
                raise UnknownPartitionError(f"{info.name}-{partition}: the topic has {len(info.partitions)} partitions")
            queue = self.queues[TopicPartition(*place)] = PartitionQueue(TopicPartition(*place))
        return queue  # type: ignore[no-any-return]

    def _set_timer(self, queue: PartitionQueue, batch: RecordBatch) -> None:
        deadline = batch.opened_at + self._options.delivery_timeout_ms / 1000
        batch.timer = self._loop.call_at(deadline, self._expire, queue, batch)

    def _expire(self, queue: PartitionQueue, batch: RecordBatch) -> None:
        if batch.is_done:
            return
        count, waited = len(batch.result.timestamps), self._options.delivery_timeout_ms
        error = RequestTimeoutError(
            f"{queue.partition}: {count} records not delivered within {waited} ms ({batch.attempts} attempts)"
        )
        _log.warning("%s", error)
        if batch in queue.in_flight:
            batch.is_expired = True
        else:
            queue.give_up(batch)
        batch.fail(error)
        self.release(batch)
        self.on_expired(error)
        self.wake()


def _most_in_flight(options: ProducerOptions) -> int:
    if not options.is_idempotent:
        return 1  # without sequences, a second batch could be written before the first one is resent
    return min(MAX_IN_FLIGHT, options.max_in_flight_requests_per_connection)
