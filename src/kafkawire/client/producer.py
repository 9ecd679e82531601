"""The producer: records in, batches out, every record's fate told.

Rules:
- `send` returns a future of where the record is; it waits only for metadata or for room in the buffer.
- A batch goes when it is full, when `linger_ms` is over, on `flush`, or when somebody waits for room; one request a
  broker carries a batch of each partition that is ready.
- What may succeed later is sent again until `delivery_timeout_ms` after the record was taken, never out of order; with
  idempotence (the default) never twice.
- A record's future always ends: with its place, or with the reason. A producer that is stopped in haste gives up what
  it has; one that waits for room or metadata is told that it is too late.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Self

from kafkawire.client.batches import MAX_IN_FLIGHT, PartitionQueue, SendBatch
from kafkawire.client.cluster import Cluster
from kafkawire.client.errors import (
    BufferFullError,
    ClosedError,
    RecordTooLargeError,
    UnknownPartitionError,
)
from kafkawire.client.metadata import TopicPartition
from kafkawire.client.options import ProducerOptions, read_options
from kafkawire.client.outcome import Outcome, RecordFuture
from kafkawire.client.partitioner import another_partition, partition_of_key
from kafkawire.client.sender import Sender
from kafkawire.records import BatchBuilder, record_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from kafkawire.client.metadata import TopicInfo
    from kafkawire.client.outcome import RecordMetadata, Waiter
    from kafkawire.messages import Message

_new: Final = object.__new__
_BUSY_LINGER: Final = 0.001  # a batch that follows a full one is about to be filled too


class Producer:
    """Sends records to a cluster; options are `ProducerOptions`, by keyword or as a dict of Kafka's names.

    `async with Producer(bootstrap_servers="localhost:9092") as producer: await producer.send_and_wait("t", b"hello")`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.options = read_options(ProducerOptions, config, options)
        self._in_flight = self._most_in_flight()
        self._cluster = Cluster(self.options)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._sticky: dict[str, PartitionQueue] = {}
        self._serializes = self.options.key_serializer is not None or self.options.value_serializer is not None
        self._partitioner = self.options.partitioner
        self._most_buffered = self.options.buffer_memory
        self._check_above = self.options.max_request_size // 2
        self._buffered = 0
        self._room: deque[asyncio.Future[None]] = deque()
        self._flushing = 0
        self._wakes_soon = False
        self._running = False
        self._is_spent = False

    async def start(self) -> None:
        """Find the cluster, and with idempotence get a producer id."""
        if self._running or self._is_spent:
            raise ClosedError("a producer is started once; make another")
        await self._cluster.start()
        self._loop = asyncio.get_running_loop()
        self._sender = Sender(self._cluster, self.options, self._wake, self._drain, self._release)
        try:
            await self._sender.start()
        except BaseException:
            await self._cluster.close()
            raise
        self._running = True

    async def stop(self) -> None:
        """Send what is left, or give it up in time; then close."""
        if self._running:
            self._running, self._is_spent = False, True
            for room in self._room:
                if not room.done():
                    room.set_exception(ClosedError("the producer was stopped before there was room"))
            try:
                await self._flush()
            finally:
                self._abandon()
                try:
                    await self._sender.close()
                finally:
                    await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
        *,
        _waiter: Waiter | None = None,
    ) -> RecordFuture:
        """Take a record; the future tells where it ended up, or why it did not."""
        if not self._running:
            raise ClosedError("the producer is not started, or stopped")
        if self._serializes:
            key, value = self._serialize(key, value)
        info = self._cluster.metadata.topics.get(topic)
        if info is None or not info.partitions:
            info = await self._cluster.topic(topic, seconds=self.options.max_block_ms / 1000)
            if not self._running:
                raise ClosedError("the producer was stopped before the topic was found")
        if self._buffered >= self._most_buffered:
            await self._wait_for_room()
        sticks = key is None and partition is None and self._partitioner is None
        stamp = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        is_full = False
        try:
            headers = () if headers is None else tuple(headers)
            if headers or (0 if key is None else len(key)) + (0 if value is None else len(value)) > self._check_above:
                self._check_size(topic, key, value, headers)
            queue = self._sticky.get(topic) if sticks else self._queue_for(info, key, partition)
            batch = None if queue is None else queue.filling
            if batch is None or not batch.append(key, value, stamp, headers):
                is_full = batch is not None
                batch = self._new_batch(topic)
                batch.append(key, value, stamp, headers)
                self._fill(batch, info, queue, sticks)
        except (AttributeError, TypeError, ValueError):
            _explain(key, value, headers)
            raise
        size = batch.builder.size
        self._buffered += size - batch.size
        batch.size = size
        outcome = batch.outcome
        future = _new(RecordFuture)
        future.outcome, future.number = outcome, len(outcome.timestamps)
        if _waiter is not None:
            outcome.tell(future.number, _waiter)
        outcome.timestamps.append(stamp)
        if is_full:
            self._drain(closing=False)
            await asyncio.sleep(0)
        return future

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> RecordMetadata:
        """Take a record and wait for its place."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    async def flush(self) -> None:
        """Send everything that was taken so far; returns when every one of those futures has ended."""
        if not self._running:
            raise ClosedError("the producer is not started, or stopped")
        await self._flush()

    @property
    def known_topics(self) -> Mapping[str, TopicInfo]:
        """The topics whose records need not wait for metadata."""
        return self._cluster.metadata.topics

    async def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic."""
        return set((await self._cluster.topic(topic, seconds=self.options.max_block_ms / 1000)).partitions)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any; its answer."""
        return await self._cluster.raw(message, node_id=node_id, version=version)

    async def _flush(self) -> None:
        batches = [batch for queue in self._queues.values() for batch in (*queue.in_flight, *queue.waiting)]
        batches += [queue.filling for queue in self._queues.values() if queue.filling is not None]
        self._flushing += 1
        try:
            self._wake()
            while batches:
                batch = batches.pop()
                if not batch.done:
                    finished: asyncio.Future[None] = self._loop.create_future()
                    batch.finished.append(finished)
                    await finished
                batches += batch.halves
        finally:
            self._flushing -= 1

    def _abandon(self) -> None:
        """Give up what is still there; after a flush that ended that is nothing."""
        error = ClosedError("the producer was stopped before the record was delivered")
        for queue in self._queues.values():
            for batch in (*queue.in_flight, *queue.waiting, *([queue.filling] if queue.filling else ())):
                if not batch.done:
                    batch.fail(error)
            queue.in_flight.clear()
            queue.waiting.clear()
            queue.filling = None

    def _most_in_flight(self) -> int:
        if not self.options.is_idempotent:
            return 1  # without sequences, a second batch could be written before the first one's retry
        return min(MAX_IN_FLIGHT, self.options.max_in_flight_requests_per_connection)

    def _queue_for(self, info: TopicInfo, key: bytes | None, partition: int | None) -> PartitionQueue:
        if partition is None:
            if self._partitioner is not None:
                partition = self._partitioner(key, list(info.partitions), self._available(info))
            else:
                assert key is not None
                partition = partition_of_key(bytes(key), len(info.partitions))
        return self._queue(info, partition)

    def _queue(self, info: TopicInfo, partition: int) -> PartitionQueue:
        place = (info.name, partition)
        queue = self._queues.get(place)  # type: ignore[call-overload]  # a plain tuple equals a TopicPartition
        if queue is None:
            if partition not in info.partitions:
                raise UnknownPartitionError(f"{info.name}-{partition}: the topic has {len(info.partitions)} partitions")
            queue = self._queues[TopicPartition(*place)] = PartitionQueue(TopicPartition(*place))
        return queue  # type: ignore[no-any-return]

    def _available(self, info: TopicInfo) -> list[int]:
        return [number for number, each in info.partitions.items() if each.leader >= 0] or list(info.partitions)

    def _new_batch(self, topic: str) -> SendBatch:
        options = self.options
        limit = self._sender.limits.get(topic, options.max_batch_size)
        builder = BatchBuilder(compression=options.codec, level=options.compression_level, size_limit=limit)
        return SendBatch(builder, Outcome(self._loop))

    def _fill(self, batch: SendBatch, info: TopicInfo, queue: PartitionQueue | None, sticks: bool) -> None:
        """Go on with this batch; records without keys go on in another partition."""
        is_full = queue is not None and queue.filling is not None
        if queue is not None:
            queue.close_filling()
        if sticks or queue is None:
            last = None if queue is None else queue.partition.partition
            queue = self._sticky[info.name] = self._queue(info, another_partition(self._available(info), last))
            if queue.filling is not None:
                queue.close_filling()
        queue.filling = batch
        batch.timer = self._loop.call_later(self.options.delivery_timeout_ms / 1000, self._sender.expire, queue, batch)
        linger = self.options.linger_ms / 1000
        if linger or is_full:
            self._loop.call_later(linger or _BUSY_LINGER, self._wake)
        else:
            self._wake()

    def _serialize(self, key: Any, value: Any) -> tuple[Any, Any]:
        options = self.options
        if options.key_serializer is not None:
            key = options.key_serializer(key)
        if options.value_serializer is not None:
            value = options.value_serializer(value)
        return key, value

    def _check_size(self, topic: str, key: Any, value: Any, headers: Iterable[tuple[str, bytes | None]]) -> None:
        size = record_size(key, value, headers)
        if size > self.options.max_request_size:
            raise RecordTooLargeError(
                f"a record of {size} bytes for {topic}: max_request_size is {self.options.max_request_size}"
            )

    async def _wait_for_room(self) -> None:
        room: asyncio.Future[None] = self._loop.create_future()
        self._room.append(room)
        self._let_in()
        try:
            async with asyncio.timeout(self.options.max_block_ms / 1000):
                await room
        except TimeoutError:
            raise BufferFullError(
                f"{self._buffered} bytes wait to be sent (buffer_memory is {self.options.buffer_memory}), "
                f"and no room came free within {self.options.max_block_ms} ms"
            ) from None
        finally:
            # what room this one leaves is for the next, also where it left without having taken any
            self._loop.call_soon(self._let_in)

    def _release(self, batch: SendBatch) -> None:
        self._buffered -= batch.size
        self._let_in()

    def _let_in(self) -> None:
        """Let the first that waits for room go on if there is any; if not, what is buffered goes, full or not."""
        while self._room:
            if self._buffered >= self._most_buffered:
                self._wake()
                return
            room = self._room.popleft()
            if not room.done():
                room.set_result(None)
                return

    def _wake(self) -> None:
        if not self._wakes_soon:
            self._wakes_soon = True
            self._loop.call_soon(self._drain_when_awake)

    def _drain_when_awake(self) -> None:
        self._wakes_soon = False
        self._drain()

    def _drain(self, *, closing: bool = True) -> None:
        """Send what is ready; unless told otherwise, that is also what is not full but due."""
        now = self._loop.time()
        is_urgent = self._flushing or self._room or not self._running
        linger = 0 if is_urgent else self.options.linger_ms / 1000
        ready: dict[int, list[PartitionQueue]] = {}
        for queue in self._queues.values():
            filling = queue.filling
            if closing and filling is not None and not queue.waiting and now - filling.opened_at >= linger:
                if len(queue.in_flight) >= self._in_flight and not self._flushing:
                    continue  # it fills further while it cannot go
                queue.close_filling()
            if queue.may_send(now, self._in_flight):
                node = self._cluster.metadata.leader(*queue.partition)
                ready.setdefault(-1 if node is None else node.id, []).append(queue)
        self._sender.send(ready)


def _explain(key: Any, value: Any, headers: Iterable[tuple[str, bytes | None]] | None) -> None:
    """Say what a record needs that cannot be written."""
    for name, found in (("key", key), ("value", value)):
        if not isinstance(found, (bytes, bytearray, memoryview, NoneType)):
            kind = type(found).__name__
            raise TypeError(f"{name}: expected bytes or None, found {kind}; encode it, or set {name}_serializer")
    for header in headers or ():
        match header:
            case (str(), bytes() | bytearray() | memoryview() | None):
                continue
        raise TypeError(f"headers: expected pairs of str and bytes or None, found {header!r}")
