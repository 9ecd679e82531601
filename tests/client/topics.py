"""Topics of a broker, made and filled without the clients under test."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.options import ClientOptions, parse_address
from kafkawire.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def batch_of(values: Iterable[bytes | None], **batch: Any) -> bytes:
    """A batch of records without keys."""
    builder = BatchBuilder(**batch)
    for value in values:
        builder.append(None, value)
    return builder.build()


def until(holds: Callable[[], bool]) -> None:
    """Wait for what a cluster comes to know a moment later."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold within 60 s"
        time.sleep(0.01)


class Topics:
    """The calls that tests make on any broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._connection = SocketConnection(*parse_address(bootstrap), ClientOptions())

    def close(self) -> None:
        self._connection.close()

    def connections_made(self) -> int:
        """How many connections the broker has taken so far."""
        raise NotImplementedError

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        entries = [
            CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, configs=entries
        )
        answer = self._connection.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), CreateTopicsResponse)
        assert [each.error_code for each in answer.topics] == [0]
        self.wait_for(name, partitions)
        return name

    def wait_for(self, name: str, partitions: int) -> None:
        """Wait until a topic that was made or has grown can be used."""
        until(lambda: self._is_led(name, partitions))

    def _is_led(self, name: str, partitions: int) -> bool:
        """Whether the leaders of a new topic know that they are; on a cluster that takes a moment."""
        wanted = [ListOffsetsRequest.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(partitions)]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=wanted)]
        )
        answer = self._connection.request(request, ListOffsetsResponse)
        asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        known = self._connection.request(asked, MetadataResponse)
        leaders = [each.leader_id for topic in known.topics for each in topic.partitions]
        codes = {each.error_code for topic in answer.topics for each in topic.partitions}
        return codes == {0} and len(leaders) == partitions and min(leaders) >= 0

    def append(
        self, topic: str, partition: int, records: Iterable[tuple[bytes | None, bytes | None]], **batch: Any
    ) -> int:
        """Append one batch; its first offset."""
        builder = BatchBuilder(**batch)
        for number, (key, value) in enumerate(records):
            builder.append(key, value, timestamp=1_700_000_000_000 + number)
        data = ProduceRequest.PartitionProduceData(index=partition, records=builder.build())
        request = ProduceRequest(
            acks=-1,
            timeout_ms=5000,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])],
        )
        answer = self._connection.request(request, ProduceResponse, version=9)
        result = answer.responses[0].partition_responses[0]
        assert result.error_code == 0
        return result.base_offset

    def fill(self, topic: str, count: int, *, partition: int = 0, per_batch: int = 100, size: int = 10) -> None:
        """Append records whose values are their number, as text."""
        for first in range(0, count, per_batch):
            numbers = range(first, min(first + per_batch, count))
            self.append(topic, partition, [(b"k%d" % number, b"%0*d" % (size, number)) for number in numbers])
