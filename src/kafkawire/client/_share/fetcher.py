"""The fetches and acknowledgements of a share consumer, one fetch at a time for each leader.

Rules:
- Acknowledgements travel with the next fetch from the broker that gave the records, or by themselves.
- The records and errors of a fetch are buffered in order, so an error is raised after the records before it.
- A retriable error is not raised. Metadata is refreshed if it may be old, and the next poll fetches again.
- At the end, fetches under way may finish, and records without an acknowledgement are released.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from kafkawire.client._cluster.discovery import calls_for_refresh
from kafkawire.client._share.acknowledgements import InFlight
from kafkawire.client._share.leader import ShareLeader
from kafkawire.client.errors import is_retriable
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from uuid import UUID

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._share.acknowledgements import Acknowledgements, Delivery, ShareRecord
    from kafkawire.client._share.leader import Fetched
    from kafkawire.client.options import ShareConsumerOptions

    Callback = Callable[[TopicPartition, set[int], Exception | None], object]

_log = logging.getLogger("kafkawire.client")
_CLOSES_WITHIN = 5.0


class ShareFetcher:
    """The records that brokers gave, those in flight, and the errors that a poll has to raise."""

    def __init__(self, cluster: Cluster, options: ShareConsumerOptions, member_id: Callable[[], str]) -> None:
        self._cluster = cluster
        self._options = options
        self._member_id = member_id
        self.in_flight = InFlight()
        self.buffer: deque[Delivery | Exception] = deque()
        self.errors: list[Exception] = []
        self.callback: Callback | None = None
        self.news = asyncio.Event()
        self._leaders: dict[int, ShareLeader] = {}
        self._fetching: dict[int, asyncio.Task[None]] = {}
        self._aside: set[asyncio.Task[None]] = set()
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def lock_timeout_ms(self) -> int | None:
        """The time that records stay acquired, as a broker last said; None before the first answer."""
        known = [each.lock_ms for each in self._leaders.values() if each.lock_ms is not None]
        return known[-1] if known else None

    def take_records(self) -> list[ShareRecord]:
        """The records up to the first error."""
        records: list[ShareRecord] = []
        while self.buffer and not isinstance(delivery := self.buffer[0], Exception):
            self.buffer.popleft()
            self.in_flight.deliver(delivery)
            records += delivery.records.values()
        return records

    def next_error(self) -> Exception | None:
        if self.buffer:
            found = self.buffer.popleft()
            assert isinstance(found, Exception)
            return found
        return self.errors.pop(0) if self.errors else None

    def start(self, assigned: Iterable[TopicPartition], acks: list[Acknowledgements]) -> None:
        """Start a fetch at every leader that has none under way; the other acknowledgements are sent by themselves."""
        wanted: dict[int, dict[tuple[UUID, int], TopicPartition]] = {}
        metadata = self._cluster.metadata
        for partition in assigned:
            node, topic = metadata.leader(*partition), metadata.topics.get(partition.topic)
            if node is None or topic is None:
                self.refresh()
            elif node.id not in self._fetching:
                wanted.setdefault(node.id, {})[topic.id, partition.partition] = partition
        for node_id, places in wanted.items():
            along = [each for each in acks if each.session.node_id == node_id]
            acks = [each for each in acks if each.session.node_id != node_id]
            self._fetching[node_id] = asyncio.create_task(self._fetch_from(node_id, places, along))
        self.send_aside(acks)

    async def _fetch_from(
        self, node_id: int, wanted: dict[tuple[UUID, int], TopicPartition], acks: list[Acknowledgements]
    ) -> None:
        try:
            fetched = await self._leader(node_id).fetch(wanted, acks, self._options.fetch_max_wait_ms)
            await self._take(fetched)
        except KafkaWireError as error:
            await self._recover(error)
        except Exception as error:
            _log.exception("a share fetch failed")
            self.errors.append(error)
        finally:
            del self._fetching[node_id]
            self.news.set()

    async def _take(self, fetched: Fetched) -> None:
        self.buffer += fetched.found
        self.news.set()
        for error in fetched.errors:
            await self._recover(error)

    async def _recover(self, error: Exception) -> None:
        if not is_retriable(error):
            self.errors.append(error)
            return
        _log.debug("share fetch: %s", error)
        if calls_for_refresh(error):
            self.refresh()
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)

    def _leader(self, node_id: int) -> ShareLeader:
        leader = self._leaders.get(node_id)
        if leader is None:
            leader = ShareLeader(self._cluster, node_id, self._options, self._member_id(), self._finished)
            self._leaders[node_id] = leader
        return leader

    async def send(self, acks: list[Acknowledgements], deadline: float = 0.0) -> None:
        """Send acknowledgements to the brokers from which the records came."""
        by_node: dict[int, list[Acknowledgements]] = {}
        for each in acks:
            by_node.setdefault(each.session.node_id, []).append(each)
        await asyncio.gather(*(self._leader(node).acknowledge(said, deadline) for node, said in by_node.items()))

    def _finished(self, acks: Acknowledgements, error: Exception | None) -> None:
        acks.error = error
        if error is None:
            self.in_flight.renewed(acks)
        else:
            _log.info("acknowledgements of %s: %s", acks.partition, error)
        if self.callback is not None:
            try:
                self.callback(acks.partition, set(acks.types), error)
            except Exception:
                _log.exception("a callback of acknowledgements failed")
        self.news.set()

    async def close(self) -> None:
        under_way = [*self._fetching.values(), *self._aside]
        if under_way:
            seconds = self._options.fetch_max_wait_ms / 1000 + _CLOSES_WITHIN
            _, late = await asyncio.wait(under_way, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        acks = self.in_flight.take()
        closing = [
            leader.close([each for each in acks if each.session.node_id == node], _CLOSES_WITHIN)
            for node, leader in self._leaders.items()
        ]
        await asyncio.gather(*closing)
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def refresh(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        try:
            await self._cluster.refresh()
        except KafkaWireError as error:
            _log.debug("metadata: %s", error)
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        self.news.set()

    def send_aside(self, acks: list[Acknowledgements], deadline: float = 0.0) -> None:
        if acks:
            task = asyncio.create_task(self.send(acks, deadline))
            self._aside.add(task)
            task.add_done_callback(self._aside.discard)
