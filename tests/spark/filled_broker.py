"""A broker with topics that a test fills."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ProducerOptions
from kafkawire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    Message,
    ProduceRequest,
    ProduceResponse,
)
from kafkawire.records import BatchBuilder
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TIME = 1_700_000_000_000
"""The timestamp of the record at offset 0; each further one is a second later."""


class FilledBroker(RunningBroker):
    """A broker, and the few things that tests of topics do to it."""

    def fill(self, topic: str, count: int, *, partition: int = 0, first: int = 0, **builder: Any) -> None:
        """Append records numbered from `first` on: key k<n>, value v<n>, a second apart."""
        self.append(
            topic,
            partition,
            [(b"k%d" % n, b"v%d" % n, TIME + 1000 * n, ()) for n in range(first, first + count)],
            **builder,
        )

    def append(self, topic: str, partition: int, records: Iterable[tuple[Any, ...]], **builder: Any) -> None:
        """Append a batch of (key, value, timestamp, headers)."""
        batch = BatchBuilder(**builder)
        for record in records:
            batch.append(*record)
        data = ProduceRequest.PartitionProduceData(index=partition, records=batch.build())
        topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic_data])
        with self._connected() as connection:
            response = connection.request(request, ProduceResponse, version=9)
        assert not response.responses[0].partition_responses[0].error_code

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        entry = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=before)
        wanted = DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[entry])
        response = self._ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000), DeleteRecordsResponse)
        assert not response.topics[0].partitions[0].error_code

    def delete_topic(self, topic: str) -> None:
        state = DeleteTopicsRequest.DeleteTopicState(name=topic)
        response = self._ask(DeleteTopicsRequest(topics=[state], timeout_ms=5000), DeleteTopicsResponse)
        assert not response.responses[0].error_code

    def add_partitions(self, topic: str, count: int) -> None:
        wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
        response = self._ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=5000), CreatePartitionsResponse)
        assert not response.results[0].error_code

    def count(self, api: str) -> int:
        """How many requests of an API have come."""
        return sum(request.api == api for request in self.requests)

    def _ask(self, message: Message, answer: type[Any]) -> Any:
        with self._connected() as connection:
            return connection.request(message, answer)

    @contextmanager
    def _connected(self) -> Iterator[SocketConnection]:
        options = read_options(ProducerOptions, None, {})
        host, _, port = self.bootstrap_servers.rpartition(":")
        connection = SocketConnection(host, int(port), options)
        try:
            yield connection
        finally:
            connection.close()
