"""A client whose brokers are gone starts again from its bootstrap servers: with asyncio, blocking, and in bulk."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.client.moving_broker import TOPIC, MovingBroker, stranger, values_of
from tests.client.scripted_broker import SILENCE, ScriptedBroker

from kafkawire import client
from kafkawire.client import BulkReader, BulkWriter, blocking
from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client.errors import ConnectionLostError
from kafkawire.client.options import ClientOptions
from kafkawire.messages import ApiVersionsResponse, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[bytes], object]
    Writer = Callable[..., AbstractContextManager[Write]]

QUICK: dict[str, Any] = {"retry_backoff_ms": 5, "retry_backoff_max_ms": 50, "reconnect_backoff_ms": 5}


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[MovingBroker]:
    broker = MovingBroker(tmp_path / "data")
    broker.start()
    yield broker
    broker.close()


@contextmanager
def asyncio_producer(**options: Any) -> Iterator[Write]:
    with asyncio.Runner() as runner:
        producer = client.Producer(**options)
        runner.run(producer.start())
        try:
            yield lambda value: runner.run(producer.send_and_wait(TOPIC, value))
        finally:
            runner.run(producer.stop())


@contextmanager
def blocking_producer(**options: Any) -> Iterator[Write]:
    with blocking.Producer(**options) as producer:
        yield lambda value: producer.send_and_wait(TOPIC, value)


@contextmanager
def bulk_writer(**options: Any) -> Iterator[Write]:
    def write(value: bytes) -> None:
        writer.write(TOPIC, pa.record_batch({"value": [value]}))
        writer.flush()

    with BulkWriter(**options) as writer:
        yield write


every_writer = pytest.mark.parametrize("writer", [asyncio_producer, blocking_producer, bulk_writer])


@every_writer
def test_a_producer_finds_a_broker_that_moved(moving: MovingBroker, writer: Writer) -> None:
    with writer(bootstrap_servers=moving.bootstrap, **QUICK) as write:
        write(b"before")
        moving.move()
        write(b"after")
    assert moving.values == [b"before", b"after"]


@every_writer
def test_a_producer_does_not_write_to_a_stranger_at_the_old_address(moving: MovingBroker, writer: Writer) -> None:
    with writer(bootstrap_servers=moving.bootstrap, **QUICK) as write:
        write(b"before")
        with stranger(moving.leave()) as other:
            moving.arrive()
            write(b"after")
            assert values_of(other) == []
    assert moving.values == [b"before", b"after"]


@every_writer
def test_without_recovery_a_producer_does_not_notice_the_stranger(moving: MovingBroker, writer: Writer) -> None:
    with writer(bootstrap_servers=moving.bootstrap, metadata_recovery_strategy="none", **QUICK) as write:
        write(b"before")
        with stranger(moving.leave()) as other:
            moving.arrive()
            write(b"after")
            assert values_of(other) == [b"after"]
    assert moving.values == [b"before"]


@every_writer
def test_without_recovery_a_producer_waits_for_the_old_address(moving: MovingBroker, writer: Writer) -> None:
    with (
        writer(bootstrap_servers=moving.bootstrap, metadata_recovery_strategy="none", **QUICK) as write,
        ThreadPoolExecutor(1) as thread,
    ):
        write(b"before")
        left = moving.move()
        writing = thread.submit(write, b"after")
        with pytest.raises(TimeoutError):
            writing.result(0.5)
        moving.move(left)
        writing.result(60)
    assert moving.values == [b"before", b"after"]


def test_a_consumer_of_a_group_follows_its_broker(moving: MovingBroker) -> None:
    async def main() -> None:
        async with (
            client.Producer(bootstrap_servers=moving.bootstrap, **QUICK) as producer,
            client.Consumer(
                TOPIC, bootstrap_servers=moving.bootstrap, group_id="g", auto_offset_reset="earliest", **QUICK
            ) as consumer,
        ):
            for number in range(4):
                value = b"%d" % number
                await producer.send_and_wait(TOPIC, value)
                assert (await consumer.getone()).value == value
                await consumer.commit()
                await asyncio.to_thread(moving.move)

    asyncio.run(main())


def test_a_blocking_consumer_follows_its_broker(moving: MovingBroker) -> None:
    with (
        blocking_producer(bootstrap_servers=moving.bootstrap, **QUICK) as write,
        blocking.Consumer(
            TOPIC, bootstrap_servers=moving.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50, **QUICK
        ) as consumer,
    ):
        records = iter(consumer)
        for value in (b"before", b"after"):
            write(value)
            assert next(records).value == value
            moving.move()


def test_a_bulk_reader_follows_its_broker(moving: MovingBroker) -> None:
    with BulkReader(moving.bootstrap, fetch_max_wait_ms=20, **QUICK) as reader:
        with bulk_writer(bootstrap_servers=moving.bootstrap, **QUICK) as write:
            write(b"one")
        assert reader.latest(TOPIC) == {0: 1}
        with stranger(moving.leave()):
            moving.arrive()
            assert reader.latest(TOPIC) == {0: 1}
            assert [batch.column("value").to_pylist() for batch in reader.read(TOPIC, 0, 0)] == [[b"one"]]


def cluster_of(*servers: ScriptedBroker, **options: Any) -> Cluster:
    addresses = [server.bootstrap for server in servers]
    return Cluster(ClientOptions(bootstrap_servers=addresses, **{**QUICK, **options}))


def expectations(broker: ScriptedBroker) -> list[tuple[str | None, int]]:
    """The cluster and the node that clients expected."""
    return [(each.cluster_id, each.node_id) for name, _, each in broker.requests if name == "ApiVersions"]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({}, ("fake", 0)),
        ({"metadata_cluster_check_enable": False}, (None, -1)),
        ({"metadata_recovery_strategy": "none"}, (None, -1)),
    ],
)
def test_a_bootstrap_server_may_be_any_broker_and_a_known_broker_may_not(
    option: dict[str, Any], expected: tuple[str | None, int]
) -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker, **option)
            await cluster.start()
            await cluster.connection(0)
            await cluster.close()
            assert expectations(broker) == [(None, -1), expected]

    asyncio.run(main())


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize(("strategy", "bootstraps"), [("rebootstrap", 2), ("none", 1)])
def test_a_metadata_response_may_demand_a_new_start(strategy: Any, bootstraps: int) -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            cluster = cluster_of(broker, metadata_recovery_strategy=strategy)
            await cluster.start()
            kept = await cluster.connection(0)
            good = broker.handlers["Metadata"]
            answers = iter([MetadataResponse(error_code=129)])
            broker.handlers["Metadata"] = lambda request, version: next(answers, None) or good(request, version)
            if strategy == "none":
                with pytest.raises(ConnectionLostError, match="no known broker answers"):
                    await cluster.refresh()
            await cluster.refresh()
            assert kept.is_open == (strategy == "none")
            await cluster.close()
            assert expectations(broker).count((None, -1)) == (bootstraps if strategy == "rebootstrap" else 2)

    asyncio.run(main())


@pytest.mark.usefixtures("virtual_time")
def test_known_brokers_that_do_not_answer_are_given_up_after_the_trigger() -> None:
    async def main() -> None:
        async with ScriptedBroker() as seed, ScriptedBroker() as member:
            seed.handlers["Metadata"] = member.handlers["Metadata"]
            options = {"metadata_recovery_rebootstrap_trigger_ms": 2_000, "request_timeout_ms": 30_000}
            cluster = cluster_of(seed, **options)
            await cluster.start()
            await cluster.refresh()
            member.handlers["Metadata"] = lambda request, version: SILENCE
            before = cluster.now()
            await cluster.refresh()
            assert 2 <= cluster.now() - before < 10
            await cluster.close()

    asyncio.run(main())


@pytest.mark.usefixtures("virtual_time")
def test_a_new_start_forgets_leader_epochs_and_coordinators_of_the_former_cluster() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            broker.topics["t"] = 1
            cluster = cluster_of(broker)
            await cluster.start()
            await cluster.topic("t")
            cluster.metadata.move_leader("t", 0, 0, 7)
            cluster._coordinators[0, "g"] = 0
            await cluster.refresh()
            assert cluster.metadata.topics["t"].partitions[0].leader_epoch == 7
            broker.handlers["ApiVersions"] = lambda request, version: (
                broker.api_versions(request, version)
                if request.cluster_id is None
                else ApiVersionsResponse(error_code=129)
            )
            cluster.disconnect()
            await cluster.refresh()
            assert cluster.metadata.topics["t"].partitions[0].leader_epoch == 0
            assert not cluster._coordinators
            await cluster.close()

    asyncio.run(main())


@pytest.mark.usefixtures("virtual_time")
def test_known_brokers_stay_known_while_no_bootstrap_server_answers() -> None:
    async def main() -> None:
        async with ScriptedBroker() as seed, ScriptedBroker() as member:
            seed.handlers["Metadata"] = member.handlers["Metadata"]
            cluster = cluster_of(seed)
            await cluster.start()
            good = member.handlers["Metadata"]
            member.handlers["Metadata"] = lambda request, version: MetadataResponse(error_code=129)
            await seed.__aexit__()
            with pytest.raises(ConnectionLostError, match="no broker answers"):
                await cluster.refresh()
            member.handlers["Metadata"] = good
            assert list(cluster.metadata.nodes) == [0]
            await cluster.refresh()
            await cluster.close()

    asyncio.run(main())
