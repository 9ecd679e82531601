"""The consumer: records as objects or as Arrow columns, with a group or without.

Rules:
- A position advances when its records are returned; auto-commit commits the positions.
- Partitions take turns: the partition that was served goes to the end of the queue. Record by record, a turn is the
  records of one fetch.
- The error of a partition is raised when its records are requested, and again until the application seeks or drops it.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.commits import as_offsets
from kafkawire.client._consume.fetcher import Fetcher
from kafkawire.client._consume.offsets import EARLIEST, LATEST, look_up_offsets
from kafkawire.client._consume.positions import COMMITTED, Run
from kafkawire.client._consume.subscription import Subscription
from kafkawire.client.errors import ClosedError, RequestTimeoutError, UnknownPartitionError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ConsumerOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from types import TracebackType

    import pyarrow as pa

    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata
    from kafkawire.client._consume.offsets import OffsetAndTimestamp
    from kafkawire.client._consume.positions import Goal, Position
    from kafkawire.client._consume.records import ConsumerRecord
    from kafkawire.client._consume.subscription import AnyPattern, RebalanceListener
    from kafkawire.messages import Message


class Consumer:
    """Reads records of topics; options are `ConsumerOptions`, by keyword or as a dict of Kafka's names.

    `async with Consumer("orders", group_id="g") as consumer: async for record in consumer: ...`
    """

    def __init__(self, *topics: str, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.options = read_options(ConsumerOptions, config, options)
        self._cluster = Cluster(self.options)
        self._cluster.allow_creation = False
        self._subscription = Subscription(self._cluster, self.options, self._notify)
        self._assignment = self._subscription.assignment
        self._fetcher = Fetcher(self._cluster, self.options, self._assignment, self._subscription.look_up)
        self._news = asyncio.Event()
        self._current: Position | None = None
        self._running = self._is_spent = False
        if topics:
            self._subscription.subscribe(topics, None, None)

    async def start(self) -> None:
        """Find the cluster; with a subscription, join the group."""
        if self._running or self._is_spent:
            raise ClosedError("a consumer is started once; make another")
        await self._cluster.start()
        self._running = True
        try:
            await self._subscription.start()
        except BaseException:
            await self.stop()
            raise
        self._subscription.look_up()

    async def stop(self) -> None:
        """Commit (with auto-commit), leave the group, close."""
        if self._running:
            self._running, self._is_spent = False, True
            self._news.set()
            async with AsyncExitStack() as closing:
                closing.push_async_callback(self._cluster.close)
                closing.push_async_callback(self._fetcher.close)
                closing.push_async_callback(self._subscription.close)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: AnyPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Subscribe to these topics, or to those whose names match; the broker resolves a `SubscriptionPattern`."""
        self._subscription.subscribe(topics, pattern, listener)
        if self._running:
            self._subscription.follow_soon()

    async def unsubscribe(self) -> None:
        """Drop the subscription and the assignment."""
        await self._subscription.unsubscribe()

    def subscription(self) -> frozenset[str]:
        """The topics of the subscription."""
        return frozenset(self._subscription.wanted_topics())

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read exactly these partitions, without group management."""
        self._subscription.assign(TopicPartition(*each) for each in partitions)

    def assignment(self) -> set[TopicPartition]:
        """The assigned partitions."""
        return set(self._assignment.partitions)

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """Wait for the next record, of these partitions or of any."""
        current = self._current
        if current is not None and current.records and not partitions and not current.is_paused and self._running:
            self._subscription.last_poll = monotonic()
            return current.pop()
        while True:
            for state in self._poll(partitions):
                taken = state.take(1, self.options)
                if taken:
                    self._current = None if partitions else state
                    self._served(state)
                    return taken[0]
            await self._wait(None)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The available records, of these partitions or of any; waits at most `timeout_ms` for the first."""
        most = self.options.max_poll_records if max_records is None else max_records
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        while True:
            found = self.take(partitions, most)
            left = deadline - asyncio.get_running_loop().time()
            if found or left <= 0:
                await asyncio.sleep(0)
                return found
            await self._wait(left)

    def take(
        self, partitions: Sequence[TopicPartition] = (), max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The available records, without waiting; fetches run on the loop."""
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        count = 0
        for state in self._poll(partitions):
            if max_records is not None and count >= max_records:
                break
            taken = state.take(None if max_records is None else max_records - count, self.options)
            if taken:
                found[state.partition] = taken
                count += len(taken)
                self._served(state)
        return found

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait until there may be records to take; False on timeout."""
        return await self._wait(None if timeout_ms is None else timeout_ms / 1000)

    def run_of(self, partition: TopicPartition, records: Iterable[ConsumerRecord]) -> Run:
        """Records that were just taken of a partition, to be returned one by one on any thread."""
        return Run(self._assignment.partitions[partition], records)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        try:
            return await self.getone()
        except ClosedError:
            raise StopAsyncIteration from None

    async def arrow(
        self, columns: Sequence[str] | None = None, *, timeout_ms: int | None = None
    ) -> AsyncIterator[pa.RecordBatch]:
        """Record batches as they arrive: topic, partition and the columns of `kafkawire.records.to_arrow`.

        With a timeout it ends when no record has arrived for that time; without one it ends when the consumer stops.
        """
        from kafkawire.client._bulk.arrow import ARROW_COLUMNS, ArrowDecoder

        decoder = ArrowDecoder(ARROW_COLUMNS if columns is None else columns, verify=self.options.check_crcs)
        while self._running:
            found = False
            for state in self._poll(()):
                batch = state.take_columns(decoder)
                found |= batch is not None
                if batch is not None:
                    self._served(state)
                    if batch.num_rows:
                        yield batch
            if not found and not await self._wait(None if timeout_ms is None else timeout_ms / 1000):
                return

    async def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit these offsets, or all positions, for the group."""
        await self._subscription.commits.commit(None if offsets is None else as_offsets(offsets))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The group and this member of it, for `Producer.send_offsets_to_transaction`."""
        return self._subscription.commits.group_metadata()

    async def committed(self, partition: TopicPartition) -> int | None:
        """The committed offset of a partition."""
        found = (await self._subscription.commits.committed([TopicPartition(*partition)])).get(
            TopicPartition(*partition)
        )
        return None if found is None else found.offset

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record of a partition, looked up if necessary."""
        loop, seconds = asyncio.get_running_loop(), self.options.default_api_timeout_ms / 1000
        deadline = loop.time() + seconds
        if self._state(partition).position is None:
            self._subscription.look_up()
        while True:
            state = self._state(partition)
            if state.error is not None:
                raise state.error
            if state.position is not None:
                return state.position
            if not await self._hear(max(0.0, deadline - loop.time())):
                raise RequestTimeoutError(f"{TopicPartition(*partition)}: no position found within {seconds:g} s")

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at an offset."""
        if offset < 0:
            raise UnknownPartitionError(f"{TopicPartition(*partition)}: offset {offset}, expected 0 or more")
        self._state(partition).move(offset)
        self._notify()

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first record."""
        await self._seek_to(EARLIEST, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue with records that are written from now on."""
        await self._seek_to(LATEST, partitions)

    async def seek_to_committed(self, *partitions: TopicPartition) -> None:
        """Continue at the committed offset."""
        await self._seek_to(COMMITTED, partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Return no records of these partitions until `resume`."""
        for each in partitions:
            self._state(each).is_paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        for each in partitions:
            self._state(each).is_paused = False
        self._notify()

    def paused(self) -> set[TopicPartition]:
        return {each for each, state in self._assignment.partitions.items() if state.is_paused}

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark of a partition in the last fetch."""
        end = self._state(partition).high_watermark
        return None if end < 0 else end

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The last stable offset of a partition in the last fetch."""
        end = self._state(partition).last_stable_offset
        return None if end < 0 else end

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time in milliseconds, of each partition."""
        wanted = {TopicPartition(*each): time for each, time in timestamps.items()}
        return await look_up_offsets(self._cluster, wanted, self.options.isolation)

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._special(EARLIEST, partitions)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition."""
        return await self._special(LATEST, partitions)

    async def topics(self) -> set[str]:
        """All topics that the client may read."""
        wanted, self._cluster.wants_all = self._cluster.wants_all, True
        try:
            await self._cluster.refresh()
        finally:
            self._cluster.wants_all = wanted
        return {topic.name for topic in self._cluster.metadata.topics.values() if not topic.is_internal}

    async def partitions_for_topic(self, topic: str) -> set[int]:
        """The partitions of a topic."""
        return set((await self._cluster.topic(topic)).partitions)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any, and return the answer."""
        return await self._cluster.raw(message, node_id=node_id, version=version)

    def _poll(self, partitions: Sequence[TopicPartition]) -> list[Position]:
        """The partitions with records, in turn; raises errors first."""
        if not self._running:
            raise ClosedError("the consumer is not started, or stopped")
        self._subscription.polled()
        if self._subscription.error is not None:
            raise self._subscription.error
        states = (
            [self._state(each) for each in partitions] if partitions else list(self._assignment.partitions.values())
        )
        ready = [state for state in states if state.has_data]
        if not ready:
            for state in states:
                if state.error is not None and not state.is_paused:
                    raise state.error
        return ready

    def _served(self, state: Position) -> None:
        if state.partition in self._assignment.partitions:
            self._assignment.rotate(state.partition)
        if len(state.chunks) < 2:
            self._fetcher.kick()

    async def _wait(self, seconds: float | None) -> bool:
        """Wait until there may be records that were not there at this call; False on timeout."""
        self._assignment.waiting += 1
        try:
            self._fetcher.kick()
            return await self._hear(seconds)
        finally:
            self._assignment.waiting -= 1
            self._subscription.polled()

    async def _hear(self, seconds: float | None) -> bool:
        """Wait for a change after this call; False on timeout."""
        if not self._running:
            raise ClosedError("the consumer is not started, or stopped")
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
            return True
        except TimeoutError:
            return False

    def _notify(self) -> None:
        self._news.set()
        if self._running:
            self._fetcher.kick()

    def _state(self, partition: TopicPartition) -> Position:
        state = self._assignment.partitions.get(TopicPartition(*partition))
        if state is None:
            raise UnknownPartitionError(f"{TopicPartition(*partition)} is not assigned to this consumer")
        return state

    async def _seek_to(self, goal: Goal, partitions: Sequence[TopicPartition]) -> None:
        chosen = partitions or list(self._assignment.partitions)
        for each in chosen:
            self._state(each).look_up(goal)
        self._subscription.look_up()
        for each in chosen:
            await self.position(each)

    async def _special(self, goal: int, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        found = await self.offsets_for_times({TopicPartition(*each): goal for each in partitions})
        return {each: 0 if offset is None else offset.offset for each, offset in found.items()}
