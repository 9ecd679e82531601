"""Our broker for clients of other projects, and a network in front of it that fails.

Rules:
- It keeps its port and its data through restarts.
- It logs no error: a log record of level ERROR fails the test that stops the broker, unless it contains words that a
  test expects (`expected_errors`).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.client.proxy import FaultyProxy

from kafkawire.client.options import parse_address
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SETTINGS = {"log.cleaner.backoff.ms": "500"}


class ErrorLog(logging.Handler):
    """Keeps the errors that a broker logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class OurBroker(RunningBroker):
    """The running broker of `kafkawire.testing`, with its data under a directory."""

    def __init__(self, directory: Path, config: Mapping[str, str] | None = None) -> None:
        self.data_dir = directory / "data"
        self._errors = ErrorLog()
        self.expected_errors: set[str] = set()
        super().__init__(self.data_dir, config={**SETTINGS, **(config or {})})

    @property
    def bootstrap(self) -> str:
        """The name that these tests use for every broker."""
        return self.bootstrap_servers

    def start(self) -> None:
        logging.getLogger("kafkawire").addHandler(self._errors)
        super().start()

    def stop(self) -> None:
        super().stop()
        logging.getLogger("kafkawire").removeHandler(self._errors)
        lines = [line for line in self._errors.lines if not any(words in line for words in self.expected_errors)]
        assert not lines, lines

    @contextmanager
    def failing_network(self) -> Iterator[FailingNetwork]:
        """An address in front of the broker whose connections can be cut."""
        network = FailingNetwork(parse_address(self.bootstrap)[1])
        try:
            yield network
        finally:
            network.close()


class CountingProxy(FaultyProxy):
    """Knows how many connections it took."""

    connections = 0

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        super()._accept(reader, writer)


class FailingNetwork:
    """A proxy in a thread of its own whose connections can be cut."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._proxy = CountingProxy(port)
        asyncio.run_coroutine_threadsafe(self._proxy.__aenter__(), self._loop).result(10)
        self.bootstrap = self._proxy.bootstrap

    @property
    def connections(self) -> int:
        """How many there have been."""
        return self._proxy.connections

    @contextmanager
    def cutting(self, every: float) -> Iterator[None]:
        """End all connections every so many seconds."""
        done = threading.Event()

        def cut() -> None:
            while not done.wait(every):
                self._loop.call_soon_threadsafe(self._proxy.cut)

        cutting = threading.Thread(target=cut)
        cutting.start()
        try:
            yield
        finally:
            done.set()
            cutting.join()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._proxy.__aexit__(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
