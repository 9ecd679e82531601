"""A broker in a thread of its own, so that blocking code can be tested against it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from kafkawire.broker.broker import Broker
from kafkawire.client.options import ClientOptions, parse_address
from kafkawire.client.sockets import SocketConnection
from kafkawire.messages import CreateTopicsRequest, CreateTopicsResponse, ProduceRequest, ProduceResponse
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator

    Pair = tuple[bytes | None, bytes | None]

_Result = TypeVar("_Result")


class RunningBroker:
    """Our broker on a loop in a thread; data is put in without the clients under test."""

    def __init__(self, config: dict[str, str] | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.broker = Broker(config={"auto.create.topics.enable": "false", **(config or {})})
        self.call(self.broker.start())
        self.bootstrap = self.broker.bootstrap
        host, port = parse_address(self.bootstrap)
        self._connection = SocketConnection(host, port, ClientOptions())

    def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def stop(self) -> None:
        self._connection.close()
        self.call(self.broker.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

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
        return name

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


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    running = RunningBroker()
    yield running
    running.stop()
