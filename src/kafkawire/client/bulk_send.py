"""Batches to their leaders over blocking sockets: the sending half of bulk writing.

Rules:
- A leader has one request of ours at a time, with at most one batch of each partition.
- A batch whose fate is unknown, or that may succeed later, is sent again alone until it is written or
  `delivery_timeout_ms` is over. Nothing that follows it in its partition has been sent by then.
- A batch that is too large for the broker is sent in halves, down to a single record; from then on the topic's batches
  are no larger than the larger half, uncompressed (`limits`).
- A topic that does not exist is asked for in the way that lets a broker create it, until `max_block_ms` is over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.client.backoff import wait_before
from kafkawire.client.batches import lower_limit, split_batch
from kafkawire.client.errors import ClientError, ClosedError, RequestTimeoutError, is_retriable
from kafkawire.client.metadata import NO_ID, Node, TopicPartition
from kafkawire.client.produce_versions import produce_version
from kafkawire.client.sockets import SocketCluster, SocketConnection
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkawire.messages.errors import ErrorCode, MessageTooLargeError, error_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kafkawire.client.metadata import TopicInfo
    from kafkawire.client.options import ProducerOptions

_NAMED_BY_TOPIC: Final = 12  # the last version of Produce that names topics instead of their ids
_OVERHEAD: Final = 512
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class BulkBatch:
    """A batch, built for a partition."""

    partition: TopicPartition
    records: memoryview


class BulkSender:
    """Connections to leaders, and what is on its way on each."""

    def __init__(self, options: ProducerOptions) -> None:
        self._options = options
        self._cluster = SocketCluster(options)
        self._connections: dict[Node, SocketConnection] = {}
        self._in_flight: dict[Node, list[BulkBatch]] = {}
        self.limits: dict[str, int] = {}
        self._fresh_until: dict[str, float] = {}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._in_flight.clear()
        self._cluster.close()

    def check_open(self) -> None:
        if self._cluster.is_closed:
            raise ClosedError("the writer is closed; make another")

    def topic(self, name: str) -> TopicInfo:
        """What is known of a topic, asked anew when it is old; one that does not exist may be created by that."""
        self.check_open()

        def look() -> TopicInfo:
            self._cluster.refresh([name])
            found = self._cluster.metadata.topics.get(name)
            if found is not None and found.partitions:
                return found
            code = self._cluster.metadata.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                wanted = [MetadataRequest.MetadataRequestTopic(name=name)]
                request = MetadataRequest(topics=wanted, allow_auto_topic_creation=True)
                self._cluster.request(self._any_node(), request, MetadataResponse)
            raise error_for(code, f"topic {name!r}")

        if time.monotonic() >= self._fresh_until.get(name, 0.0) or name not in self._cluster.metadata.topics:
            self._until(f"topic {name!r}", self._options.max_block_ms, look)
            self._fresh_until[name] = time.monotonic() + self._options.metadata_max_age_ms / 1000
        return self._cluster.metadata.topics[name]

    def identity(self) -> tuple[int, int]:
        """A new producer id and its epoch."""

        def ask() -> tuple[int, int]:
            self._cluster.refresh([])
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
            answer = self._cluster.request(self._any_node(), request, InitProducerIdResponse)
            if answer.error_code:
                raise error_for(answer.error_code, "InitProducerId")
            return answer.producer_id, answer.producer_epoch

        return self._until("a producer id", self._options.max_block_ms, ask)

    def send(self, batches: list[BulkBatch]) -> None:
        """Send at most one batch of each partition, in as many requests as their sizes make."""
        waiting: dict[Node, list[BulkBatch]] = {}
        for batch in batches:
            node = self._cluster.metadata.leader(*batch.partition)
            if node is None:
                self._send_again(batch, error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(batch.partition)))
            else:
                waiting.setdefault(node, []).append(batch)
        self._settle_moved({batch.partition: node for node, each in waiting.items() for batch in each})
        for node, each in waiting.items():
            while each:
                request = [each.pop()]
                size = len(request[0].records)
                while each and size + len(each[-1].records) + _OVERHEAD <= self._options.max_request_size:
                    request.append(each.pop())
                    size += len(request[-1].records) + _OVERHEAD
                self._send_request(node, request)

    def flush(self) -> None:
        """Wait until all that was sent is written."""
        self.check_open()
        for node in list(self._in_flight):
            self._settle(node)

    def _settle_moved(self, leaders: Mapping[TopicPartition, Node]) -> None:
        """What is on its way to a leader must be settled before more of its partition goes to another."""
        for node, batches in list(self._in_flight.items()):
            if any(leaders.get(batch.partition, node) != node for batch in batches):
                self._settle(node)

    def _send_request(self, node: Node, batches: list[BulkBatch]) -> None:
        self._settle(node)
        self._in_flight[node] = batches
        try:
            connection = self._connections.get(node)
            if connection is None or connection.is_stale:
                if connection is not None:
                    connection.close()
                connection = self._connections[node] = self._cluster.open(node)
            message, version = self._request(connection, batches)
            connection.send(message, version=version)
        except KafkaWireError as error:
            self._lost(node, error)

    def _settle(self, node: Node) -> None:
        if node not in self._in_flight:
            return
        try:
            answer = self._connections[node].receive(ProduceResponse)
        except KafkaWireError as error:
            self._lost(node, error)
            return
        for batch, refusal in self._refused(self._in_flight.pop(node), answer):
            self._send_again(batch, refusal)

    def _lost(self, node: Node, error: KafkaWireError) -> None:
        """The connection is gone, and nobody knows what became of its request."""
        connection = self._connections.pop(node, None)
        if connection is not None:
            connection.close()
        for batch in self._in_flight.pop(node):
            self._send_again(batch, error)

    def _send_again(self, batch: BulkBatch, error: KafkaWireError) -> None:
        place = batch.partition
        if isinstance(error, MessageTooLargeError):
            halves = split_batch(batch.records, self._options)
            if not halves[1].count:
                raise error
            lower_limit(self.limits, place.topic, halves)
            for half in halves:
                self._send_alone(BulkBatch(place, memoryview(half.build())), error)
            return
        if not is_retriable(error):
            raise error
        time.sleep(self._options.retry_backoff_ms / 1000)
        self._send_alone(batch, error)

    def _send_alone(self, batch: BulkBatch, error: KafkaWireError) -> None:
        place = batch.partition

        def attempt() -> None:
            self._cluster.refresh([place.topic])
            node = self._cluster.metadata.leader(*place)
            if node is None:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(place))
            left = self._cluster.seconds_left()
            connection = self._cluster.open(node, left)
            try:
                message, version = self._request(connection, [batch])
                answer = connection.request(message, ProduceResponse, version=version, seconds=left)
            finally:
                connection.close()
            for _, refusal in self._refused([batch], answer):
                raise refusal

        try:
            self._until(f"{place}, after {error}", self._options.delivery_timeout_ms, attempt)
        except MessageTooLargeError as refusal:
            self._send_again(batch, refusal)

    def _request(self, connection: SocketConnection, batches: list[BulkBatch]) -> tuple[ProduceRequest, int]:
        version = produce_version(connection, self._options.codec)
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        for batch in batches:
            name, number = batch.partition
            if name not in topics:
                info = self._cluster.metadata.topics.get(name)
                topic_id = NO_ID if info is None else info.id
                topics[name] = ProduceRequest.TopicProduceData(name=name, topic_id=topic_id)
                if topic_id == NO_ID:
                    version = min(version, _NAMED_BY_TOPIC)
            data = ProduceRequest.PartitionProduceData(index=number, records=batch.records)
            topics[name].partition_data.append(data)
        options = self._options
        message = ProduceRequest(
            acks=options.required_acks, timeout_ms=options.request_timeout_ms, topic_data=list(topics.values())
        )
        return message, version

    def _refused(self, batches: list[BulkBatch], answer: ProduceResponse) -> Iterator[tuple[BulkBatch, KafkaWireError]]:
        waiting = {batch.partition: batch for batch in batches}
        for topic in answer.responses:
            name = topic.name or self._cluster.metadata.names.get(topic.topic_id, "")
            for each in topic.partition_responses:
                batch = waiting.pop(TopicPartition(name, each.index), None)
                if batch is None or each.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    continue
                details = [each.error_message, *(error.batch_index_error_message for error in each.record_errors[:3])]
                yield batch, error_for(each.error_code, ": ".join([str(batch.partition), *filter(None, details)]))
        for batch in waiting.values():
            yield batch, ClientError(f"{batch.partition}: the broker's answer leaves it out")

    def _any_node(self) -> Node:
        return next(iter(self._cluster.metadata.nodes.values()))

    def _until(self, what: str, milliseconds: int, attempt: Callable[[], _Result]) -> _Result:
        """Try until it works, or cannot, or time is up."""
        options = self._options
        deadline, tries = time.monotonic() + milliseconds / 1000, 0
        with self._cluster.until(deadline):
            while True:
                try:
                    return attempt()
                except KafkaWireError as error:
                    tries += 1
                    pause = wait_before(tries, options.retry_backoff_ms / 1000, options.retry_backoff_max_ms / 1000)
                    if not is_retriable(error):
                        raise
                    if time.monotonic() + pause >= deadline:
                        raise RequestTimeoutError(
                            f"{what}: given up after {milliseconds / 1000:g} s and {tries} tries: {error}"
                        ) from error
                    time.sleep(pause)
