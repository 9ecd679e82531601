"""A broker whose address changes, and the address of its cluster that stays: a name that leads to where it is now."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.client.proxy import FaultyProxy

from kafkawire.client.options import parse_address
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC = "moved"


class MovingBroker:
    """A broker that keeps its data and moves to another port; `bootstrap` is the address that stays."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._running = RunningBroker(data_dir)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._running.start()
        self._running.create_topic(TOPIC, 1)
        self._thread.start()
        self._proxy = FaultyProxy(self.port)
        self._proxy.is_advertised = False
        asyncio.run_coroutine_threadsafe(self._proxy.__aenter__(), self._loop).result(10)

    def close(self) -> None:
        self._running.stop()
        asyncio.run_coroutine_threadsafe(self._proxy.__aexit__(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def bootstrap(self) -> str:
        return self._proxy.bootstrap

    @property
    def port(self) -> int:
        """The address on which the broker listens now."""
        return parse_address(self._running.bootstrap_servers)[1]

    @property
    def values(self) -> list[bytes | None]:
        """The values in the broker's topic."""
        return values_of(self._running)

    def move(self, port: int | None = None) -> int:
        """Stop, and start at another port; returns the port where the broker was."""
        left = self.leave()
        self.arrive(port)
        return left

    def leave(self) -> int:
        """Stop; returns the port, which is free now."""
        left = self.port
        self._running.stop()
        self._running = RunningBroker(self._data_dir)
        return left

    def arrive(self, port: int | None = None) -> None:
        """Start at a port."""
        self._running = RunningBroker(self._data_dir, port=port)
        self._running.start()
        self._proxy.target_port = self.port


def values_of(broker: RunningBroker) -> list[bytes | None]:
    return [None if record.value is None else bytes(record.value) for record in broker.records(TOPIC)]


@contextmanager
def stranger(port: int) -> Iterator[RunningBroker]:
    """A broker of another cluster, with a topic of the same name, at a port."""
    with RunningBroker(port=port) as running:
        running.create_topic(TOPIC, 1)
        yield running
