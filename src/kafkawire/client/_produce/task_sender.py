"""The asyncio driver of the sender: answers call it, and a request that has to wait first gets a task.

Rules:
- A request is sent at once if the connection is ready for it, and its answer is handled by the call that receives it.
  A task for each request takes as long as the request itself. While a request has a task, later ones get tasks too,
  because the batches of a partition must leave in order.
- The error of a request is handled in a later turn of the loop: it may come while batches are taken from their queues.
- Memory and timers are those of the accumulator, which hands over the batches that are ready.
- One task at a time refreshes metadata, and one asks for a producer id; batches wait meanwhile.
- A transaction that fails gives up the batches that wait in the accumulator.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kafkawire.client._cluster.connection import Connection
from kafkawire.client._produce.sender import Sender
from kafkawire.client._transactions.state import Step
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._produce.accumulator import Accumulator
    from kafkawire.client._produce.batches import Batch, PartitionQueue
    from kafkawire.client._produce.sender import Sent
    from kafkawire.client._transactions.manager import TransactionManager
    from kafkawire.client.errors import TransactionError
    from kafkawire.client.options import ProducerOptions
    from kafkawire.messages import Message

_log = logging.getLogger("kafkawire.client")


class _Reply:
    """The answer of a request without a task."""

    __slots__ = ("_is_done", "_sender", "message", "node", "sent")

    message: ProduceRequest

    def __init__(self, sender: TaskSender, node: int, sent: Sent) -> None:
        self._sender = sender
        self.node = node
        self.sent = sent
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: Message, /) -> None:
        self._is_done = True
        self._sender._answered(self, result)

    def set_exception(self, exception: BaseException, /) -> None:
        self._is_done = True
        asyncio.get_running_loop().call_soon(self._sender._answered, self, None, exception)


class TaskSender(Sender[Connection]):
    """The asyncio driver; memory and timers are those of the accumulator."""

    _cluster: Cluster

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        accumulator: Accumulator,
        transactions: TransactionManager | None,
    ) -> None:
        super().__init__(cluster, options, options.max_in_flight_requests_per_connection, transactions)
        self.limits = accumulator.limits
        self._accumulator = accumulator
        self._tasks: set[asyncio.Task[None]] = set()
        self._unanswered: set[_Reply] = set()
        self._idle: asyncio.Future[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        accumulator.on_ready = self.send
        accumulator.on_expired = self._expired

    async def start(self) -> None:
        if self._transactions is not None:
            await self._transactions.initialize()
        elif self._is_idempotent:
            await self.renew()

    async def until_idle(self) -> None:
        """Wait until no request is in flight, also for batches that were given up meanwhile."""
        while self._tasks or self._unanswered:
            if self._tasks:
                await asyncio.wait(list(self._tasks))
            else:
                if self._idle is None:
                    self._idle = asyncio.get_running_loop().create_future()
                await asyncio.shield(self._idle)

    async def close(self) -> None:
        self._unanswered.clear()
        self._wake_if_idle()
        for task in [*self._tasks, *(each for each in (self._refreshing, self._renewing) if each)]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, node: int, sent: Sent) -> None:
        transactions = self._transactions
        connection = None
        if not self._tasks and self._acks and (transactions is None or transactions.is_v2):
            connection = self._cluster.ready_connection(node)
        if connection is None:
            task = asyncio.create_task(self._deliver(node, sent))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        reply = _Reply(self, node, sent)
        self._unanswered.add(reply)
        try:
            if transactions is not None:
                transactions.has_begun()
            reply.message, version = self._request(connection, sent)
            connection.submit(reply.message, version, reply)
        except Exception as error:
            reply.set_exception(error)

    def _answered(self, reply: _Reply, response: Message | None, error: BaseException | None = None) -> None:
        """Handle the answer, or the error, of a request without a task."""
        if reply not in self._unanswered:  # the sender was closed meanwhile
            return
        self._unanswered.discard(reply)
        try:
            if error is not None:
                raise error
            assert isinstance(response, ProduceResponse)
            self._accept(reply.sent, reply.message, response)
        except Exception as failure:
            self._undelivered(reply.sent, failure)
        self._requests[reply.node] -= 1
        self._wake_if_idle()
        self._completed()

    def _wake_if_idle(self) -> None:
        if self._idle is not None and not self._unanswered:
            self._idle.set_result(None)
            self._idle = None

    async def _exchange(self, connection: Connection, message: ProduceRequest, version: int) -> ProduceResponse | None:
        if message.acks == 0:
            await connection.notify(message, version=version)
            return None
        return await connection.request(message, ProduceResponse, version=version)

    def _completed(self) -> None:
        # at once, not in the next turn of the loop: while a caller sends, the loop turns only between batches
        self._accumulator.drain()

    def _succeed(self, queue: PartitionQueue, batch: Batch, offset: int, append_time: int, log_start: int) -> None:
        batch.succeed(queue.partition, offset, append_time, log_start)
        self._accumulator.release(batch)

    def _give_up(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        batch.fail(error)
        self._accumulator.release(batch)

    def _replace(self, queue: PartitionQueue, batch: Batch) -> None:
        self._accumulator.replace(queue, batch)

    def drop_waiting(self, error: TransactionError) -> None:
        if self._accumulator.drop_waiting(error) and self._transactions is not None:
            self._transactions.lose_sequence()

    def _expired(self, error: BaseException) -> None:
        if self._transactions is not None:
            self._transactions.fail(Step.PRODUCE, error)

    def _wake_in(self, seconds: float) -> None:
        self._accumulator.wake_in(seconds)

    def _refresh_soon(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh_then_wake())

    async def _refresh_then_wake(self) -> None:
        try:
            await self._cluster.refresh()
        except KafkaWireError as error:
            _log.info("metadata: %s", error)
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        self._accumulator.wake()

    def _renew_soon(self) -> None:
        if self._renewing is None or self._renewing.done():
            self._identity = None
            self._renewing = asyncio.create_task(self._renew_then_wake())

    async def _renew_then_wake(self) -> None:
        try:
            await self.renew()
        except KafkaWireError as error:
            _log.warning("no producer id: %s", error)
            await asyncio.sleep(self._options.retry_backoff_max_ms / 1000)
        self._renewing = None
        self._accumulator.wake()
