"""The cluster: bootstrap, metadata, leaders, coordinators, and brokers that go away."""

from __future__ import annotations

import asyncio
import gc
from typing import Any
from uuid import UUID

import pytest
from tests.client.scripted_broker import HANG_UP, ScriptedBroker

from kafkawire.client._cluster.cluster import GROUP, Cluster
from kafkawire.client._cluster.metadata import Metadata
from kafkawire.client.errors import ClosedError, ConnectionLostError
from kafkawire.client.options import ClientOptions
from kafkawire.messages import (
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataResponse,
)
from kafkawire.messages.errors import UnknownTopicOrPartitionError

pytestmark = pytest.mark.usefixtures("virtual_time")


def cluster_of(servers: str, **options: Any) -> Cluster:
    quick = {"retry_backoff_ms": 5, "reconnect_backoff_ms": 5, "reconnect_backoff_max_ms": 20, **options}
    return Cluster(ClientOptions(bootstrap_servers=servers, **quick))


def answer(*partitions: tuple[int, int, int], topic_id: int = 1, nodes: int = 3, error: int = 0) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(node_id=n, host=f"h{n}", port=1) for n in range(nodes)],
        topics=[
            MetadataResponse.MetadataResponseTopic(
                name="t",
                topic_id=UUID(int=topic_id),
                error_code=error,
                partitions=[
                    MetadataResponse.MetadataResponsePartition(partition_index=p, leader_id=leader, leader_epoch=epoch)
                    for p, leader, epoch in partitions
                ],
            )
        ],
    )


def test_a_leader_of_an_earlier_epoch_is_not_believed() -> None:
    metadata = Metadata()
    metadata.update(answer((0, 1, 5)), is_complete=False, now=0)
    metadata.update(answer((0, 2, 4)), is_complete=False, now=1)
    assert metadata.topics["t"].partitions[0].leader == 1
    metadata.update(answer((0, 2, 6)), is_complete=False, now=2)
    assert metadata.topics["t"].partitions[0].leader == 2


def test_a_recreated_topic_starts_over() -> None:
    metadata = Metadata()
    metadata.update(answer((0, 1, 5)), is_complete=False, now=0)
    metadata.update(answer((0, 2, 0), topic_id=2), is_complete=False, now=1)
    assert metadata.topics["t"].partitions[0].leader == 2
    assert metadata.names == {UUID(int=2): "t"}


def test_a_topic_that_is_gone_is_forgotten() -> None:
    metadata = Metadata()
    metadata.update(answer((0, 1, 5)), is_complete=False, now=0)
    metadata.update(answer(error=3), is_complete=False, now=1)
    assert not metadata.topics
    assert not metadata.names
    assert metadata.errors == {"t": 3}


def test_a_hint_about_a_leader_counts_if_it_is_newer_and_the_broker_is_known() -> None:
    metadata = Metadata()
    metadata.update(answer((0, 1, 5)), is_complete=False, now=0)
    assert not metadata.move_leader("t", 0, 2, 5)
    assert not metadata.move_leader("t", 0, 9, 6)
    assert metadata.move_leader("t", 0, 2, 6)
    leader = metadata.leader("t", 0)
    assert leader is not None
    assert leader.id == 2


def test_the_first_bootstrap_server_that_answers_is_enough() -> None:
    async def main() -> None:
        async with ScriptedBroker() as gone:
            pass
        async with ScriptedBroker() as broker:
            cluster = cluster_of(f"{gone.bootstrap},{broker.bootstrap}")
            await cluster.start()
            assert cluster.metadata.cluster_id == "fake"
            await cluster.close()

    asyncio.run(main())


def test_when_no_server_answers_the_error_lists_every_attempt() -> None:
    async def main() -> None:
        async with ScriptedBroker() as one, ScriptedBroker() as other:
            pass
        cluster = cluster_of(f"{one.bootstrap},{other.bootstrap}")
        with pytest.raises(ConnectionLostError) as caught:
            await cluster.start()
        assert one.bootstrap in str(caught.value)
        assert other.bootstrap in str(caught.value)

    asyncio.run(main())


def test_when_all_known_brokers_are_gone_the_bootstrap_servers_are_asked_again() -> None:
    async def main() -> None:
        async with ScriptedBroker() as seed, ScriptedBroker() as member:
            seed.handlers["Metadata"] = member.handlers["Metadata"]
            cluster = cluster_of(seed.bootstrap)
            await cluster.start()
            await cluster.connection(0)
            assert member.accepted == 1
            await member.__aexit__()
            async with ScriptedBroker() as successor:
                seed.handlers["Metadata"] = successor.handlers["Metadata"]
                await cluster.refresh()
                await cluster.connection(0)
                assert successor.accepted == 1
                await cluster.close()

    asyncio.run(main())


def test_a_cluster_that_demands_it_is_found_again() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            good = broker.handlers["Metadata"]
            answers = iter([MetadataResponse(error_code=129)])
            broker.handlers["Metadata"] = lambda request, version: next(answers, None) or good(request, version)
            await cluster.refresh()
            assert broker.names().count("Metadata") == 3
            await cluster.close()

    asyncio.run(main())


