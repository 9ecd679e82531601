"""One offset range of a partition, fetched ahead of its reader over a blocking socket.

Rules:
- The next fetch is sent before the last answer is returned: while the caller works, the broker reads, sends, and fills
  the buffer of the socket. A thread that empties this buffer costs more than it gains.
- A fetch has neither session nor member, so that a range that is fetched again gives the same rows.
- Retries and leader changes are those of `Discovery`. No progress for `default_api_timeout_ms` is an error that names
  the offset. The time that the caller takes does not count.
- Threads share metadata and idle connections under a lock; a connection in use belongs to one range.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.client._cluster.blocking_cluster import SocketCluster
from kafkawire.client._cluster.blocking_connection import run
from kafkawire.client._cluster.metadata import NO_ID
from kafkawire.client._consume.records import fetch_version, fetched_chunk
from kafkawire.client.errors import RequestTimeoutError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from kafkawire.client._cluster.blocking_connection import SocketConnection
    from kafkawire.client._cluster.metadata import Node, TopicPartition
    from kafkawire.client._consume.records import Chunk
    from kafkawire.client.options import ConsumerOptions

_Result = TypeVar("_Result")


class SharedCluster(SocketCluster):
    """A cluster for several threads: metadata under a lock, and idle connections for ranges."""

    options: ConsumerOptions

    def __init__(self, options: ConsumerOptions) -> None:
        super().__init__(options)
        self.allow_creation = False
        self._lock = threading.Lock()
        self._idle: dict[str, list[SocketConnection]] = {}

    def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine of the cluster."""
        with self._lock:
            return run(work)

    def take(self, node: Node) -> SocketConnection:
        """A connection for one range alone."""
        with self._lock:
            idle = self._idle.get(f"{node.host}:{node.port}", [])
            while idle:
                connection = idle.pop()
                if connection.serves(node):
                    return connection
                connection.close()
        return run(self.open(node))

    def give_back(self, connection: SocketConnection) -> None:
        """Keep a connection without a request in flight for the next range."""
        with self._lock:
            if self.is_closed:
                connection.close()
            else:
                self._idle.setdefault(connection.place, []).append(connection)

    def close(self) -> None:
        self._closed = True
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()
        super().close()


class RangeFetch:
    """One range of a partition, as chunks."""

    def __init__(
        self, cluster: SharedCluster, partition: TopicPartition, start: int, end: int, isolation: int, fetch_bytes: int
    ) -> None:
        self._cluster = cluster
        self._partition = partition
        self._position, self._end = start, end
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._patience = cluster.options.default_api_timeout_ms / 1000
        self._deadline = 0.0

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of the range, in order; each is valid until the next one, which reuses its memory."""
        self._made_progress()
        while self._position < self._end:
            try:
                yield from self._fetch_from_leader()
            except KafkaWireError as error:
                if not is_retriable(error):
                    raise
                if time.monotonic() >= self._deadline:
                    raise RequestTimeoutError(
                        f"{self._partition}: no progress at offset {self._position} for {self._patience:g} s: {error}"
                    ) from error
                time.sleep(self._cluster.options.retry_backoff_ms / 1000)
                with self._cluster.limit(self._deadline):
                    self._cluster.call(self._cluster.recover(error))

    def _made_progress(self) -> None:
        self._deadline = time.monotonic() + self._patience

    def _fetch_from_leader(self) -> Iterator[Chunk]:
        """Fetch from one leader until the range ends, the connection must be replaced, or a fetch fails."""
        with self._cluster.limit(self._deadline):
            leader, _ = self._cluster.call(self._cluster.leader(*self._partition))
            connection = self._cluster.take(leader)
        try:
            self._ask(connection)
            while True:
                left = max(0.001, self._deadline - time.monotonic())
                chunk = self._read(connection.receive(FetchResponse, seconds=left))
                if chunk is None and time.monotonic() >= self._deadline:
                    raise RequestTimeoutError(f"there is nothing to read yet, the range ends at {self._end}")
                is_over = self._position >= self._end or connection.is_stale
                if not is_over:
                    self._ask(connection)
                if chunk is not None:
                    yield chunk
                    connection.reuse(chunk.records)
                    self._made_progress()
                if is_over:
                    break
        except BaseException:
            connection.close()
            raise
        self._cluster.give_back(connection)

    def _ask(self, connection: SocketConnection) -> None:
        topic = self._cluster.metadata.topics.get(self._partition.topic)
        topic_id = NO_ID if topic is None else topic.id
        wanted = FetchRequest.FetchPartition(
            partition=self._partition.partition,
            fetch_offset=self._position,
            partition_max_bytes=self._fetch_bytes,
        )
        request = FetchRequest(
            max_wait_ms=self._cluster.options.fetch_max_wait_ms,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[FetchRequest.FetchTopic(topic=self._partition.topic, topic_id=topic_id, partitions=[wanted])],
        )
        connection.send(request, version=fetch_version(connection, [topic_id]))

    def _read(self, response: FetchResponse) -> Chunk | None:
        if response.error_code:
            raise error_for(response.error_code, str(self._partition))
        for topic in response.responses:
            for each in topic.partitions:
                if each.partition_index == self._partition.partition:
                    if each.error_code:
                        raise error_for(each.error_code, f"{self._partition} at offset {self._position}")
                    limit = f"a fetch of {self._fetch_bytes} bytes"
                    chunk = fetched_chunk(each, self._partition, self._position, limit)
                    if chunk is not None:
                        self._position = chunk.next_offset
                    return chunk
        return None
