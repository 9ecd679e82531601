"""Connections of clients above their quota: answered first, then muted; neighbours are served meanwhile.

Most tests move the broker's clock by hand, so that a minute takes no time.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch

from kafkawire import messages as m
from kafkawire.broker import Broker
from kafkawire.broker._quotas.connections import SETTING
from kafkawire.broker._quotas.service import alteration
from kafkawire.broker._quotas.stored import CONNECTIONS, CONSUMER, PRODUCER, entity_of
from kafkawire.testing.manual_clock import ManualClock
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

QUOTA = 100_000.0
SIZE = 20_000
MINUTE = 60_000
OPENED: list[Client] = []


class Client:
    """A connection that sends requests one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str) -> None:
        self._reader, self._writer, self._client_id = reader, writer, client_id
        self._version = 0

    @classmethod
    async def connect(cls, broker: Broker, client_id: str) -> Client:
        client = cls(*await asyncio.open_connection("127.0.0.1", broker.port), client_id)
        OPENED.append(client)
        return client

    def send(self, request: Any, version: int) -> None:
        self._version = version
        self._writer.write(encode_request(request, version=version, correlation_id=7, client_id=self._client_id))

    async def receive(self, api: str) -> Any:
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        frame = size.to_bytes(4, "big") + await self._reader.readexactly(size)
        return decode_response(frame, api_key=m.api(api).key, version=self._version, correlation_id=7)[1]

    async def call(self, request: Any, version: int) -> Any:
        self.send(request, version)
        return await self.receive(type(request).__schema__.name.removesuffix("Request"))

    async def close(self) -> None:
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


def produce(size: int = SIZE) -> m.ProduceRequest:
    data = m.ProduceRequest.PartitionProduceData(index=0, records=batch(b"x" * size))
    topic = m.ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
    return m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])


def with_broker(run: Callable[[Broker, ManualClock], Awaitable[None]], **quotas: float) -> None:
    async def main() -> None:
        clock = ManualClock()
        async with Broker(clock=clock) as broker:
            broker.node.create_topic("orders", 1)
            changes = [(entity_of([("client-id", "noisy")]), key, value) for key, value in quotas.items()]
            await broker.node.changes.run(alteration(broker.node, changes))
            try:
                await run(broker, clock)
            finally:
                while OPENED:
                    await OPENED.pop().close()

    asyncio.run(asyncio.wait_for(main(), 60))


async def settled(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)


def test_the_response_comes_at_once_and_the_next_request_waits() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        noisy, neighbour = await Client.connect(broker, "noisy"), await Client.connect(broker, "neighbour")
        await noisy.call(produce(900_000), 9)
        answer = await noisy.call(produce(900_000), 9)
        assert answer.throttle_time_ms == pytest.approx(8_000, rel=0.01)
        noisy.send(m.ApiVersionsRequest(), 0)
        waiting = asyncio.ensure_future(noisy.receive("ApiVersions"))
        assert (await neighbour.call(produce(), 9)).throttle_time_ms == 0
        await settled()
        assert not waiting.done()
        clock.advance(answer.throttle_time_ms - 1)
        await settled()
        assert not waiting.done()
        clock.advance(1)
        assert (await asyncio.wait_for(waiting, 10)).error_code == 0

    with_broker(run, **{PRODUCER: QUOTA})


def test_a_muted_connection_is_not_read() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        noisy = await Client.connect(broker, "noisy")
        for _ in range(2):
            await noisy.call(produce(900_000), 9)
        (connection,) = broker.server.connections
        for _ in range(100):
            noisy.send(produce(100_000), 9)
        await settled()
        held = connection.accounted
        assert held < 2_000_000  # the rest waits in the system's buffers, and in the client
        assert connection.is_waiting  # so it is not idle
        await settled()

    with_broker(run, **{PRODUCER: QUOTA})


def test_a_lost_connection_ends_its_throttle_time() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        noisy = await Client.connect(broker, "noisy")
        for _ in range(2):
            await noisy.call(produce(900_000), 9)
        (connection,) = broker.server.connections
        connection.abort()
        await settled()
        assert not broker.server.connections
        clock.advance(MINUTE)
        await settled()

    with_broker(run, **{PRODUCER: QUOTA})


