"""The embedded broker of the demo, behind a proxy that records the traffic.

Rules:
- Clients of the shop use the proxy. Clients that must not be recorded use the address of the broker.
- The recording is complete when the `with` block ends.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING, Self

from kafkawire.broker import new_loop
from kafkawire.inspect import Proxy, Recording
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from kafkawire.inspect import ProxyExchange

_SETTINGS = {"auto.create.topics.enable": "false", "log.segment.bytes": str(1 << 20)}


class Stage:
    """The broker and the proxy, each in its own thread."""

    def __init__(self, data: Path, capture: Path) -> None:
        self.broker = RunningBroker(data, config=_SETTINGS)
        self.exchanges = 0
        self._capture = capture
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.broker)
            recording = Recording(stack.enter_context(self._capture.open("wb")))
            host, _, port = self.broker.bootstrap_servers.rpartition(":")
            proxy = Proxy(("127.0.0.1", 0), (host, int(port)), "127.0.0.1", None, recording, self)
            started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
            thread = Thread(target=_run, args=(proxy, started), name="kafkawire proxy", daemon=True)
            thread.start()
            self._port, loop, stopping = started.result()
            stack.callback(thread.join)
            stack.callback(loop.call_soon_threadsafe, stopping.set)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        """The address of the proxy, for the clients of the shop."""
        return f"127.0.0.1:{self._port}"

    def exchange(self, client: tuple[str, int], seen: ProxyExchange) -> None:
        """Count the exchanges."""
        self.exchanges += 1

    def complain(self, text: str) -> None:
        """Ignore an unreachable broker, because the clients report it."""


def _run(proxy: Proxy, started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    async def serve() -> None:
        stopping = asyncio.Event()
        try:
            await proxy.start()
            started.set_result((proxy.port, asyncio.get_running_loop(), stopping))
        except BaseException as error:
            started.set_exception(error)
            return
        await stopping.wait()
        await proxy.stop()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve())
