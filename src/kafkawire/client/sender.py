"""The producer's other half: requests to leaders, and what becomes of each batch.

Rules:
- A leader has at most `max_in_flight_requests_per_connection` requests of ours; what is ready meanwhile waits.
- A batch whose fate is unknown (no answer, a broken connection) is sent again with the same sequence.
- A batch that is too large for the broker is sent again in halves, down to a single record; from then on the topic's
  batches are no larger than the larger half, uncompressed (`limits`).
- OUT_OF_ORDER_SEQUENCE_NUMBER is harmless while an older batch is still to be sent again; from the oldest it means that
  the broker lost track, and the partition starts a new epoch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from kafkawire.client.backoff import wait_before
from kafkawire.client.batches import Identity, lower_limit
from kafkawire.client.errors import ClientError, RequestTimeoutError, is_retriable
from kafkawire.client.metadata import NO_ID
from kafkawire.client.produce_versions import produce_version
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client.batches import PartitionQueue, SendBatch
    from kafkawire.client.cluster import Cluster
    from kafkawire.client.connection import Connection
    from kafkawire.client.options import ProducerOptions

_log = logging.getLogger("kafkawire.client")
_NAMED_BY_TOPIC: Final = 12  # the last version of Produce that names topics instead of their ids
_OVERHEAD: Final = 512
_LOST_TRACK: Final = (ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH)


class Sender:
    """Sends what is ready and settles what comes back."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        wake: Callable[[], None],
        drain: Callable[[], None],
        release: Callable[[SendBatch], None],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._wake = wake
        self._drain = drain
        self._release = release
        self.limits: dict[str, int] = {}
        self._identity: Identity | None = None
        self._requests: Counter[int] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refreshing: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._options.is_idempotent:
            await self._renew()

    async def close(self) -> None:
        for task in [*self._tasks, *(each for each in (self._refreshing, self._renewing) if each)]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def expire(self, queue: PartitionQueue, batch: SendBatch) -> None:
        """The time of a batch is over: its records are given up, wherever they are."""
        if batch.done:
            return
        waited = self._options.delivery_timeout_ms
        error = RequestTimeoutError(
            f"{queue.partition}: {batch.count} records not delivered within {waited} ms ({batch.attempts} attempts)"
        )
        _log.warning("%s", error)
        if batch in queue.in_flight:
            batch.is_expired = True
        else:
            queue.give_up(batch)
        batch.fail(error)
        self._release(batch)
        self._wake()

    def send(self, ready: dict[int, list[PartitionQueue]]) -> None:
        """Send a batch of each queue to its leader, as far as the leader may be sent more."""
        most = self._options.max_in_flight_requests_per_connection
        for node, queues in ready.items():
            if node < 0:
                self._refresh()
                continue
            while queues and self._requests[node] < most and self._has_identity():
                sent = self._fill_request(queues)
                if sent:
                    self._requests[node] += 1
                    task = asyncio.create_task(self._send(node, sent))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    def _has_identity(self) -> bool:
        if self._options.is_idempotent and self._identity is None:
            self._renew_soon()
            return False
        return True

    def _fill_request(self, queues: list[PartitionQueue]) -> list[tuple[PartitionQueue, SendBatch]]:
        sent: list[tuple[PartitionQueue, SendBatch]] = []
        size = 0
        while queues and (not sent or size < self._options.max_request_size):
            queue = queues.pop()
            if self._identity is not None:
                if not queue.has_epochs_left(self._identity):
                    self._renew_soon()
                    break
                if queue.must_come_home(self._identity):
                    continue
            batch = queue.take(self._identity)
            sent.append((queue, batch))
            size += len(batch.build()) + _OVERHEAD
        return sent

    async def _send(self, node: int, sent: list[tuple[PartitionQueue, SendBatch]]) -> None:
        try:
            connection = await self._cluster.connection(node)
            message, version = self._request(connection, sent)
            if self._options.required_acks == 0:
                await connection.notify(message, version=version)
                for queue, batch in sent:
                    self._succeeded(queue, batch, -1, -1, -1)
                return
            response = await connection.request(message, ProduceResponse, version=version)
            self._settle(sent, response)
        except Exception as error:
            for queue, batch in sent:
                if batch in queue.in_flight:
                    self._failed(queue, batch, error)
        finally:
            self._requests[node] -= 1
        # at once, not when the loop comes round: a busy sender lets it come round only between batches
        self._drain()

    def _request(
        self, connection: Connection, sent: list[tuple[PartitionQueue, SendBatch]]
    ) -> tuple[ProduceRequest, int]:
        version = produce_version(connection, self._options.codec)
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
            data = ProduceRequest.PartitionProduceData(index=partition, records=batch.build())
            topic.partition_data.append(data)
        message = ProduceRequest(
            acks=self._options.required_acks,
            timeout_ms=self._options.request_timeout_ms,
            topic_data=list(topics.values()),
        )
        return message, version

    def _settle(self, sent: list[tuple[PartitionQueue, SendBatch]], response: ProduceResponse) -> None:
        waiting = {queue.partition: (queue, batch) for queue, batch in sent}
        for topic in response.responses:
            name = topic.name or self._cluster.metadata.names.get(topic.topic_id, "")
            for each in topic.partition_responses:
                found = waiting.pop((name, each.index), None)  # type: ignore[call-overload]  # equals a TopicPartition
                if found is None:
                    continue
                queue, batch = found
                if each.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    offset = -1 if each.error_code else each.base_offset
                    self._succeeded(queue, batch, offset, each.log_append_time_ms, each.log_start_offset)
                    continue
                leader = each.current_leader
                self._cluster.metadata.move_leader(name, each.index, leader.leader_id, leader.leader_epoch)
                self._failed(queue, batch, error_for(each.error_code, _reason(each, str(queue.partition))))
        for queue, batch in waiting.values():
            self._failed(queue, batch, ClientError(f"{queue.partition}: the broker's answer leaves it out"))

    def _succeeded(self, queue: PartitionQueue, batch: SendBatch, offset: int, append_time: int, start: int) -> None:
        queue.acknowledged(batch)
        if not batch.is_expired:
            batch.succeed(queue.partition, offset, append_time, start)
            self._release(batch)

    def _failed(self, queue: PartitionQueue, batch: SendBatch, error: BaseException) -> None:
        code = error.code if isinstance(error, KafkaError) else 0
        if batch.is_expired:
            queue.give_up(batch)
            return None
        if batch.sequence is not None and code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if queue.is_oldest(batch):
                _log.warning("%s: %s; the partition starts a new epoch", queue.partition, error)
                queue.must_restart = True
            return self._again(queue, batch)
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            _log.warning("%s: %s; sending its %d records in halves", queue.partition, error, batch.count)
            return self._split(queue, batch)
        if batch.sequence is not None and code in _LOST_TRACK:
            _log.warning("%s: %s; asking for a new producer id", queue.partition, error)
            self._renew_soon()
            return self._again(queue, batch)
        if is_retriable(error):
            if not isinstance(error, KafkaError) or error.refresh_metadata:
                self._refresh()
            return self._again(queue, batch)
        _log.warning("%s: %d records not delivered: %s", queue.partition, batch.count, error)
        queue.give_up(batch)
        batch.fail(error)
        self._release(batch)
        return None

    def _split(self, queue: PartitionQueue, batch: SendBatch) -> None:
        deadline = None if batch.timer is None else batch.timer.when()
        for half in batch.split(self._options):
            if deadline is not None:
                half.timer = asyncio.get_running_loop().call_at(deadline, self.expire, queue, half)
        lower_limit(self.limits, queue.partition.topic, (half.builder for half in batch.halves))
        queue.send_halves(batch)

    def _again(self, queue: PartitionQueue, batch: SendBatch) -> None:
        options, loop = self._options, asyncio.get_running_loop()
        pause = wait_before(batch.attempts, options.retry_backoff_ms / 1000, options.retry_backoff_max_ms / 1000)
        queue.send_again(batch, loop.time() + pause)
        loop.call_later(pause, self._wake)

    def _refresh(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh_then_wake())

    async def _refresh_then_wake(self) -> None:
        try:
            await self._cluster.refresh()
        except KafkaWireError as error:
            _log.info("metadata: %s", error)
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        self._wake()

    def _renew_soon(self) -> None:
        if self._renewing is None or self._renewing.done():
            self._identity = None
            self._renewing = asyncio.create_task(self._renew_then_wake())

    async def _renew_then_wake(self) -> None:
        try:
            await self._renew()
        except KafkaWireError as error:
            _log.warning("no producer id: %s", error)
            await asyncio.sleep(self._options.retry_backoff_max_ms / 1000)
        self._renewing = None
        self._wake()

    async def _renew(self) -> None:
        async def ask() -> Identity:
            node = self._cluster.any_node()
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
            answer = await self._cluster.request(node, request, InitProducerIdResponse)
            if answer.error_code:
                raise error_for(answer.error_code, "InitProducerId")
            return Identity(answer.producer_id, answer.producer_epoch)

        self._identity = await self._cluster.retry("a producer id", ask, self._options.max_block_ms / 1000)


def _reason(entry: ProduceResponse.PartitionProduceResponse, place: str) -> str:
    details = [entry.error_message or ""]
    details += [f"record {each.batch_index}: {each.batch_index_error_message}" for each in entry.record_errors[:3]]
    return ": ".join([place, *filter(None, details)])
