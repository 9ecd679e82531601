"""The broker's own work takes turns with requests, however many partitions there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer

from kafkawire.broker._broker import Broker
from kafkawire.broker._dispatch.turns import Turns
from kafkawire.broker._fetch.watch import Watch
from kafkawire.broker._metrics.http import MetricsPage
from kafkawire.broker._ops.maintenance import Maintenance
from kafkawire.broker.apis import fetch as reading
from kafkawire.messages import FetchRequest
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from kafkawire.broker._node import Node

PARTITIONS = 300


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every turn is over at once."""
    monkeypatch.setattr("kafkawire.broker._dispatch.turns.TURN_SECONDS", 0.0)


async def passes_during(work: Awaitable[object]) -> int:
    """How often the loop is given back while something is done."""
    passes = 0

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await work
    counting.cancel()
    return passes


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("work", ["flush_due", "apply_retention", "compact", "remove_files"])
def test_maintenance_gives_the_loop_back(node: Node, work: str) -> None:
    node.create_topic("many", PARTITIONS)
    assert asyncio.run(passes_during(getattr(Maintenance(node), work)())) >= PARTITIONS


@pytest.mark.usefixtures("short_turns")
def test_the_metrics_page_gives_the_loop_back() -> None:
    async def scenario() -> int:
        async with Broker(port=0) as broker:
            broker.node.create_topic("many", PARTITIONS)
            page = MetricsPage(broker)
            port = await page.listen("127.0.0.1", 0)

            async def get() -> None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
                answered = await reader.read()
                writer.close()
                await writer.wait_closed()
                assert answered.count(b"kafkawire_log_bytes{") == PARTITIONS

            passes = await passes_during(get())
            await page.close()
            return passes

    assert asyncio.run(scenario()) >= PARTITIONS


def test_steps_run_over_several_turns() -> None:
    done: list[int] = []

    def steps() -> Iterator[None]:
        for number in range(5):
            done.append(number)
            yield

    async def scenario(turns: Turns) -> None:
        if not turns.run(steps()):
            while len(turns):
                await asyncio.sleep(0)

    asyncio.run(scenario(Turns()))
    assert done == [0, 1, 2, 3, 4]


def test_a_watch_knows_what_has_changed(node: Node) -> None:
    with Watch(node.watches, [("orders", 0), ("orders", 1)]) as watch:
        for index in (1, 1, 2):
            node.notify("orders", index)
        assert (watch.take(), watch.take()) == ({("orders", 1)}, set())
    assert len(node.watches) == 0


def test_a_wake_up_reads_only_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with RunningBroker() as broker, Peer(broker) as peer:
        broker.create_topic("many", PARTITIONS)
        places = [FetchRequest.FetchPartition(partition=index, partition_max_bytes=1000) for index in range(PARTITIONS)]
        topic = FetchRequest.FetchTopic(topic="many", partitions=places)
        sent = peer.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=10**6, topics=[topic]), 11)
        while not broker.call(lambda: len(broker.broker.node.watches)):
            """The fetch does not wait yet."""
        read: list[int] = []

        def note(node: Node, key: tuple[str, int], *rest: object, **more: object) -> object:
            read.append(key[1])
            return original(node, key, *rest, **more)  # type: ignore[arg-type]  # passed on

        original = reading.read_partition
        monkeypatch.setattr(reading, "read_partition", note)
        broker.call(lambda: broker.broker.node.append("many", 7, batch(b"a")))
        assert len(peer.receive(sent).responses[0].partitions) == PARTITIONS
    assert read == [7]
