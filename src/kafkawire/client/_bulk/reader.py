"""Bulk reading: offset ranges of partitions as Arrow batches, over blocking sockets and without an event loop.

Rules:
- The broker prepares and sends the next answer while the caller works on the last (`range_fetch`). No request outlives
  the iterator, however it ends.
- A range is half open: start <= offset < end. It is read to its end, or an error names the offset and the reason.
- An offset that the log no longer has is an error (OFFSET_OUT_OF_RANGE), never a silent gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.client._bulk.arrow import ArrowDecoder
from kafkawire.client._bulk.range_fetch import RangeFetch, SharedCluster
from kafkawire.client._cluster.metadata import NO_ID, TopicPartition
from kafkawire.client._consume.offsets import EARLIEST, LATEST, ask_leaders
from kafkawire.client._consume.records import located
from kafkawire.client.errors import ClientError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ConsumerOptions
from kafkawire.records import RECORD_SCHEMA, CorruptRecordError, batches_to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from kafkawire.client._consume.records import Chunk
    from kafkawire.values import ValueColumns

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
        self._cluster = SharedCluster(self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections; a range that is still read keeps its own to its end."""
        self._cluster.close()

    def connect(self) -> None:
        """Find the cluster, in one attempt; other calls retry. None takes longer than `default_api_timeout_ms`."""
        with self._cluster.limit(self._cluster.now() + self.options.default_api_timeout_ms / 1000):
            self._cluster.call(self._cluster.refresh())

    def topics(self) -> list[str]:
        """Every topic of the cluster but Kafka's own."""

        async def list_all() -> list[str]:
            self._cluster.wants_all = True
            try:
                await self._cluster.retry("topics", self._cluster.refresh)
            finally:
                self._cluster.wants_all = False
            return sorted(topic.name for topic in self._cluster.metadata.topics.values() if not topic.is_internal)

        return self._cluster.call(list_all())

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic; a topic that does not exist is an error at once."""

        async def look() -> list[int]:
            await self._cluster.retry(f"topic {topic!r}", lambda: self._cluster.refresh([topic]))
            return self._known(topic)

        return self._cluster.call(look())

    def topic_id(self, topic: str) -> UUID | None:
        """The id of a topic when its partitions were last looked up; None if the cluster has no ids."""
        info = self._cluster.metadata.topics.get(topic)
        return None if info is None or info.id == NO_ID else info.id

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
        """The first offset at or after a time, of each partition; None if there is none."""
        level = self._isolation(isolation)

        async def look() -> dict[int, int | None]:
            if topic not in self._cluster.metadata.topics:
                await self._cluster.refresh([topic])
            numbers = self._known(topic) if partitions is None else list(partitions)
            found = await self._ask({TopicPartition(topic, number): timestamp_ms for number in numbers}, level)
            return {place.partition: offset for place, offset in found.items()}

        return self._cluster.call(self._cluster.retry(f"offsets of {topic!r}", look))

    def offsets_of(
        self, times: Mapping[TopicPartition, int], *, isolation: str = ""
    ) -> dict[TopicPartition, int | None]:
        """The first offset at or after the time of each partition, of any topics, by one request to each leader.

        The time may be EARLIEST or LATEST.
        """
        level = self._isolation(isolation)

        async def look() -> dict[TopicPartition, int | None]:
            topics = {place.topic for place in times}
            if not topics <= self._cluster.metadata.topics.keys():
                await self._cluster.refresh(sorted(topics))
            return await self._ask(times, level)

        return self._cluster.call(self._cluster.retry(f"offsets of {len(times)} partitions", look)) if times else {}

    async def _ask(self, times: Mapping[TopicPartition, int], level: int) -> dict[TopicPartition, int | None]:
        found, failed = await ask_leaders(self._cluster, times, level)
        for error in failed.values():
            raise error
        return {place: None if at is None else at.offset for place, at in found.items()}

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
        values: ValueColumns | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The records of a range as Arrow batches; without `end`, up to the current end of the partition.

        Columns are those of `kafkawire.records.to_arrow`, and topic and partition. A batch holds the records of one
        fetch, in parts of about 8 MiB at most. With `values`, keys and values are decoded by their schemas.
        """
        if end is None:
            end = self.latest(topic, [partition], isolation=isolation)[partition]
        names = None if values is None else values.all_names(RECORD_SCHEMA.names) if columns is None else list(columns)
        stored = columns if values is None or names is None else values.stored(names)
        decoder = ArrowDecoder(stored, verify=self.options.check_crcs, end=end)
        place = TopicPartition(topic, partition)
        chunks = self._chunks(place, start, end, isolation, fetch_bytes)
        parts = (part for chunk in chunks for part in decoder.parts(chunk, place))
        if values is None or names is None:
            return parts
        return (values.decode(part, names, str(place)) for part in parts)

    def read_batches(
        self, topic: str, partition: int, start: int, end: int, *, isolation: str = "", fetch_bytes: int = FETCH_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The headers of the batches whose last offset lies in a range, one row per batch; nothing is decompressed.

        Columns are those of `kafkawire.records.batches_to_arrow`; `position` is the position within an answer.
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
        return RangeFetch(self._cluster, partition, start, end, self._isolation(isolation), fetch_bytes).chunks()

    def _isolation(self, name: str) -> int:
        levels = {"": self.options.isolation, "read_uncommitted": 0, "read_committed": 1}
        if name not in levels:
            raise ClientError(f"isolation {name!r}: expected read_committed or read_uncommitted")
        return levels[name]

    def _known(self, topic: str) -> list[int]:
        info = self._cluster.metadata.topics.get(topic)
        if info is None:
            self._cluster.wanted.discard(topic)
            raise self._cluster.missing(topic)
        return list(info.partitions)
