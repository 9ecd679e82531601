"""The socket driver of the sender: batches of bulk writing to their leaders, without an event loop.

Rules:
- A leader has one request in flight, with at most one batch of each partition. Its coroutine is suspended where it
  waits for the answer, and resumed when the leader is needed again, so that the caller builds batches meanwhile.
- Retries, splitting and leader changes are those of `Sender`. A batch is given up `delivery_timeout_ms` after its
  first failure; its error is raised by the call that finds it, and by every call after it.
- The metadata of a topic is refreshed when it is older than `metadata_max_age_ms`. A topic that does not exist may be
  created by the broker, which is waited for until `max_block_ms` is over.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from types import coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from kafkawire.client._cluster.blocking_cluster import SocketCluster
from kafkawire.client._cluster.blocking_connection import SocketConnection, run
from kafkawire.client._consume.commits import ConsumerGroupMetadata, as_offsets
from kafkawire.client._produce.batches import Batch, Identity, PartitionQueue
from kafkawire.client._produce.sender import Sender
from kafkawire.client._transactions.manager import TransactionManager
from kafkawire.client._transactions.state import Step
from kafkawire.client.errors import AbortableTransactionError, ClosedError, OptionError, RequestTimeoutError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ProduceResponse
from kafkawire.messages.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Mapping

    from kafkawire.client._cluster.metadata import TopicInfo, TopicPartition
    from kafkawire.client._consume.commits import OffsetAndMetadata
    from kafkawire.client._produce.sender import Sent
    from kafkawire.client._transactions.prepared import PreparedTransaction
    from kafkawire.client.errors import TransactionError
    from kafkawire.client.options import ProducerOptions
    from kafkawire.messages import ProduceRequest


class BulkSender(Sender[SocketConnection]):
    """One request at a time to each leader, over blocking sockets."""

    purpose: ClassVar[str] = "produce"  # its connections have answers waiting, so metadata requests use others
    _cluster: SocketCluster

    def __init__(self, options: ProducerOptions) -> None:
        cluster, named = SocketCluster(options), options.transactional_id
        self.transactions = None if named is None else TransactionManager(cluster, options, named)
        super().__init__(cluster, options, 1, self.transactions)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._in_flight: dict[int, tuple[float, Coroutine[Any, Any, None]]] = {}
        self._fresh_until: dict[str, float] = {}
        self._must_refresh = self._must_renew = False
        self._not_before = 0.0
        self._error: BaseException | None = None

    def close(self) -> None:
        for _, work in self._in_flight.values():
            work.close()
        self._in_flight.clear()
        self._cluster.close()

    def topic(self, name: str) -> TopicInfo:
        """The metadata of a topic, refreshed if it is old; a topic that does not exist may be created."""
        self.check()
        is_old = self._fresh_until.get(name, 0.0) <= time.monotonic()
        found = run(self._cluster.topic(name, seconds=self._options.max_block_ms / 1000, refresh=is_old))
        if is_old:
            self._fresh_until[name] = time.monotonic() + self._options.metadata_max_age_ms / 1000
        return found

    def reserve(self, place: TopicPartition, count: int) -> tuple[Identity, int]:
        """Producer and first sequence of records that are built next; all -1 without idempotence."""
        if not self._options.is_idempotent:
            return Identity(-1, -1), -1
        if self.transactions is not None:
            self.transactions.state.check_open("write")
            self._identity = self.transactions.identity
        elif self._identity is None:
            run(self.renew())
        assert self._identity is not None
        return self._queue(place).reserve(self._identity, count)

    def add(self, place: TopicPartition, records: memoryview, count: int, sequence: int) -> None:
        """Put a batch into the queue of its partition."""
        batch = Batch(time.monotonic(), records, count, None if sequence < 0 else sequence)
        self._queue(place).waiting.append(batch)

    def push(self) -> None:
        """Send until no batch waits; the last ones may still be in flight."""
        self.check()
        while waiting := [queue for queue in self._queues.values() if queue.waiting]:
            self._recover(waiting)
            self.send(self._ready(waiting))
            left = [queue for queue in waiting if queue.waiting]
            if left and self._in_flight:
                leader = self._cluster.metadata.leader(*left[0].partition)
                is_busy = leader is not None and leader.id in self._in_flight
                self._resume(leader.id if leader is not None and is_busy else next(iter(self._in_flight)))
            elif left:
                moment = min(max(queue.not_before, self._not_before) for queue in left)
                time.sleep(max(0.0, moment - time.monotonic()))
            self.check()

    def flush(self) -> None:
        """Wait until all batches are stored."""
        self.push()
        while self._in_flight:
            self._resume(next(iter(self._in_flight)))
            self.push()

    def begin(self) -> None:
        """Begin a transaction."""
        self.check()
        run(self._transactional().begin())

    def commit(self) -> None:
        """Store all batches, then commit the transaction."""
        transactions = self._transactional()
        transactions.start_ending(commit=True)
        self.flush()
        run(transactions.end(commit=True))

    def abort(self) -> None:
        """Give up all batches that were not sent, then abort the transaction."""
        transactions = self._transactional()
        transactions.start_ending(commit=False)
        self.drop_waiting(AbortableTransactionError(f"the transaction of {transactions.transactional_id!r} is aborted"))
        while self._in_flight:
            self._resume(next(iter(self._in_flight)))
        run(transactions.end(commit=False))
        self._error = None

    def prepare(self) -> PreparedTransaction | None:
        """Store all batches, and leave the transaction open."""
        transactions = self._transactional()
        transactions.state.check_open("prepare")
        self.flush()
        return transactions.prepare()

    def send_offsets(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata], group: str | ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction."""
        named = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        run(self._transactional().send_offsets(as_offsets(offsets), named))

    def drop_waiting(self, error: TransactionError) -> None:
        for queue in self._queues.values():
            for batch in queue.drop_waiting():
                batch.fail(error)
                if batch.sequence is not None and self.transactions is not None:
                    self.transactions.lose_sequence()

    def check(self) -> None:
        """Raise the error of a batch that was given up."""
        if self._cluster.is_closed:
            raise ClosedError("the writer is closed; make another")
        if self._error is not None:
            raise self._error

    def _transactional(self) -> TransactionManager:
        if self._cluster.is_closed:
            raise ClosedError("the writer is closed; make another")
        if self.transactions is None:
            raise OptionError("the writer has no transactional_id")
        return self.transactions

    def _queue(self, place: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(place)
        if queue is None:
            queue = self._queues[place] = PartitionQueue(place)
        return queue

    def _start(self, node: int, sent: Sent) -> None:
        self._in_flight[node] = min(self._deadline(batch) for _, batch in sent), self._deliver(node, sent)
        self._resume(node)

    def _resume(self, node: int) -> None:
        """Run the coroutine of a request until it waits for its answer, or else to its end."""
        deadline, work = self._in_flight.pop(node)
        with self._cluster.limit(deadline):
            try:
                work.send(None)
            except StopIteration:
                return
            except BaseException:  # an interrupt: the result of its batches stays unknown
                self._error = ClosedError("the writer was interrupted while it sent; make another")
                raise
        self._in_flight[node] = deadline, work

    async def _exchange(self, connection: SocketConnection, message: ProduceRequest, version: int) -> ProduceResponse:
        connection.send(message, version=version)
        await _suspended()
        return self._cluster.receive(connection, ProduceResponse)

    def _ready(self, waiting: list[PartitionQueue]) -> dict[int, list[PartitionQueue]]:
        ready: dict[int, list[PartitionQueue]] = {}
        now = time.monotonic()
        for queue in waiting:
            if queue.may_send(now, 1):
                node = self._cluster.metadata.leader(*queue.partition)
                ready.setdefault(-1 if node is None else node.id, []).append(queue)
        for queue in ready.get(-1, ()):
            error = error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(queue.partition))
            self._note(queue.waiting[0], error)
            if now >= self._deadline(queue.waiting[0]):
                self._expire(queue, queue.waiting[0], error)
        return ready

    def _recover(self, waiting: list[PartitionQueue]) -> None:
        with self._cluster.limit(min(self._deadline(queue.waiting[0]) for queue in waiting)):
            if self._must_refresh and time.monotonic() >= self._not_before:
                self._must_refresh = False
                with suppress(KafkaWireError):
                    run(self._cluster.refresh())
                self._not_before = time.monotonic() + self._options.retry_backoff_ms / 1000
            if self._must_renew:
                run(self.renew())
                self._must_renew = False

    def _resend(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        super()._resend(queue, batch, error)
        self._note(batch, error)
        if queue.not_before >= self._deadline(batch):
            self._expire(queue, batch, error)

    def _expire(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        seconds = self._options.delivery_timeout_ms / 1000
        queue.give_up(batch)
        late = RequestTimeoutError(
            f"{queue.partition}, after {batch.first_error or error}: given up after {seconds:g} s "
            f"and {batch.attempts} tries: {error}"
        )
        late.__cause__ = error
        self._give_up(queue, batch, late)

    def _give_up(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        batch.fail(error)
        if self.transactions is None:
            self._error = self._error or error
        else:
            self._error = self.transactions.state.error or self.transactions.fail(Step.PRODUCE, error)

    def _succeed(self, queue: PartitionQueue, batch: Batch, offset: int, append_time: int, log_start: int) -> None:
        batch.succeed(queue.partition, offset, append_time, log_start)

    def _refresh_soon(self) -> None:
        self._must_refresh = True

    def _renew_soon(self) -> None:
        self._identity, self._must_renew = None, True

    def _note(self, batch: Batch, error: BaseException) -> None:
        """Start the delivery timeout of a batch with its first failure: the time of the caller does not count."""
        if batch.first_error is None:
            batch.first_error, batch.opened_at = error, time.monotonic()

    def _deadline(self, batch: Batch) -> float:
        return math.inf if batch.first_error is None else batch.opened_at + self._options.delivery_timeout_ms / 1000

    # `push` looks for ready batches itself, and halves share the deadline of their batch.
    def _completed(self) -> None: ...
    def _wake_in(self, seconds: float) -> None: ...
    def _replace(self, queue: PartitionQueue, batch: Batch) -> None: ...


@coroutine
def _suspended() -> Generator[None, None, None]:
    """Wait until `BulkSender` resumes the request."""
    yield
