"""The same clients for code without an event loop: `Producer`, `Consumer` and `Admin` with plain calls.

Rules:
- A client is opened by making it and closed by `close` or its `with`; between, any thread may call it.
- Iterating a consumer takes records in runs, but its position moves record by record: what is committed is what the
  loop has come to. Whatever else is asked of the consumer, the rest of a run is given back first; what a rebalance or
  a reset took away meanwhile is dropped.
- A record of a topic that is not known yet waits for it in `send`, as in Java's producer, so that it does not keep the
  records of other threads waiting.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client.blocking_admin import Admin
from kafkawire.client.consumer import Consumer as AsyncConsumer
from kafkawire.client.delivery import Delivery
from kafkawire.client.errors import BufferFullError, ClosedError, RequestTimeoutError
from kafkawire.client.producer import Producer as AsyncProducer
from kafkawire.client.shared_loop import CLOSED, SHARED, BlockingClient
from kafkawire.client.subscription import RebalanceListener
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kafkawire.client.committing import OffsetAndMetadata
    from kafkawire.client.decoding import ConsumerRecord
    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.offsets import OffsetAndTimestamp
    from kafkawire.client.outcome import RecordMetadata
    from kafkawire.client.positions import Run
    from kafkawire.messages import Message

__all__ = ["Admin", "Consumer", "Producer"]
_RUN: Final = 500
# Who sends fills this and then waits until it is empty: threads that take turns lose less than threads that compete.
_MOST_TAKEN: Final = 5_000
_NOT_TAKEN: Final = "the producer was closed before the record was taken"


class Producer(BlockingClient):
    """`kafkawire.client.Producer` with plain calls.

    `with Producer(bootstrap_servers="localhost:9092") as producer: producer.send("t", b"hello").result()`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncProducer = self._open(partial(AsyncProducer, config, **options))
        self._taken: deque[tuple[Delivery, tuple[Any, ...]]] = deque()
        self._handing_over = threading.Lock()
        self._room = threading.Event()
        self._room.set()
        self._pumping = False
        self._pump_task: asyncio.Task[None] | None = None
        self._known = self._client.known_topics

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send what is left, then close; an interrupt gives up what was not sent by then."""
        self._close(self._stop)

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> Delivery:
        """Take a record; the delivery tells where it ended up.

        Waits, at most `max_block_ms`, for the topic's metadata and while thousands of records wait for the loop.
        """
        if not self._is_open:
            raise ClosedError(CLOSED)
        future = Delivery()
        if topic not in self._known or not self._room.is_set():
            try:
                self._wait_to_take(topic)
            except KafkaWireError as error:
                future.set_exception(error)
                return future
        with self._handing_over:
            self._taken.append((future, (topic, value, key, partition, timestamp_ms, headers)))
            if len(self._taken) >= _MOST_TAKEN:
                self._room.clear()
            if not self._pumping:
                self._pumping = True
                SHARED.loop.call_soon_threadsafe(self._start_pump)
        return future

    def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> RecordMetadata:
        """Take a record and wait for its place."""
        return self.send(topic, value, key, partition, timestamp_ms, headers).result()

    def flush(self) -> None:
        """Send everything that was taken so far, and wait for it."""
        self._run(self._flush())

    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic."""
        return self._run(self._client.partitions_for(topic))

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version; its answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))

    def _wait_to_take(self, topic: str) -> None:
        if SHARED.is_here():
            return  # who sends from a callback would wait for itself; its record waits its turn on the loop
        patience = self._client.options.max_block_ms / 1000
        if not self._room.wait(patience):
            raise BufferFullError(f"{len(self._taken)} records wait to be taken, and none was within {patience:g} s")
        if topic not in self._known:
            self._run(self._client.partitions_for(topic))

    def _start_pump(self) -> None:
        self._pump_task = SHARED.loop.create_task(self._pump())

    async def _pump(self) -> None:
        while True:
            while self._taken:
                future, record = self._taken.popleft()
                try:
                    await self._client.send(*record, _waiter=future)
                except asyncio.CancelledError:
                    closed = ClosedError(_NOT_TAKEN)
                    future.set_exception(closed)
                    self._refuse_rest(closed)
                    self._pumping = False
                    raise
                except Exception as error:
                    future.set_exception(error)
                    if isinstance(error, RequestTimeoutError) and record[0] not in self._known:
                        self._refuse_rest(error, record[0])
            with self._handing_over:
                self._room.set()
                if not self._taken:
                    self._pumping = False
                    return

    def _refuse_rest(self, error: Exception, topic: str | None = None) -> None:
        """What waits is refused too: all of it, or that of a topic that was waited for in vain."""
        with self._handing_over:
            refused = [future for future, record in self._taken if topic in (None, record[0])]
            self._taken = deque(each for each in self._taken if topic not in (None, each[1][0]))
        for future in refused:
            future.set_exception(error)

    async def _hand_over(self) -> None:
        """Wait until the pump is through."""
        while self._pumping:
            await asyncio.sleep(0)
            if self._pump_task is not None:
                await asyncio.wait([self._pump_task])

    async def _flush(self) -> None:
        await self._hand_over()
        await self._client.flush()

    async def _stop(self) -> None:
        try:
            await self._hand_over()
        except asyncio.CancelledError:
            self._refuse_rest(ClosedError(_NOT_TAKEN))
            if self._pump_task is not None:
                self._pump_task.cancel()
            current = asyncio.current_task()
            assert current is not None
            current.cancel()  # a stop that is cancelled waits for no delivery either
            raise
        finally:
            await self._client.stop()


