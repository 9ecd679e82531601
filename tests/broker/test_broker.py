"""The broker as a library."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.broker.raw_connection import Peer

import kafkawire.broker
from kafkawire.broker import Broker
from kafkawire.broker._net.listeners import CannotListenError
from kafkawire.broker._ops.process import new_loop
from kafkawire.messages import DescribeClusterRequest, DescribeConfigsRequest, FindCoordinatorRequest, MetadataRequest
from kafkawire.messages.errors import InvalidConfigError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.broker._net.listeners import Endpoint


def has_six() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


HAS_SIX = has_six()


def connects(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), 60):
            return True
    except OSError:
        return False


def test_it_listens_while_it_runs() -> None:
    async def scenario() -> tuple[str, bool]:
        async with Broker(port=0) as broker:
            return broker.bootstrap, await asyncio.to_thread(connects, broker.bootstrap)

    address, connected = asyncio.run(scenario())
    assert connected
    assert not connects(address)


def test_created_topics_exist_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> list[list[str]]:
        found = []
        for _ in range(2):
            async with Broker(tmp_path, port=0) as broker:
                found.append([topic.name for topic in broker.node.topics])
                if not found[-1]:
                    broker.node.create_topic("orders", 1)
        return found

    assert asyncio.run(scenario()) == [[], ["orders"]]


def test_two_brokers_do_not_share_a_directory(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Broker(tmp_path, port=0):
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "kafkawire", "serve", "--port", "0", "--data", str(tmp_path)),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            _, errors = await child.communicate()
            assert child.returncode == 1
            assert b"locked" in errors

    asyncio.run(scenario())


def test_a_port_that_is_taken_leaves_the_directory_free(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Broker(port=0) as first:
            with pytest.raises(CannotListenError, match="another process listens there"):
                await Broker(tmp_path, port=first.port).start()
        async with Broker(tmp_path, port=0):
            pass

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("name", "value"),
    [("num.partitions", "many"), ("group.consumer.assignors", "uniform,sticky"), ("group.consumer.assignors", " ")],
)
def test_bad_settings_are_refused_before_anything_is_opened(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"{name}: (expected|found)"):
        Broker(tmp_path / "data", config={name: value})
    assert not (tmp_path / "data").exists()


def test_an_impossible_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KafkaStorageError, match="opening the log directory"):
        asyncio.run(Broker(tmp_path / "file", port=0).start())


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="Brokre"):
        getattr(kafkawire.broker, "Brokre")  # noqa: B009 - a typo, on purpose


TWO_LISTENERS = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,CONTROLLER://:9093",
    "advertised.listeners": "INSIDE://broker:19092,OUTSIDE://localhost:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


class At(NamedTuple):
    """A broker, as peers find it."""

    bootstrap_servers: str


def test_a_client_gets_the_address_of_the_listener_that_it_connected_to() -> None:
    def told(place: Endpoint) -> tuple[str, int]:
        with Peer(At(str(place))) as peer:
            (known,) = peer.call(MetadataRequest(topics=[])).brokers
            (described,) = peer.call(DescribeClusterRequest()).brokers
            found = peer.call(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0]
        assert {(each.host, each.port) for each in (known, described, found)} == {(known.host, known.port)}
        return known.host, known.port

    async def scenario() -> None:
        async with Broker(config=TWO_LISTENERS) as broker:
            assert broker.bootstrap == "broker:19092"
            inside, outside = broker.listeners.values()
            assert await asyncio.to_thread(told, inside) == ("broker", 19092)
            assert await asyncio.to_thread(told, outside) == ("localhost", outside.port)

    asyncio.run(scenario())


@pytest.mark.skipif(not HAS_SIX, reason="this machine has no IPv6")
def test_every_interface_is_that_of_either_protocol() -> None:
    async def scenario(host: str) -> tuple[str, bool]:
        async with Broker(host=host) as broker:
            return broker.bootstrap, await asyncio.to_thread(connects, broker.bootstrap)

    for host, known in (("::", "127.0.0.1:"), ("::1", "[::1]:"), ("", "127.0.0.1:")):
        bootstrap, connected = asyncio.run(scenario(host))
        assert bootstrap.startswith(known)
        assert connected


@pytest.mark.skipif(not HAS_SIX, reason="this machine has no IPv6")
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, new_loop])
def test_a_port_that_the_system_chose_is_that_of_either_protocol(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def scenario() -> list[bool]:
        async with Broker(host="") as broker:
            return [await asyncio.to_thread(connects, f"{host}:{broker.port}") for host in ("127.0.0.1", "[::1]")]

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(scenario()) == [True, True]


def test_listeners_and_directory_are_described_as_they_are(tmp_path: Path) -> None:
    wanted = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=4, resource_name="1", configuration_keys=["listeners", "log.dirs"]
    )

    async def scenario() -> tuple[dict[str, tuple[str | None, int]], int]:
        async with Broker(tmp_path, host="127.0.0.1", port=0, config={"listeners": "PLAINTEXT://:9092"}) as broker:
            with Peer(At(broker.bootstrap)) as peer:
                response = await asyncio.to_thread(peer.call, DescribeConfigsRequest(resources=[wanted]))
            return {each.name: (each.value, each.config_source) for each in response.results[0].configs}, broker.port

    found, port = asyncio.run(scenario())
    assert found == {"listeners": (f"PLAINTEXT://127.0.0.1:{port}", 4), "log.dirs": (str(tmp_path), 4)}
