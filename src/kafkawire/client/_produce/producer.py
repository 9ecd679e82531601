"""The producer: it accepts records, sends them in batches, and completes the future of every record.

Rules:
- `send` returns a future of the record's place; it waits only for metadata or for memory.
- A batch is sent when it is full, when `linger_ms` is over, on `flush`, or while a caller waits for memory. One request
  to a broker carries one batch of each partition that is ready.
- Retriable batches are resent until `delivery_timeout_ms` after the first record was accepted, never out of order, and
  with idempotence (the default) never stored twice.
- With a transactional id, records can only be sent between `begin` and `commit` or `abort`. `stop` aborts a transaction
  that is open; a prepared one stays open.
- The future of a record always completes: with its place, or with an error. If `stop` is cancelled, remaining records
  fail. Calls that wait for memory or metadata fail with ClosedError.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client._consume.commits import ConsumerGroupMetadata, as_offsets
from kafkawire.client._produce.accumulator import Accumulator
from kafkawire.client._produce.results import LOCK, RecordFuture
from kafkawire.client._produce.task_sender import TaskSender
from kafkawire.client._transactions.manager import TransactionManager
from kafkawire.client._transactions.scope import transaction_scope
from kafkawire.client._transactions.state import OPEN
from kafkawire.client.errors import (
    AbortableTransactionError,
    ClosedError,
    OptionError,
    RecordTooLargeError,
)
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ProducerOptions
from kafkawire.exceptions import KafkaWireError
from kafkawire.records import record_size

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import AsyncIterator, Iterable, Mapping
    from types import TracebackType

    from kafkawire.client._cluster.metadata import TopicInfo, TopicPartition
    from kafkawire.client._consume.commits import OffsetAndMetadata
    from kafkawire.client._produce.filling import Record
    from kafkawire.client._produce.results import Delivery, RecordMetadata
    from kafkawire.client._transactions.prepared import PreparedTransaction
    from kafkawire.messages import Message

_log = logging.getLogger("kafkawire.client")


class Producer:
    """Sends records to a cluster; options are `ProducerOptions`, by keyword or as a dict of Kafka's names.

    `async with Producer(bootstrap_servers="localhost:9092") as producer: await producer.send_and_wait("t", b"hello")`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.options = read_options(ProducerOptions, config, options)
        self._cluster = Cluster(self.options)
        self._accumulator = Accumulator(self._cluster.metadata, self.options)
        named = self.options.transactional_id
        self._transactions = None if named is None else TransactionManager(self._cluster, self.options, named)
        self._state = None if self._transactions is None else self._transactions.state
        self._sender = TaskSender(self._cluster, self.options, self._accumulator, self._transactions)
        self._partitioner = self.options.partitioner
        self._check_above = self.options.max_request_size // 2
        self._serializes = self.options.key_serializer is not None or self.options.value_serializer is not None
        self._is_plain = not self._serializes and self._partitioner is None
        self._accept = self._accumulator.accept if self._is_plain else None
        self._running = False
        self._is_spent = False

    async def start(self) -> None:
        """Find the cluster and get a producer id; a transactional id fences its earlier producers."""
        if self._running or self._is_spent:
            raise ClosedError("a producer is started once; make another")
        await self._cluster.start()
        self._accumulator.start()
        try:
            await self._sender.start()
        except BaseException:
            await self._cluster.close()
            raise
        self._running = True

    async def stop(self) -> None:
        """Send all accepted records, then close; if this is cancelled, records that are not delivered fail.

        An open transaction is aborted, unless it is prepared.
        """
        if self._running:
            self._running, self._is_spent = False, True
            self._accumulator.close()
            try:
                if self._transactions is not None and self._transactions.state.may_abort:
                    await self._abort_before_stop()
                await self._accumulator.flush()
            finally:
                self._accumulator.abandon()
                try:
                    await self._sender.close()
                finally:
                    await self._cluster.close()

    def _give_up(self) -> None:
        """Fail all records that are not delivered; `stop` then sends none of them."""
        self._accumulator.abandon()

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
        _delivery: Delivery | None = None,
    ) -> RecordFuture:
        """Accept a record; the future completes with its place, or with the error."""
        if not self._running:
            raise ClosedError("the producer is not started, or stopped")
        accept, state = self._accept, self._state
        if accept is not None and not headers and _delivery is None and (state is None or state.phase is OPEN):
            accepted = accept(topic, value, key, partition, timestamp_ms)
            if accepted is not None:
                return accepted
        if self._serializes:
            key, value = self._serialize(key, value)
        info = self._cluster.metadata.topics.get(topic)
        if info is None or not info.partitions:
            info = await self._cluster.topic(topic, seconds=self.options.max_block_ms / 1000)
            if not self._running:
                raise ClosedError("the producer was stopped before the topic was found")
        accumulator = self._accumulator
        if accumulator.buffered >= accumulator.most_buffered:
            await accumulator.wait_for_room()
        if self._state is not None and self._state.phase is not OPEN:
            self._state.check_open("send")
        sticks = key is None and partition is None and self._partitioner is None
        stamp = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        is_full = False
        try:
            headers = () if headers is None else tuple(headers)
            if headers or (0 if key is None else len(key)) + (0 if value is None else len(value)) > self._check_above:
                self._check_size(topic, key, value, headers)
            queue = accumulator.sticky.get(topic) if sticks else accumulator.queue_for(info, key, partition)
            batch = None if queue is None else queue.filling
            grown = 0 if batch is None else batch.grow(key, value, stamp, headers)
            if batch is None or not grown:
                is_full = batch is not None
                batch = accumulator.new_batch(topic)
                grown = batch.grow(key, value, stamp, headers)
                accumulator.fill(batch, info, queue, sticks)
        except (AttributeError, TypeError, ValueError):
            _check_types(key, value, headers)
            raise
        accumulator.buffered += grown
        result = batch.result
        future = RecordFuture()
        future.batch, future.number = result, len(result.timestamps)
        if _delivery is not None:
            _delivery.attach(result, future.number)
        result.timestamps.append(stamp)
        if is_full:
            accumulator.drain(closing=False)
            await asyncio.sleep(0)
        return future

    def _accept_waiting(self, waiting: deque[tuple[Delivery, Record]]) -> None:
        """Accept records from the left, as far as nothing has to be waited for; `send` takes the next one."""
        if self._running and self._is_plain and (self._state is None or self._state.phase is OPEN):
            with LOCK:
                self._accumulator.accept_waiting(waiting)

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> RecordMetadata:
        """Send a record and wait for its place."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    async def flush(self) -> None:
        """Send all records that were accepted so far, and wait until all of their futures are complete."""
        if not self._running:
            raise ClosedError("the producer is not started, or stopped")
        await self._accumulator.flush()

    async def begin(self) -> None:
        """Begin a transaction."""
        await self._transactional("begin").begin()

    async def commit(self) -> None:
        """Send all records of the transaction and commit it.

        AbortableTransactionError: abort it. RequestTimeoutError: the result is not known, commit again.
        """
        transactions = self._transactional("commit")
        transactions.start_ending(commit=True)
        await self._accumulator.flush()
        await transactions.end(commit=True)

    async def abort(self) -> None:
        """Abort the transaction; records that were not sent yet fail."""
        await self._abort(self._transactional("abort"))

    async def prepare(self) -> PreparedTransaction | None:
        """Send all records of the transaction and leave it open, to be ended here or by `Admin.end_transaction`.

        None if the transaction has neither records nor offsets, and nothing is left to end.
        """
        transactions = self._transactional("prepare")
        transactions.state.check_open("prepare")
        while self._accumulator.buffered:
            await self._accumulator.flush()
        return transactions.prepare()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata], group: str | ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction; `Consumer.group_metadata` names the member (KIP-447)."""
        transactions = self._transactional("send_offsets_to_transaction")
        named = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        await transactions.send_offsets(as_offsets(offsets), named)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """A transaction that is committed at the end of its `async with`, and aborted if it raises."""
        await self.begin()
        async with transaction_scope(self._transactional("transaction").state, self.commit, self.abort):
            yield self

    @property
    def known_topics(self) -> Mapping[str, TopicInfo]:
        """The topics whose metadata is known, so that `send` does not wait for it."""
        return self._cluster.metadata.topics

    async def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic."""
        return set((await self._cluster.topic(topic, seconds=self.options.max_block_ms / 1000)).partitions)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any, and return the answer."""
        return await self._cluster.raw(message, node_id=node_id, version=version)

    def _transactional(self, what: str) -> TransactionManager:
        if not self._running:
            raise ClosedError("the producer is not started, or stopped")
        if self._transactions is None:
            raise OptionError(f"{what}: the producer has no transactional_id")
        return self._transactions

    async def _abort(self, transactions: TransactionManager) -> None:
        transactions.start_ending(commit=False)
        named = transactions.transactional_id
        self._sender.drop_waiting(AbortableTransactionError(f"the transaction of {named!r} was aborted"))
        await self._accumulator.flush()
        await self._sender.until_idle()  # a late answer must not be taken for one of the next transaction
        await transactions.end(commit=False)

    async def _abort_before_stop(self) -> None:
        assert self._transactions is not None
        _log.warning("the transaction of %r is aborted: the producer stops", self._transactions.transactional_id)
        try:
            await self._abort(self._transactions)
        except KafkaWireError as error:
            _log.warning("the transaction of %r was not aborted: %s", self._transactions.transactional_id, error)

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


def _check_types(key: Any, value: Any, headers: Iterable[tuple[str, bytes | None]] | None) -> None:
    """Raise an error that names the part of a record that cannot be written."""
    for name, found in (("key", key), ("value", value)):
        if not isinstance(found, (bytes, bytearray, memoryview, NoneType)):
            kind = type(found).__name__
            raise TypeError(f"{name}: expected bytes or None, found {kind}; encode it, or set {name}_serializer")
    for header in headers or ():
        match header:
            case (str(), bytes() | bytearray() | memoryview() | None):
                continue
        raise TypeError(f"headers: expected pairs of str and bytes or None, found {header!r}")
