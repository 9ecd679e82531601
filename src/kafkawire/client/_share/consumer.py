"""The share consumer: records of a share group, acquired, processed and acknowledged one by one (KIP-932).

Rules:
- Brokers are asked for records only while `poll` has none, because acquired records are locked for a limited time.
- Implicit mode: the next `poll` or commit accepts the records of the last one. Explicit mode: the application
  acknowledges every record before the next `poll`.
- Each acknowledgement has one result, which the callback gets. `fetcher` sends them.
- A consumer is used by one task at a time.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self

from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._share.acknowledgements import AcknowledgeType
from kafkawire.client._share.fetcher import ShareFetcher
from kafkawire.client._share.member import join_share_group
from kafkawire.client.errors import ClientError, ClosedError, GroupError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ShareConsumerOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from types import TracebackType

    from kafkawire.client._share.acknowledgements import ShareRecord
    from kafkawire.client._share.fetcher import Callback
    from kafkawire.client._share.member import ShareMembership
    from kafkawire.messages import Message


class ShareConsumer:
    """A member of a share group; options are `ShareConsumerOptions`, by keyword or as a dict of Kafka's names.

    `async with ShareConsumer("orders", group_id="workers") as consumer: records = await consumer.poll(timeout_ms=1000)`
    """

    def __init__(self, *topics: str, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.options = read_options(ShareConsumerOptions, config, options)
        if not self.options.group_id:
            raise GroupError("a share consumer needs a group_id")
        self._is_explicit = self.options.share_acknowledgement_mode == "explicit"
        self._cluster = Cluster(self.options)
        self._cluster.allow_creation = False
        self._topics: set[str] = set()
        self._member: ShareMembership | None = None
        self._assigned: list[TopicPartition] = []
        self._fetcher = ShareFetcher(self._cluster, self.options, self._member_id)
        self._last_poll = 0.0
        self._waiting = 0
        self._running = self._is_spent = False
        if topics:
            self.subscribe(topics)

    async def start(self) -> None:
        """Find the cluster; with a subscription, join the group."""
        if self._running or self._is_spent:
            raise ClosedError("a consumer is started once; make another")
        await self._cluster.start()
        self._running = True
        self._last_poll = time.monotonic()
        self._cluster.on_update.append(self._updated)
        self._join()

    async def stop(self) -> None:
        """Send the acknowledgements so far, release all other records, leave the group, close."""
        if self._running:
            self._running, self._is_spent = False, True
            self._fetcher.news.set()
            async with AsyncExitStack() as closing:
                closing.push_async_callback(self._cluster.close)
                closing.push_async_callback(self._leave)
                closing.push_async_callback(self._fetcher.close)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to exactly these topics."""
        wanted = {topics} if isinstance(topics, str) else set(topics)
        if not wanted:
            raise ClientError("expected at least one topic; unsubscribe leaves the group")
        self._topics = wanted
        self._cluster.wanted = set(wanted)
        self._fetcher.errors.clear()
        if self._running:
            self._fetcher.refresh()
            self._join()

    async def unsubscribe(self) -> None:
        """Leave the group; records in flight can still be acknowledged."""
        await self._leave()
        self._topics = set()

    def subscription(self) -> frozenset[str]:
        """The topics of the subscription."""
        return frozenset(self._topics)

    def assignment(self) -> set[TopicPartition]:
        """The partitions from which records are acquired; other members may have them too."""
        return set(self._assigned)

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """The time that records stay acquired, as a broker last said; None before the first answer."""
        return self._fetcher.lock_timeout_ms

    async def poll(self, timeout_ms: int = 0) -> list[ShareRecord]:
        """The next records; waits at most `timeout_ms` for the first."""
        self._check_open()
        if not self._topics:
            raise ClientError("no topic is subscribed to")
        self._acknowledge_delivered()
        if left := self._fetcher.in_flight.unacknowledged():
            raise ClientError(f"{left} records are not acknowledged; in explicit mode every record must be")
        deadline = self._cluster.now() + timeout_ms / 1000
        while True:
            self._check_open()
            self._polled()
            acks = self._fetcher.in_flight.take()
            if any(each.renews for each in acks):
                await self._fetcher.send(acks, deadline)
                acks = []
            records = self._fetcher.in_flight.take_renewed() or self._fetcher.take_records()
            error = None if records else self._fetcher.next_error()
            if records or error is not None:
                self._fetcher.send_aside(acks)
                if error is not None:
                    raise error
                return records
            self._fetcher.start(self._assigned, acks)
            left_seconds = deadline - self._cluster.now()
            if left_seconds <= 0:
                await asyncio.sleep(0)
                return []
            await self._hear(left_seconds)

    def acknowledge(self, record: ShareRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Say what became of a record of the last poll, in explicit mode."""
        self.acknowledge_offset(TopicPartition(record.topic, record.partition), record.offset, kind)

    def acknowledge_offset(
        self, partition: TopicPartition, offset: int, kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """As `acknowledge`, for the record at an offset."""
        if not self._is_explicit:
            raise ClientError("acknowledge needs share_acknowledgement_mode=explicit")
        self._fetcher.in_flight.acknowledge(TopicPartition(*partition), offset, kind)

    async def commit_sync(self, timeout_ms: int | None = None) -> dict[TopicPartition, Exception | None]:
        """Send the acknowledgements so far; the result of each partition, None for success."""
        self._check_open()
        self._acknowledge_delivered()
        milliseconds = self.options.default_api_timeout_ms if timeout_ms is None else timeout_ms
        results: dict[TopicPartition, Exception | None] = {}
        acks = self._fetcher.in_flight.take()
        await self._fetcher.send(acks, self._cluster.now() + milliseconds / 1000)
        for each in acks:
            results[each.partition] = results.get(each.partition) or each.error
        return results

    def commit_async(self) -> None:
        """Send the acknowledgements so far without waiting; the callback gets the results."""
        self._check_open()
        self._acknowledge_delivered()
        self._fetcher.send_aside(
            self._fetcher.in_flight.take(), self._cluster.now() + self.options.default_api_timeout_ms / 1000
        )

    def set_acknowledgement_callback(self, callback: Callback | None) -> None:
        """Call a function with partition, offsets and error, for all acknowledgements that are answered or fail."""
        self._fetcher.callback = callback

    async def __aiter__(self) -> AsyncIterator[ShareRecord]:
        """Records one by one, in implicit mode: each is accepted when the next one is asked for."""
        if self._is_explicit:
            raise ClientError("a loop over records needs share_acknowledgement_mode=implicit")
        while self._running:
            try:
                records = await self.poll(timeout_ms=60_000)
            except ClosedError:
                return
            for record in records:
                yield record
                self.accept(record)

    def accept(self, record: ShareRecord) -> None:
        """Accept a record of the last poll, in implicit mode before the others of it."""
        place = TopicPartition(record.topic, record.partition)
        self._fetcher.in_flight.acknowledge(place, record.offset, AcknowledgeType.ACCEPT)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any, and return the answer."""
        return await self._cluster.raw(message, node_id=node_id, version=version)

    # The membership calls these.

    async def give_up(self, partitions: list[TopicPartition], *, lost: bool) -> None:
        """Partitions are no longer read; their records in flight can still be acknowledged."""
        gone = set(partitions)
        self._assigned = [each for each in self._assigned if each not in gone]

    async def receive(self, partitions: list[TopicPartition], added: list[TopicPartition]) -> None:
        """Partitions are read."""
        self._assigned = list(partitions)
        self._fetcher.news.set()

    def subscribed(self) -> tuple[Iterable[str], str | None]:
        """The topics that the coordinator gets."""
        return self._topics, None

    def since_poll(self) -> float:
        """Seconds since the last poll; 0 while a poll waits for records."""
        return 0.0 if self._waiting else time.monotonic() - self._last_poll

    def fail(self, error: Exception) -> None:
        """Membership has failed; the next poll raises the error."""
        self._fetcher.errors.append(error)
        self._fetcher.news.set()

    def recovered_from(self, error: Exception) -> None:
        """The error of the membership has passed."""
        if error in self._fetcher.errors:
            self._fetcher.errors.remove(error)

    def _member_id(self) -> str:
        assert self._member is not None
        return self._member.member_id

    def _join(self) -> None:
        if not self._topics:
            return
        if self._member is None:
            self._member = join_share_group(self._cluster, self.options, self)
            self._member.start()
        else:
            self._member.rejoin()

    async def _leave(self) -> None:
        if self._member is not None:
            member, self._member = self._member, None
            await member.close()

    def _updated(self) -> None:
        if self._member is not None:
            self._member.topics_changed()
        self._fetcher.news.set()

    def _polled(self) -> None:
        self._last_poll = time.monotonic()
        if self._member is not None:
            self._member.polled()

    def _acknowledge_delivered(self) -> None:
        if not self._is_explicit:
            self._fetcher.in_flight.accept_all()

    def _check_open(self) -> None:
        if not self._running:
            raise ClosedError("the consumer is not started, or stopped")

    async def _hear(self, seconds: float) -> None:
        self._fetcher.news.clear()
        if self._fetcher.buffer or self._fetcher.errors:
            return
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._fetcher.news.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
