"""Produce requests to leaders, and the fate of each batch; written once for asyncio and for blocking sockets.

`Sender` decides, `TaskSender` (`task_sender.py`) runs its coroutines as asyncio tasks, and `BulkSender`
(`_bulk/sender.py`) runs them on blocking sockets.

Rules:
- A leader has a limited number of our requests in flight; batches that are ready meanwhile wait.
- A batch whose result is unknown (no answer, a broken connection) is resent with the same sequence.
- A batch that is too large for the broker is resent in halves, down to a single record; from then on the topic's
  batches are no larger than the larger half, uncompressed (`limits`).
- Within a transaction every batch that is given up fails the transaction: batches that wait are given up too, and
  batches in flight are not resent.
- OUT_OF_ORDER_SEQUENCE_NUMBER is harmless while an older batch still has to be resent. For the oldest batch it means
  that the broker lost the state of the producer, and the partition starts a new epoch.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from kafkawire.client._cluster.connection import BaseConnection
from kafkawire.client._cluster.discovery import calls_for_refresh
from kafkawire.client._cluster.metadata import NO_ID
from kafkawire.client._produce.batches import Identity
from kafkawire.client._transactions.state import Step, pause_after
from kafkawire.client.errors import ClientError, is_retriable
from kafkawire.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for
from kafkawire.records import BatchBuilder, Codec, add_sequence, read_batches

if TYPE_CHECKING:
    from kafkawire.client._cluster.discovery import Discovery
    from kafkawire.client._produce.batches import Batch, PartitionQueue
    from kafkawire.client._transactions.manager import TransactionManager
    from kafkawire.client.errors import TransactionError
    from kafkawire.client.options import ProducerOptions
    from kafkawire.records import Buffer

    Sent = list[tuple[PartitionQueue, Batch]]

_Connection = TypeVar("_Connection", bound=BaseConnection)
_log = logging.getLogger("kafkawire.client")
_NAMED_BY_TOPIC: Final = 12  # the last version of Produce that names topics instead of their ids
_BEFORE_TRANSACTIONS_V2: Final = 11  # from version 12 on, Produce adds partitions to the transaction by itself
_OVERHEAD: Final = 512
_LOST_TRACK: Final = (ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH)


class Sender(Generic[_Connection]):
    """Sends batches that are ready, and resends, splits, completes or gives up each after the answer."""

    purpose: ClassVar[str] = ""

    def __init__(
        self,
        cluster: Discovery[_Connection],
        options: ProducerOptions,
        requests_per_leader: int,
        transactions: TransactionManager | None,
    ) -> None:
        self._cluster = cluster
        self._transactions = transactions
        if transactions is not None:
            transactions.on_failure = self.drop_waiting
        self._options = options
        self._is_idempotent, self._acks = options.is_idempotent, options.required_acks
        self._is_zstd = options.codec is Codec.ZSTD
        self._most_requests = requests_per_leader
        self.limits: dict[str, int] = {}
        self._identity: Identity | None = None
        self._requests: Counter[int] = Counter()

    @abstractmethod
    def _start(self, node: int, sent: Sent) -> None:
        """Send one request and handle its answer: `_deliver`, or the same in another way."""

    @abstractmethod
    def _completed(self) -> None:
        """A request is over; further batches may be ready."""

    @abstractmethod
    def _give_up(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        """The records of a batch are not delivered."""

    @abstractmethod
    def _succeed(self, queue: PartitionQueue, batch: Batch, offset: int, append_time: int, log_start: int) -> None:
        """The records of a batch are stored."""

    @abstractmethod
    def _replace(self, queue: PartitionQueue, batch: Batch) -> None:
        """The halves of a batch take its place."""

    @abstractmethod
    def drop_waiting(self, error: TransactionError) -> None:
        """The transaction has failed or is aborted: give up all batches that are not in flight."""

    @abstractmethod
    def _refresh_soon(self) -> None: ...

    @abstractmethod
    def _renew_soon(self) -> None: ...

    @abstractmethod
    def _wake_in(self, seconds: float) -> None: ...

    def send(self, ready: dict[int, list[PartitionQueue]]) -> None:
        """Send a batch of each queue to its leader, within the leader's limit of requests."""
        if self._transactions is not None and not self._transactions.state.may_produce:
            return
        for node, queues in ready.items():
            if node < 0:
                self._refresh_soon()
                continue
            while queues and self._requests[node] < self._most_requests and self._has_identity():
                sent = self._fill_request(queues)
                if sent:
                    self._requests[node] += 1
                    self._start(node, sent)

    async def renew(self) -> None:
        """Get a producer id."""

        async def ask() -> Identity:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
            answer = await self._cluster.request(self._cluster.any_node(), request, InitProducerIdResponse)
            if answer.error_code:
                raise error_for(answer.error_code, "InitProducerId")
            return Identity(answer.producer_id, answer.producer_epoch)

        self._identity = await self._cluster.retry("a producer id", ask, self._options.max_block_ms / 1000)

    def _has_identity(self) -> bool:
        if self._transactions is not None:
            self._identity = self._transactions.identity
            return True
        if self._is_idempotent and self._identity is None:
            self._renew_soon()
            return False
        return True

    def _fill_request(self, queues: list[PartitionQueue]) -> Sent:
        sent: Sent = []
        size = 0
        while queues:
            queue = queues[-1]
            if self._identity is not None:
                if not queue.has_epochs_left(self._identity):
                    self._renew_soon()
                    break
                if queue.has_older_producer(self._identity):
                    queues.pop()
                    continue
            size += queue.waiting[0].wire_size + _OVERHEAD
            if sent and size > self._options.max_request_size:
                break
            queues.pop()
            sent.append((queue, queue.take(self._identity)))
            if self._transactions is not None and self._transactions.is_v2:
                queue.is_known = True  # the broker accepts only sequence 0 as the first one of an epoch
        return sent

    async def _deliver(self, node: int, sent: Sent) -> None:
        try:
            connection = await self._cluster.connection(node, self.purpose)
            if self._transactions is not None:
                await self._transactions.join([queue.partition for queue, _ in sent])
            message, version = self._request(connection, sent)
            response = await self._exchange(connection, message, version)
            if response is None:
                for queue, batch in sent:
                    self._acknowledged(queue, batch, -1, -1, -1)
            else:
                self._accept(sent, message, response)
        except Exception as error:
            self._undelivered(sent, error)
        finally:
            self._requests[node] -= 1
        self._completed()

    def _undelivered(self, sent: Sent, error: BaseException) -> None:
        """A request failed, or its answer cannot be used."""
        for queue, batch in sent:
            if batch in queue.in_flight:
                self._failed(queue, batch, error)

    async def _exchange(self, connection: _Connection, message: ProduceRequest, version: int) -> ProduceResponse | None:
        return await self._cluster.exchange(connection, message, ProduceResponse, version=version)

    def _request(self, connection: BaseConnection, sent: Sent) -> tuple[ProduceRequest, int]:
        """The request for these batches, and its version; an error if the broker is too old for them."""
        version = connection.version("Produce")
        if version < 3:
            raise ClientError(f"{connection.place}: Produce v{version}, expected 3 or later (Kafka 0.11)")
        if self._is_zstd and version < 7:
            raise error_for(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{connection.place}: zstd needs Produce v7")
        if self._transactions is not None and not self._transactions.is_v2:
            version = min(version, _BEFORE_TRANSACTIONS_V2)
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        for queue, batch in sent:
            name, partition = queue.partition
            topic = topics.get(name)
            if topic is None:
                info = self._cluster.metadata.topics.get(name)
                topic_id = NO_ID if info is None else info.id
                topic = topics[name] = ProduceRequest.TopicProduceData(name=name, topic_id=topic_id)
                if topic_id == NO_ID:
                    version = min(version, _NAMED_BY_TOPIC)
            data = ProduceRequest.PartitionProduceData(index=partition, records=batch.data)
            topic.partition_data.append(data)
        message = ProduceRequest(
            transactional_id=None if self._transactions is None else self._transactions.transactional_id,
            acks=self._acks,
            timeout_ms=self._options.request_timeout_ms,
            topic_data=list(topics.values()),
        )
        return message, version

    def _accept(self, sent: Sent, message: ProduceRequest, response: ProduceResponse) -> None:
        unanswered = {queue.partition: (queue, batch) for queue, batch in sent}
        # The metadata may have lost the id meanwhile, because the topic was recreated.
        names = {topic.topic_id: topic.name for topic in message.topic_data}
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for each in topic.partition_responses:
                found = unanswered.pop((name, each.index), None)  # type: ignore[call-overload]  # equals TopicPartition
                if found is None:
                    continue
                queue, batch = found
                if each.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    offset = -1 if each.error_code else each.base_offset
                    self._acknowledged(queue, batch, offset, each.log_append_time_ms, each.log_start_offset)
                    continue
                leader = each.current_leader
                self._cluster.metadata.move_leader(name, each.index, leader.leader_id, leader.leader_epoch)
                self._failed(queue, batch, error_for(each.error_code, _reason(each, str(queue.partition))))
        for queue, batch in unanswered.values():
            self._failed(queue, batch, ClientError(f"{queue.partition}: the broker's answer leaves it out"))

    def _acknowledged(self, queue: PartitionQueue, batch: Batch, offset: int, append_time: int, start: int) -> None:
        queue.acknowledge(batch)
        if not batch.is_expired:
            self._succeed(queue, batch, offset, append_time, start)

    def _failed(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        code = error.code if isinstance(error, KafkaError) else 0
        if batch.is_expired:
            queue.give_up(batch)
        elif self._transactions is not None and not self._may_succeed(queue, batch, error):
            queue.give_up(batch)
            self._transactions.fail(Step.PRODUCE, error)
            self._give_up(queue, batch, error)
        elif batch.sequence is not None and code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if queue.is_oldest(batch):
                _log.warning("%s: %s; the partition starts a new epoch", queue.partition, error)
                queue.must_restart = True
            self._resend(queue, batch, error)
        elif code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            _log.warning("%s: %s; sending its %d records in halves", queue.partition, error, batch.count)
            self._split(queue, batch)
        elif batch.sequence is not None and code in _LOST_TRACK:
            _log.warning("%s: %s; asking for a new producer id", queue.partition, error)
            self._renew_soon()
            self._resend(queue, batch, error)
        elif is_retriable(error):
            if calls_for_refresh(error):
                self._refresh_soon()
            self._resend(queue, batch, error)
        else:
            _log.warning("%s: %d records not delivered: %s", queue.partition, batch.count, error)
            queue.give_up(batch)
            self._give_up(queue, batch, error)

    def _may_succeed(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> bool:
        """Whether a batch of a transaction is resent after an error."""
        assert self._transactions is not None
        if not self._transactions.state.may_produce:
            return False
        code = error.code if isinstance(error, KafkaError) else 0
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return not queue.is_oldest(batch)
        return is_retriable(error) or (code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1)

    def _split(self, queue: PartitionQueue, batch: Batch) -> None:
        builders = split_records(batch.build(), self._options)
        topic, size = queue.partition.topic, max(builder.size for builder in builders)
        self.limits[topic] = min(self.limits.get(topic, size), size)
        batch.split(builders)
        self._replace(queue, batch)
        queue.send_halves(batch)

    def _resend(self, queue: PartitionQueue, batch: Batch, error: BaseException) -> None:
        pause = pause_after(error, self._cluster.pause_before(batch.attempts))
        queue.resend(batch, self._cluster.now() + pause)
        self._wake_in(pause)


def split_records(data: Buffer, options: ProducerOptions) -> tuple[BatchBuilder, BatchBuilder]:
    """The records of a batch in two builders, each with its part of the sequences."""
    (batch,) = read_batches(data, verify=False)
    records = list(batch.records(verify=False))
    middle = (len(records) + 1) // 2
    sequences = batch.base_sequence, batch.base_sequence
    if batch.base_sequence >= 0:
        sequences = batch.base_sequence, add_sequence(batch.base_sequence, middle)
    first, second = (
        BatchBuilder(
            compression=options.codec,
            level=options.compression_level,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=sequence,
            is_transactional=batch.is_transactional,
        )
        for sequence in sequences
    )
    for number, record in enumerate(records):
        half = first if number < middle else second
        half.append(record.key, record.value, record.timestamp, record.headers)
    return first, second


def _reason(entry: ProduceResponse.PartitionProduceResponse, place: str) -> str:
    details = [entry.error_message or ""]
    details += [f"record {each.batch_index}: {each.batch_index_error_message}" for each in entry.record_errors[:3]]
    return ": ".join([place, *filter(None, details)])