class _Aside(RebalanceListener):
    """Tells a listener on another thread, so that it may call the consumer and wait."""

    def __init__(self, listener: RebalanceListener) -> None:
        self._listener = listener

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self._tell(self._listener.on_partitions_revoked, revoked)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        await self._tell(self._listener.on_partitions_assigned, assigned)

    async def _tell(self, method: Callable[[set[TopicPartition]], Any], partitions: set[TopicPartition]) -> None:
        result = await asyncio.to_thread(method, partitions)
        if inspect.isawaitable(result):
            await result


class Consumer(BlockingClient):
    """`kafkawire.client.Consumer` with plain calls.

    `with Consumer("orders", group_id="g") as consumer: for record in consumer: ...`
    """

    def __init__(self, *topics: str, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncConsumer = self._open(partial(AsyncConsumer, *topics, config=config, **options))
        self._runs: dict[TopicPartition, Run] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit, if that is done by itself; leave the group; close."""
        self._close(self._client.stop)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        while self._is_open:
            while self._runs:
                partition, run = next(iter(self._runs.items()))
                while (record := run.pop()) is not None:
                    yield record
                if self._runs.get(partition) is run:
                    del self._runs[partition]
            if self._is_open:
                try:
                    self._runs = self._run(self._next_runs())
                except ClosedError:
                    return

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose names match; the listener is called on a thread of its own."""
        self._give_back()
        told = None if listener is None else _Aside(listener)
        self._on_loop(partial(self._client.subscribe, topics, pattern, told))

    def unsubscribe(self) -> None:
        self._give_back()
        self._run(self._client.unsubscribe())

    def subscription(self) -> frozenset[str]:
        return self._on_loop(self._client.subscription)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read exactly these partitions."""
        self._give_back()
        self._on_loop(partial(self._client.assign, list(partitions)))

    def assignment(self) -> set[TopicPartition]:
        return self._on_loop(self._client.assignment)

    def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """The next record, waited for."""
        self._give_back()
        return self._run(self._client.getone(*partitions))

    def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The records that are there, waited for at most so long."""
        self._give_back()
        return self._run(self._client.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records))

    def arrow(self, columns: Sequence[str] | None = None, *, timeout_ms: int | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches as they come."""
        self._give_back()
        batches = self._client.arrow(columns, timeout_ms=timeout_ms)
        while self._is_open:
            batch = self._run(_next_or_none(batches))
            if batch is None:
                return
            yield batch

    def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit these offsets, or every position."""
        self._run(self._client.commit(offsets))

    def committed(self, partition: TopicPartition) -> int | None:
        return self._run(self._client.committed(partition))

    def position(self, partition: TopicPartition) -> int:
        return self._run(self._client.position(partition))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self._on_loop(partial(self._client.seek, partition, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_end(*partitions))

    def seek_to_committed(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._run(self._client.seek_to_committed(*partitions))

    def pause(self, *partitions: TopicPartition) -> None:
        self._give_back()
        self._on_loop(partial(self._client.pause, *partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._on_loop(partial(self._client.resume, *partitions))

    def paused(self) -> set[TopicPartition]:
        return self._on_loop(self._client.paused)

    def highwater(self, partition: TopicPartition) -> int | None:
        return self._on_loop(partial(self._client.highwater, partition))

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        return self._on_loop(partial(self._client.last_stable_offset, partition))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return self._run(self._client.offsets_for_times(timestamps))

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._run(self._client.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._run(self._client.end_offsets(partitions))

    def topics(self) -> set[str]:
        return self._run(self._client.topics())

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self._run(self._client.partitions_for_topic(topic))

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version; its answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))

    def _give_back(self) -> None:
        if self._runs:
            left, self._runs = self._runs, {}
            self._on_loop(partial(self._return_to, left))

    def _return_to(self, runs: dict[TopicPartition, Run]) -> None:
        for partition, run in runs.items():
            if run.is_left:
                self._client.seek(partition, run.records[0].offset)

    async def _next_runs(self) -> dict[TopicPartition, Run]:
        while True:
            found = self._client.take((), _RUN)
            if found:
                return {partition: self._client.run_of(partition, records) for partition, records in found.items()}
            await self._client.wait()


async def _next_or_none(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)