def test_a_broker_that_restarts_is_connected_to_again() -> None:
    async def main() -> None:
        async with ScriptedBroker({"ListGroups": lambda request, version: ListGroupsResponse()}) as broker:
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            first = await cluster.connection(0)
            first.close()
            assert await cluster.request(0, ListGroupsRequest(), ListGroupsResponse) == ListGroupsResponse()
            assert await cluster.connection(0) is not first
            await cluster.close()

    asyncio.run(main())


def test_refreshes_asked_for_together_are_one_and_the_next() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            broker.delay = 0.02
            await asyncio.gather(*(cluster.refresh() for _ in range(20)))
            assert broker.names().count("Metadata") == 3
            await cluster.close()

    asyncio.run(main())


def test_a_topic_that_appears_is_waited_for_and_one_that_never_does_is_an_error_in_time() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap, default_api_timeout_ms=200)
            await cluster.start()
            waiting = asyncio.create_task(cluster.topic("late"))
            await asyncio.sleep(0.03)
            broker.topics["late"] = 2
            assert sorted((await waiting).partitions) == [0, 1]
            with pytest.raises(Exception, match=r"topic 'never': given up after 0.2 s .*UNKNOWN_TOPIC_OR_PARTITION"):
                await cluster.topic("never")
            with pytest.raises(UnknownTopicOrPartitionError, match="late-7"):
                await cluster.leader("late", 7)
            await cluster.close()

    asyncio.run(main())


@pytest.mark.parametrize("last", [2, 6])
def test_the_coordinator_is_remembered_until_a_broker_reports_that_it_moved(last: int) -> None:
    async def main() -> None:
        def find(request: Any, version: int) -> FindCoordinatorResponse:
            if version < 4:
                return FindCoordinatorResponse(node_id=0, host="127.0.0.1", port=1)
            found = FindCoordinatorResponse.Coordinator(key=request.coordinator_keys[0], node_id=0)
            return FindCoordinatorResponse(coordinators=[found])

        async with ScriptedBroker({"FindCoordinator": find}) as broker:
            broker.ranges["FindCoordinator"] = (0, last)
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            for _ in range(2):
                assert await cluster.coordinator(GROUP, "g") == 0
            assert broker.names().count("FindCoordinator") == 1
            cluster.forget_coordinator(GROUP, "g")
            await cluster.coordinator(GROUP, "g")
            assert broker.names().count("FindCoordinator") == 2
            await cluster.close()

    asyncio.run(main())


def test_metadata_is_refreshed_when_it_is_old() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap, metadata_max_age_ms=20)
            await cluster.start()
            await asyncio.sleep(0.1)
            assert broker.names().count("Metadata") >= 3
            await cluster.close()

    asyncio.run(main())


def test_a_connection_that_nobody_uses_is_closed_and_made_again() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            options = ClientOptions(bootstrap_servers=broker.bootstrap, connections_max_idle_ms=3_000)
            cluster = Cluster(options)
            await cluster.start()
            connection = await cluster.connection(0)
            for _ in range(2):
                await asyncio.sleep(2)
                await cluster.refresh()
            assert await cluster.connection(0) is connection
            await asyncio.sleep(5)
            assert not connection.is_open
            assert await cluster.connection(0) is not connection
            await cluster.close()

    asyncio.run(main())


def test_a_closed_cluster_refuses() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            await cluster.close()
            with pytest.raises(ClosedError):
                await cluster.connection(0)

    asyncio.run(main())


def test_any_message_can_be_sent_in_any_version() -> None:
    async def main() -> None:
        async with ScriptedBroker({"ListGroups": lambda request, version: ListGroupsResponse(error_code=15)}) as broker:
            cluster = cluster_of(broker.bootstrap)
            await cluster.start()
            response = await cluster.raw(ListGroupsRequest(), version=2)
            assert isinstance(response, ListGroupsResponse)
            assert response.error_code == 15
            assert broker.requests[-1][:2] == ("ListGroups", 2)
            with pytest.raises(TypeError, match="ListGroupsResponse is not a request"):
                await cluster.raw(ListGroupsResponse())
            await cluster.close()

    asyncio.run(main())


def test_a_broker_that_fails_is_left_alone_for_longer_and_longer() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker.bootstrap, reconnect_backoff_ms=20, reconnect_backoff_max_ms=40)
            await cluster.start()
            broker.handlers["ApiVersions"] = lambda request, version: HANG_UP
            loop = asyncio.get_running_loop()
            before = loop.time()
            for _ in range(4):
                with pytest.raises(ConnectionLostError):
                    await cluster.connection(0)
            assert loop.time() - before >= 0.8 * (0.02 + 0.04 + 0.04)
            await cluster.close()

    asyncio.run(main())


def test_a_refresh_that_nobody_waits_for_any_more_fails_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        cluster = cluster_of("127.0.0.1:1")
        cluster._closed = False
        waiting = asyncio.create_task(cluster.refresh())
        await asyncio.sleep(0)
        waiting.cancel()
        refreshing = cluster._refreshing
        assert refreshing is not None
        await asyncio.wait([refreshing, waiting])
        cluster._refreshing, cluster._closed = None, True

    asyncio.run(leave())
    gc.collect()
    assert "never retrieved" not in caplog.text
