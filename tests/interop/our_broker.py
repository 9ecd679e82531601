"""Our broker as a user runs it: `kafkawire serve` in a process of its own.

Rules:
- It keeps its port and its data through restarts.
- It stops when asked, within its time, and without a complaint of its own: a traceback in its log fails who stops it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.client.proxy import FaultyProxy
from tests.interop.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class OurBroker:
    """`kafkawire serve`, with its data under a directory."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.data_dir = directory / "data"
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._log = directory / "broker.log"
        self._settings = {"group.initial.rebalance.delay.ms": "0", "log.cleaner.backoff.ms": "500"} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """As other brokers of tests call it."""
        return self.bootstrap

    def start(self) -> None:
        """Start, and wait for the line that says where it listens."""
        pairs = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        place = ("--port", str(self.port), "--data", str(self.data_dir))
        command = [sys.executable, "-m", "kafkawire", "serve", *place, *pairs]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert self.bootstrap in line, self._log.read_text()[-2000:]

    def stop(self) -> None:
        """Stop as an operator would; the data stays."""
        if self._process is None:
            return
        self._process.terminate()
        code = self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        log = self._log.read_text()
        assert code == 0, log[-2000:]
        assert "Traceback" not in log, log[-4000:]

    def restart(self) -> None:
        """Stop and start again, at the same address with the same data."""
        self.stop()
        self.start()

    @contextmanager
    def failing_network(self) -> Iterator[FailingNetwork]:
        """An address in front of the broker whose connections can be cut."""
        network = FailingNetwork(self.port)
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
