"""A partition that waits after an error is fetched when its wait ends, whatever else is under way."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn, cast

import pytest

from kafkawire.client._cluster.metadata import Node, TopicPartition
from kafkawire.client._consume.fetcher import Fetcher
from kafkawire.client._consume.positions import Assignment
from kafkawire.client.errors import ConnectionLostError
from kafkawire.client.options import ConsumerOptions
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.client._cluster.cluster import Cluster

pytestmark = pytest.mark.usefixtures("virtual_time")
WHERE = TopicPartition("orders", 0)


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.REQUEST_TIMED_OUT])
@pytest.mark.parametrize("begun", [0.0, 0.05, 0.099])
def test_a_refresh_that_began_before_an_error_does_not_end_the_fetches(code: ErrorCode, begun: float) -> None:
    fetched: list[float] = []

    async def refresh() -> None:
        await asyncio.sleep(0)

    async def connection(node_id: int, purpose: str) -> NoReturn:
        fetched.append(asyncio.get_running_loop().time())
        raise ConnectionLostError("nobody answers")

    async def run() -> None:
        node = Node(1, "localhost", 9092)
        metadata = SimpleNamespace(leader=lambda topic, partition: node)
        cluster = cast("Cluster", SimpleNamespace(metadata=metadata, refresh=refresh, connection=connection))
        assignment = Assignment("none")
        assignment.replace([WHERE], None)
        state = assignment.partitions[WHERE]
        state.move(0)
        fetcher = Fetcher(cluster, ConsumerOptions(retry_backoff_ms=100), assignment, lambda: None)
        fetcher._refresh()
        await asyncio.sleep(begun)
        fetcher._failed(state, code)
        fetcher.kick()
        await asyncio.sleep(1)
        await fetcher.close()

    asyncio.run(run())
    assert fetched
    assert begun + 0.1 <= fetched[0] < begun + 0.3
