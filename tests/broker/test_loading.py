"""The imports of a broker: before it listens, when it is asked, and soon afterwards."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from kafkawire.broker import Broker
from kafkawire.broker._dispatch import registry
from kafkawire.broker._dispatch.registry import Handler, RegistrationError, served_apis
from kafkawire.broker._dispatch.turns import Turns
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafkawire.broker._ops import loading
from kafkawire.broker._ops.loading import Loading, load_everything
from kafkawire.messages import ApiVersionsRequest, api
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kafkawire.broker._node import Node

STARTS = """
import asyncio, socket, sys
from kafkawire.broker import Broker
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.broker._ops import loading
from kafkawire.messages import ApiVersionsRequest, HeartbeatRequest
from kafkawire.wire import encode_request

def ask(port, request, version):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(encode_request(request, version=version, correlation_id=1, client_id="c"))
        return connection.recv(65536)

def rooms():
    names = [name.removeprefix("kafkawire.broker.") for name in sys.modules if name.startswith("kafkawire.broker.")]
    return {"handlers": len([n for n in names if n.startswith("apis.")]),
            "coordinators": len([n for n in names if n.partition(".")[0] in ("groups", "share", "transactions")]),
            "secured": len([n for n in names if n in ("_security.tls", "_security.sasl")])}

async def main():
    loading.DELAY_SECONDS = 3600
    async with Broker(port=0) as broker:
        print(rooms())
        await asyncio.to_thread(ask, broker.port, ApiVersionsRequest(), 0)
        print(rooms())
        await asyncio.to_thread(ask, broker.port, HeartbeatRequest(group_id="g"), 4)
        print(rooms()["handlers"], rooms()["coordinators"] > 10)
    loading.DELAY_SECONDS = 0
    async with Broker(port=0):
        while rooms()["handlers"] < len(served_apis()):
            await asyncio.sleep(0.01)
        print("all of them")

asyncio.run(main())
"""


async def ask(port: int, request: bytes) -> bytes:
    """The bytes that a broker sends first; none if it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read(65536)
    writer.close()
    await writer.wait_closed()
    return answer


def test_a_broker_listens_before_it_has_imported_what_no_request_needs() -> None:
    nothing = {"handlers": 0, "coordinators": 0, "secured": 0}
    lines = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, check=True).stdout
    assert lines.splitlines() == [str(nothing), str({**nothing, "handlers": 1}), "2 True", "all of them"]


def test_everything_is_loaded_in_small_steps() -> None:
    steps = list(load_everything())
    assert len(steps) > len(served_apis())
    assert all(handler.handle for handler in served_apis().values())
    assert {"kafkawire.broker.groups.service", "kafkawire.broker.share.service"} <= sys.modules.keys()


def test_a_failed_import_is_logged_and_stops_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing() -> Iterator[None]:
        yield
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(loading, "load_everything", failing)
    monkeypatch.setattr(loading, "DELAY_SECONDS", 0.0)

    async def scenario() -> bool:
        async with Broker(port=0) as broker:
            while "was not loaded" not in caplog.text:
                await asyncio.sleep(0.001)
            return len(broker.dispatcher.turns) == 0

    assert asyncio.run(scenario())


def test_a_request_whose_handler_cannot_be_loaded_is_refused_and_the_next_one_is_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = 18
    refuses = Handler(api(table), "kafkawire.broker.apis.api_versions")
    files = [OSError(24, "Too many open files")]

    def load(name: str) -> None:
        if files:
            raise files.pop()

    monkeypatch.setattr(registry, "import_module", load)

    async def scenario() -> tuple[bytes, bytes]:
        async with Broker(port=0) as broker:
            monkeypatch.setattr(broker.dispatcher, "_apis", {**served_apis(), table: refuses})
            request = encode_request(ApiVersionsRequest(), version=0, correlation_id=1, client_id="c")
            return await ask(broker.port, request), await ask(broker.port, request)

    first, second = asyncio.run(scenario())
    assert (first, second[4:8]) == (b"", b"\0\0\0\1")
    assert "ApiVersions cannot be loaded: [Errno 24] Too many open files" in caplog.text


def test_a_broker_that_stops_loads_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []

    def endless() -> Iterator[None]:
        while True:
            loaded.append(len(loaded))
            yield

    monkeypatch.setattr(loading, "load_everything", endless)
    monkeypatch.setattr(loading, "DELAY_SECONDS", 0.0)

    async def scenario() -> None:
        works = Loading(Turns())
        works.start()
        await asyncio.sleep(0.02)
        works.stop()
        count = len(loaded)
        await asyncio.sleep(0.02)
        assert 0 < count == len(loaded)

    asyncio.run(scenario())


def test_a_list_of_apis_that_cannot_be_read_is_refused_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: object) -> list[str]:
        raise OSError(24, "Too many open files")

    known = set(served_apis())
    served_apis.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", fails)
        with pytest.raises(RegistrationError, match=r"kafkawire\.broker\.apis has no files that can be listed"):
            served_apis()
    assert set(served_apis()) == known


def test_a_file_that_serves_another_api_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "serves_nothing.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(RegistrationError, match="serves_nothing does not serve Heartbeat"):
        Handler(api("Heartbeat"), "serves_nothing").load()


def test_the_versions_of_the_table_are_fewer_than_those_of_the_schema() -> None:
    for name, versions in registry.FEWER_VERSIONS.items():
        assert versions & api(name).versions == versions != api(name).versions


def test_coordinators_start_with_the_node_only_if_their_topic_exists(open_node: Callable[..., Node]) -> None:
    node = open_node()
    node.start()
    assert node.coordinators == []
    node.internal_topic(CONSUMER_OFFSETS)
    node.internal_topic(TRANSACTION_STATE)
    node.close()

    again = open_node()
    again.start()
    assert again.coordinators == [again.groups, again.transactions]
    again.close()


def test_a_coordinator_that_is_needed_later_loads_its_log(open_node: Callable[..., Node]) -> None:
    groups = import_module("kafkawire.broker.groups.service")
    node = open_node()
    node.start()
    started: list[object] = []

    def start(self: object) -> None:
        started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups.Groups, "start", start)
        assert node.groups is node.groups
        assert started == [node.groups] == node.coordinators
    node.close()
