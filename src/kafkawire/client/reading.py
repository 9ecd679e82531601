"""One bulk reading: fetches a range, asks ahead, and survives brokers that move or fall.

Rules:
- The next fetch is on its way before the last answer is handed over: while its reader works, the broker reads, sends,
  and fills the socket's buffer. A thread to empty that buffer meanwhile costs more than it gains.
- A fetch names neither session nor member: whoever runs a range again gets the same rows.
- No progress for `default_api_timeout_ms` is an error that says where the reading stands. What the reader does with
  its time does not count.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from kafkawire.client.decoding import Chunk, located
from kafkawire.client.errors import ClientError, RequestTimeoutError, is_retriable
from kafkawire.client.metadata import NO_ID
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages.errors import error_for
from kafkawire.records import scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from kafkawire.client.metadata import Node, TopicPartition
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.client.sockets import SocketConnection

_NAMED_BY_TOPIC: Final = 12  # the last version of Fetch that names topics instead of their ids


class Source(Protocol):
    """What a reading needs of its reader."""

    options: ConsumerOptions

    def leader(self, partition: TopicPartition, deadline: float) -> Node: ...
    def refresh(self, topic: str, deadline: float) -> None: ...
    def take_connection(self, node: Node, deadline: float) -> SocketConnection: ...
    def give_back(self, connection: SocketConnection) -> None: ...
    def topic_id(self, topic: str) -> UUID: ...


class Reading:
    """One range of a partition, as chunks."""

    def __init__(
        self, reader: Source, partition: TopicPartition, start: int, end: int, isolation: int, fetch_bytes: int
    ) -> None:
        self._reader = reader
        self._partition = partition
        self._position, self._end = start, end
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._progress = 0.0

    def chunks(self) -> Iterator[Chunk]:
        """What the range holds, in order: each chunk until the next is asked for, when its memory is used again."""
        options = self._reader.options
        patience = options.default_api_timeout_ms / 1000
        self._progress = time.monotonic()
        while self._position < self._end:
            try:
                yield from self._fetch_on(patience)
            except KafkaWireError as error:
                if not is_retriable(error):
                    raise
                if time.monotonic() - self._progress >= patience:
                    raise RequestTimeoutError(
                        f"{self._partition}: no progress at offset {self._position} for {patience:g} s: {error}"
                    ) from error
                time.sleep(options.retry_backoff_ms / 1000)
                self._refresh(patience)

    def _refresh(self, patience: float) -> None:
        try:
            self._reader.refresh(self._partition.topic, self._progress + patience)
        except KafkaWireError as error:
            if not is_retriable(error):
                raise

    def _fetch_on(self, patience: float) -> Iterator[Chunk]:
        """Fetch from one leader until the range ends, the connection must be replaced, or something goes wrong."""
        deadline = self._progress + patience
        connection = self._reader.take_connection(self._reader.leader(self._partition, deadline), deadline)
        try:
            self._ask(connection)
            while True:
                left = max(0.001, self._progress + patience - time.monotonic())
                chunk = self._read_answer(connection.receive(FetchResponse, seconds=left))
                if chunk is None and time.monotonic() - self._progress > patience:
                    raise RequestTimeoutError(f"nothing to read there yet, the range ends at {self._end}")
                is_over = self._position >= self._end or connection.is_stale
                if not is_over:
                    self._ask(connection)
                if chunk is not None:
                    yield chunk
                    connection.reuse(chunk.records)
                    self._progress = time.monotonic()
                if is_over:
                    break
        except BaseException:
            connection.close()
            raise
        self._reader.give_back(connection)

    def _ask(self, connection: SocketConnection) -> None:
        options, topic = self._reader.options, self._partition.topic
        topic_id = self._reader.topic_id(topic)
        wanted = FetchRequest.FetchPartition(
            partition=self._partition.partition,
            fetch_offset=self._position,
            partition_max_bytes=self._fetch_bytes,
        )
        request = FetchRequest(
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
        )
        version = connection.negotiated.version("Fetch")
        connection.send(request, version=min(version, _NAMED_BY_TOPIC) if topic_id == NO_ID else version)

    def _read_answer(self, response: FetchResponse) -> Chunk | None:
        if response.error_code:
            raise error_for(response.error_code, str(self._partition))
        number = self._partition.partition
        parts = [each for topic in response.responses for each in topic.partitions if each.partition_index == number]
        if not parts:
            return None
        found = parts[0]
        if found.error_code:
            raise error_for(found.error_code, f"{self._partition} at offset {self._position}")
        records = found.records
        if records is None or not len(records):
            return None
        scan = scan_batches(records, verify=False)
        position, next_offset = self._position, scan.next_offset
        if next_offset is None or next_offset <= position:
            if scan.error is not None:
                raise located(scan.error, self._partition, memoryview(records))
            if next_offset is not None:
                raise ClientError(f"{self._partition}: the broker keeps sending what lies before offset {position}")
            raise ClientError(
                f"{self._partition}: the batch at offset {position} is larger than a fetch of "
                f"{self._fetch_bytes} bytes, and the broker does not send it whole"
            )
        self._position = next_offset
        aborted = [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()]
        return Chunk(position, next_offset, memoryview(records)[: scan.end], aborted)
