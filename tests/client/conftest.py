"""A broker in a thread of its own, so that blocking code can be tested against it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from tests.client.topics import Topics
from tests.client.unhurried import unhurried
from tests.ports import lasting_port

from kafkawire.broker.broker import Broker
from kafkawire.client.options import parse_address

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

__all__ = ["unhurried"]
_Result = TypeVar("_Result")


class RunningBroker(Topics):
    """Our broker on a loop in a thread."""

    def __init__(
        self, config: dict[str, str] | None = None, *, data_dir: Path | None = None, port: int | None = 0
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.broker = Broker(data_dir, port=port, config={"auto.create.topics.enable": "false", **(config or {})})
        self.call(self.broker.start())
        super().__init__(self.broker.bootstrap)

    def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def stop(self) -> None:
        self.close()
        self.call(self.broker.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def connections_made(self) -> int:
        return self.broker.metrics.connections_total


class Restartable:
    """Our broker on a disk, stopped and started at the same address."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running = RunningBroker(data_dir=directory, port=lasting_port())
        self.bootstrap = self._running.bootstrap

    def restart(self) -> None:
        self._running.stop()
        self._running = RunningBroker(data_dir=self._directory, port=parse_address(self.bootstrap)[1])

    def stop(self) -> None:
        self._running.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    running = RunningBroker()
    yield running
    running.stop()


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[Restartable]:
    running = Restartable(tmp_path / "data")
    yield running
    running.stop()
