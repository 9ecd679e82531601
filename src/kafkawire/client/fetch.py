"""Bulk reading: offset ranges of partitions as Arrow batches, over blocking sockets and without an event loop.

Rules:
- The broker prepares and sends the next answer while the caller works on the last (`reading`); nothing runs on beyond
  the iterator, however that ends.
- A range is half open: start <= offset < end. It is read to its end, or an error says where it stopped and why.
- An offset that the log no longer has is an error (OFFSET_OUT_OF_RANGE), never a silent gap.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.client.arrow import ArrowDecoder
from kafkawire.client.decoding import located
from kafkawire.client.errors import ClientError
from kafkawire.client.metadata import NO_ID, TopicPartition
from kafkawire.client.offsets import EARLIEST, LATEST, by_leader, offsets_request, read_offsets
from kafkawire.client.options import ConsumerOptions, read_options
from kafkawire.client.reading import Reading
from kafkawire.client.sockets import SocketCluster, SocketConnection
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ListOffsetsResponse
from kafkawire.messages.errors import ErrorCode, error_for
from kafkawire.records import CorruptRecordError, batches_to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from kafkawire.client.decoding import Chunk
    from kafkawire.client.metadata import Node

FETCH_BYTES: Final = 2 * 1024 * 1024


class BulkReader:
    """Reads ranges of partitions at full speed; options are those of a consumer.

    `with BulkReader("localhost:9092") as reader: table = pa.Table.from_batches(reader.read("orders", 0, 0, 1000))`
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if bootstrap_servers is not None:
            options["bootstrap_servers"] = bootstrap_servers
        self.options = read_options(ConsumerOptions, config, options)
        self._cluster = SocketCluster(self.options)
        self._idle: dict[str, list[SocketConnection]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections; a reading that still runs keeps its own to its end."""
        self._cluster.is_closed = True
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()
        self._cluster.close()

    def connect(self) -> None:
        """Find the cluster, tried once; other calls try until `default_api_timeout_ms` is over."""
        with self._lock:
            self._cluster.refresh([])

    def topics(self) -> list[str]:
        """Every topic of the cluster but Kafka's own."""
        with self._lock:
            self._cluster.retry("topics", None, lambda: self._cluster.refresh(None))
            return sorted(topic.name for topic in self._cluster.metadata.topics.values() if not topic.is_internal)

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic; a topic that does not exist is an error at once."""
        with self._lock:
            self._cluster.retry(f"topic {topic!r}", [topic], lambda: self._cluster.refresh([topic]))
            return list(self._known(topic))

    def earliest(self, topic: str, partitions: Iterable[int] | None = None) -> dict[int, int]:
        """The first offset of each partition."""
        return {number: offset or 0 for number, offset in self.offsets_at(topic, EARLIEST, partitions).items()}

    def latest(self, topic: str, partitions: Iterable[int] | None = None, *, isolation: str = "") -> dict[int, int]:
        """The offset after the last record that a reader of this isolation can see, of each partition."""
        found = self.offsets_at(topic, LATEST, partitions, isolation=isolation)
        return {number: offset or 0 for number, offset in found.items()}

    def offsets_at(
        self, topic: str, timestamp_ms: int, partitions: Iterable[int] | None = None, *, isolation: str = ""
    ) -> dict[int, int | None]:
        """The first offset at or after a time, of each partition; None where there is none."""
        level = self._isolation(isolation)
        with self._lock:

            def look() -> dict[int, int | None]:
                if topic not in self._cluster.metadata.topics:
                    self._cluster.refresh([topic])
                numbers = self._known(topic) if partitions is None else list(partitions)
                wanted = {TopicPartition(topic, number): timestamp_ms for number in numbers}
                return self._look_up(wanted, level)

            return self._cluster.retry(f"offsets of {topic!r}", [topic], look)

    def read(
        self,
        topic: str,
        partition: int,
        start: int,
        end: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        isolation: str = "",
        fetch_bytes: int = FETCH_BYTES,
    ) -> Iterator[pa.RecordBatch]:
        """The records of a range as Arrow batches; without an end, to what is the end now.

        Columns are those of `kafkawire.records.to_arrow`, and topic and partition. A batch holds what one fetch
        brought, in parts of at most 8 MiB or so.
        """
        if end is None:
            end = self.latest(topic, [partition], isolation=isolation)[partition]
        decoder = ArrowDecoder(columns, verify=self.options.check_crcs, end=end)
        place = TopicPartition(topic, partition)
        chunks = self._chunks(place, start, end, isolation, fetch_bytes)
        return (part for chunk in chunks for part in decoder.parts(chunk, place))

    def read_batches(
        self, topic: str, partition: int, start: int, end: int, *, isolation: str = "", fetch_bytes: int = FETCH_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The headers of the batches whose last offset lies in a range, a row each; nothing is unpacked.

        Columns are those of `kafkawire.records.batches_to_arrow`; `position` is that within an answer.
        """
        first, after = pa.scalar(start, pa.int64()), pa.scalar(end, pa.int64())
        place = TopicPartition(topic, partition)

        def headers(chunk: Chunk) -> pa.RecordBatch:
            try:
                found = batches_to_arrow(chunk.records, verify=self.options.check_crcs)
            except CorruptRecordError as error:
                raise located(error, place, chunk.records) from error
            last = found.column("last_offset")
            return found.filter(pc.and_(pc.greater_equal(last, first), pc.less(last, after)))

        tables = map(headers, self._chunks(place, start, end, isolation, fetch_bytes))
        return (table for table in tables if table.num_rows)

    def _chunks(
        self, partition: TopicPartition, start: int, end: int, isolation: str, fetch_bytes: int
    ) -> Iterator[Chunk]:
        if start < 0:
            raise ClientError(f"{partition}: offset {start}, expected 0 or more")
        return Reading(self, partition, start, end, self._isolation(isolation), fetch_bytes).chunks()

    def leader(self, partition: TopicPartition, deadline: float) -> Node:
        """The leader of a partition, looked up anew if it is not known."""
        with self._lock, self._cluster.until(deadline):
            node = self._cluster.metadata.leader(*partition)
            if node is None:
                self._cluster.refresh([partition.topic])
                node = self._cluster.metadata.leader(*partition)
            if node is None:
                self._known(partition.topic)
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
            return node

    def refresh(self, topic: str, deadline: float) -> None:
        """Ask for a topic's leaders anew."""
        with self._lock, self._cluster.until(deadline):
            self._cluster.refresh([topic])

    def take_connection(self, node: Node, deadline: float) -> SocketConnection:
        """A connection for one reading alone."""
        place = f"{node.host}:{node.port}"
        with self._lock:
            idle = self._idle.get(place, [])
            while idle:
                connection = idle.pop()
                if not connection.is_stale:
                    return connection
                connection.close()
        return self._cluster.open(node, max(0.001, deadline - time.monotonic()))

    def give_back(self, connection: SocketConnection) -> None:
        """A connection on which nothing is on its way."""
        with self._lock:
            if self._cluster.is_closed:
                connection.close()
            else:
                self._idle.setdefault(connection.place, []).append(connection)

    def topic_id(self, topic: str) -> UUID:
        """A topic's id, zero where the cluster has none."""
        known = self._cluster.metadata.topics.get(topic)
        return NO_ID if known is None else known.id

    def _isolation(self, name: str) -> int:
        levels = {"": self.options.isolation, "read_uncommitted": 0, "read_committed": 1}
        if name not in levels:
            raise ClientError(f"isolation {name!r}: expected read_committed or read_uncommitted")
        return levels[name]

    def _known(self, topic: str) -> list[int]:
        info = self._cluster.metadata.topics.get(topic)
        if info is None:
            code = self._cluster.metadata.errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise error_for(code, f"topic {topic!r}")
        return list(info.partitions)

    def _look_up(self, wanted: dict[TopicPartition, int], isolation: int) -> dict[int, int | None]:
        found: dict[int, int | None] = {}
        for leader, part in by_leader(wanted, self._cluster.metadata).items():
            node = self._cluster.metadata.nodes.get(leader)
            if node is None:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, ", ".join(map(str, part)))
            request = offsets_request(part, isolation, self._cluster.metadata, self.options.request_timeout_ms)
            answer = self._cluster.request(node, request, ListOffsetsResponse)
            for partition, offset in read_offsets(answer, part).items():
                if isinstance(offset, KafkaWireError):
                    raise offset
                found[partition.partition] = None if offset is None else offset.offset
        return found
