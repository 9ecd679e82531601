"""The producer for code without an event loop; import it from `kafkawire.client.blocking`.

Rules:
- Any thread may call a producer. Records are handed to the loop in the order of their calls.
- `send` waits for the metadata of an unknown topic, as Java's producer does, so that this record does not delay the
  records of other threads.
- A transaction belongs to the producer, not to a thread. A commit covers the records of all threads that were sent
  before it; an abort drops those that the loop has not taken yet.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from kafkawire.client._cluster.background_loop import CLOSED, SHARED, BlockingClient
from kafkawire.client._produce.producer import Producer as AsyncProducer
from kafkawire.client._produce.results import Delivery
from kafkawire.client._transactions.scope import blocking_transaction_scope
from kafkawire.client.errors import AbortableTransactionError, BufferFullError, ClosedError, RequestTimeoutError
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata
    from kafkawire.client._produce.filling import Record
    from kafkawire.client._produce.results import RecordMetadata
    from kafkawire.client._transactions.prepared import PreparedTransaction
    from kafkawire.messages import Message

# A sending thread fills this and then waits until it is empty: taking turns is faster than competing for the GIL.
_MOST_TAKEN: Final = 500
_NOT_TAKEN: Final = "the producer was closed before the record was accepted"


class Producer(BlockingClient):
    """`kafkawire.client.Producer` with plain calls.

    `with Producer(bootstrap_servers="localhost:9092") as producer: producer.send("t", b"hello").result()`
    """

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._client: AsyncProducer = self._open(partial(AsyncProducer, config, **options))
        self._taken: deque[tuple[Delivery, Record]] = deque()
        self._handing_over = threading.Lock()
        self._room = threading.Event()
        self._room.set()
        self._pumping = False
        self._pump_task: asyncio.Task[None] | None = None
        self._known = self._client.known_topics

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send all accepted records, then close; after an interrupt the remaining records fail."""
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
        """Accept a record; the delivery completes with its place, or with the error.

        Waits at most `max_block_ms` for the metadata of the topic, and while hundreds of records wait for the loop.
        """
        if not self._is_open:
            raise ClosedError(CLOSED)
        future = Delivery()
        if topic not in self._known or not self._room.is_set():
            try:
                self._wait_to_take(topic)
            except KafkaWireError as error:
                future.refuse(error)
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
        """Send a record and wait for its place."""
        return self.send(topic, value, key, partition, timestamp_ms, headers).result()

    def flush(self) -> None:
        """Send all records that were accepted so far, and wait for them."""
        self._run(self._flush())

    def begin(self) -> None:
        """Begin a transaction."""
        self._run(self._client.begin())

    def commit(self) -> None:
        """Send all records of the transaction and commit it.

        AbortableTransactionError: abort it. RequestTimeoutError: the result is not known, commit again.
        """
        self._run(self._commit())

    def abort(self) -> None:
        """Abort the transaction; records that were not sent yet fail."""
        self._run(self._abort())

    def prepare(self) -> PreparedTransaction | None:
        """Send all records of the transaction and leave it open, to be ended here or by `Admin.end_transaction`.

        None if the transaction has neither records nor offsets, and nothing is left to end.
        """
        return self._run(self._prepare())

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata], group: str | ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction; `Consumer.group_metadata` names the member (KIP-447)."""
        self._run(self._client.send_offsets_to_transaction(offsets, group))

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction that is committed at the end of its `with`, and aborted if it raises."""
        self.begin()
        transactions = self._client._transactional("transaction")
        with blocking_transaction_scope(transactions.state, self.commit, self.abort):
            yield self

    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic."""
        return self._run(self._client.partitions_for(topic))

    def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, and return the answer."""
        return self._run(self._client.raw(message, node_id=node_id, version=version))

    def _wait_to_take(self, topic: str) -> None:
        if SHARED.is_here():
            return  # a callback would wait for itself; its record is queued on the loop instead
        patience = self._client.options.max_block_ms / 1000
        if not self._room.wait(patience):
            raise BufferFullError(
                f"{len(self._taken)} records wait for the loop, and it took none within {patience:g} s"
            )
        if topic not in self._known:
            self._run(self._client.partitions_for(topic))

    def _start_pump(self) -> None:
        self._pump_task = SHARED.loop.create_task(self._pump())

    async def _pump(self) -> None:
        while True:
            while self._taken:
                self._client._accept_waiting(self._taken)
                if not self._taken:
                    break
                future, record = self._taken.popleft()
                try:
                    await self._client.send(*record, _delivery=future)
                except asyncio.CancelledError:
                    closed = ClosedError(_NOT_TAKEN)
                    future.refuse(closed)
                    self._refuse_rest(closed)
                    self._pumping = False
                    raise
                except Exception as error:
                    future.refuse(error)
                    if isinstance(error, RequestTimeoutError) and record[0] not in self._known:
                        self._refuse_rest(error, record[0])
            with self._handing_over:
                self._room.set()
                if not self._taken:
                    self._pumping = False
                    return

    def _refuse_rest(self, error: Exception, topic: str | None = None) -> None:
        """Refuse the waiting records: all of them, or those of a topic that was not found."""
        with self._handing_over:
            refused = [future for future, record in self._taken if topic in (None, record[0])]
            self._taken = deque(each for each in self._taken if topic not in (None, each[1][0]))
        for future in refused:
            future.refuse(error)

    async def _hand_over(self) -> None:
        """Wait until the pump has handed over all records."""
        while self._pumping:
            await asyncio.sleep(0)
            if self._pump_task is not None:
                await asyncio.wait([self._pump_task])

    async def _flush(self) -> None:
        await self._hand_over()
        await self._client.flush()

    async def _commit(self) -> None:
        await self._hand_over()
        await self._client.commit()

    async def _abort(self) -> None:
        self._refuse_rest(AbortableTransactionError("the transaction was aborted before the record was accepted"))
        await self._hand_over()
        await self._client.abort()

    async def _prepare(self) -> PreparedTransaction | None:
        await self._hand_over()
        return await self._client.prepare()

    async def _stop(self) -> None:
        try:
            await self._hand_over()
        except asyncio.CancelledError:
            self._refuse_rest(ClosedError(_NOT_TAKEN))
            if self._pump_task is not None:
                self._pump_task.cancel()
            self._client._give_up()  # or closing would send records that are then reported as not delivered
            current = asyncio.current_task()
            assert current is not None
            current.cancel()  # a cancelled stop does not wait for deliveries either
            raise
        finally:
            await self._client.stop()