def test_acks_0_is_throttled_without_a_response() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        noisy = await Client.connect(broker, "noisy")
        request = produce(900_000)
        request.acks = 0
        noisy.send(request, 9)
        noisy.send(request, 9)
        noisy.send(m.ApiVersionsRequest(), 0)
        waiting = asyncio.ensure_future(noisy.receive("ApiVersions"))
        await settled()
        assert not waiting.done()
        clock.advance(MINUTE)
        await asyncio.wait_for(waiting, 10)

    with_broker(run, **{PRODUCER: QUOTA})


def test_a_noisy_producer_is_held_to_its_rate_and_its_neighbour_is_not() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        clients = {name: await Client.connect(broker, name) for name in ("noisy", "neighbour")}
        sent = dict.fromkeys(clients, 0)
        free_at = dict.fromkeys(clients, 0)
        start = clock.elapsed() + 11_000  # after the burst that is free
        step = 50
        while clock.elapsed() < start + MINUTE:
            for name, client in clients.items():
                if clock.elapsed() >= free_at[name]:
                    answer = await client.call(produce(), 9)
                    free_at[name] = clock.elapsed() + answer.throttle_time_ms
                    sent[name] += (
                        len(encode_request(produce(), version=9, correlation_id=7)) if clock.elapsed() >= start else 0
                    )
            clock.advance(step)
        assert sent["noisy"] / (MINUTE / 1000) == pytest.approx(QUOTA, rel=0.05)
        assert sent["neighbour"] / (MINUTE / 1000) == pytest.approx(SIZE * 1000 / step, rel=0.05)

    with_broker(run, **{PRODUCER: QUOTA})


def test_a_noisy_consumer_is_held_to_its_rate() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        writer, noisy = await Client.connect(broker, "writer"), await Client.connect(broker, "noisy")
        for _ in range(20):
            await writer.call(produce(), 9)
        partition = m.FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=SIZE + 100)
        topic = m.FetchRequest.FetchTopic(topic="orders", partitions=[partition])
        request = m.FetchRequest(max_wait_ms=0, max_bytes=SIZE + 100, session_epoch=-1, topics=[topic])
        received, free_at = 0, 0
        start = clock.elapsed() + 11_000
        while clock.elapsed() < start + MINUTE:
            if clock.elapsed() >= free_at:
                answer = await noisy.call(request, 11)
                free_at = clock.elapsed() + answer.throttle_time_ms
                size = sum(len(each.records) for row in answer.responses for each in row.partitions)
                received += size if clock.elapsed() >= start else 0
            clock.advance(50)
        assert received / (MINUTE / 1000) == pytest.approx(QUOTA, rel=0.05)

    with_broker(run, **{CONSUMER: QUOTA})


def test_an_address_above_its_rate_is_kept_unread_and_then_closed() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        entity = entity_of([("ip", "127.0.0.1")])
        await broker.node.changes.run(alteration(broker.node, [(entity, CONNECTIONS, 1.0)]))
        clients = [await Client.connect(broker, "c") for _ in range(10)]  # the burst of ten seconds
        for client in clients:
            assert (await client.call(m.ApiVersionsRequest(), 0)).error_code == 0
        late = await Client.connect(broker, "c")
        late.send(m.ApiVersionsRequest(), 0)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(late.receive("ApiVersions"), 20)
        assert broker.node.quotas.throttled[CONNECTIONS] == 1
        assert len(broker.server.connections) == 10

    with_broker(run)


def test_the_broker_accepts_later_above_its_rate() -> None:
    async def run(broker: Broker, clock: ManualClock) -> None:
        await broker.node.changes.run(broker.node.changes.broker_settings("", {SETTING: "2"}))
        began = asyncio.get_running_loop().time()
        for _ in range(22):  # the burst of 20, and two more
            assert (await (await Client.connect(broker, "c")).call(m.ApiVersionsRequest(), 0)).error_code == 0
        assert asyncio.get_running_loop().time() - began >= 0.3
        assert broker.node.quotas.throttled[SETTING] >= 1

    with_broker(run)
