"""The proxy server: one listener per broker of the cluster.

Rules:
- Clients stay on the proxy. Every broker in a response gets a listener, and the response names that listener.
- Traffic is recorded as it arrived, before any change, with the time of its arrival.
- The observer gets each complete exchange, and an error if a broker cannot be reached. When a broker closes a
  connection, the observer also gets the requests without a response, because one of them may be the reason.
- If one side closes, the proxy closes the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import TYPE_CHECKING, Protocol

from kafkawire import _platforms as platforms
from kafkawire.inspect._proxy.relay import Relay

if TYPE_CHECKING:
    import ssl

    from kafkawire.inspect._proxy.recording import RecordedConnection, Recording
    from kafkawire.inspect._proxy.relay import Exchange

_CHUNK = 1 << 16
_TURNS = 4  # of the loop, until an accepted connection has its task


class Observer(Protocol):
    """Receives the exchanges of a proxy."""

    def exchange(self, client: tuple[str, int], seen: Exchange) -> None:
        """Called for each complete exchange, and for a request that the broker left unanswered."""

    def complain(self, text: str) -> None:
        """Called for an error after which the proxy continues."""


class Proxy:
    """Listeners, one per broker, and the relays of their connections."""

    def __init__(
        self,
        listen: tuple[str, int],
        upstream: tuple[str, int],
        advertised: str | None,
        context: ssl.SSLContext | None,
        recording: Recording | None,
        report: Observer,
    ) -> None:
        self._host = listen[0]
        self._advertised = advertised or ("localhost" if listen[0] in ("0.0.0.0", "::", "127.0.0.1") else listen[0])
        self._context, self._recording, self._report = context, recording, report
        self._ports: dict[tuple[str, int], int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._taken: set[asyncio.StreamWriter] = set()
        self._is_stopped = False
        self._wanted = listen[1]
        self._first = upstream

    @property
    def port(self) -> int:
        """The port of the listener for the first broker."""
        return self._ports[self._first]

    async def start(self) -> None:
        """Listen for the first broker."""
        self.advertise(*self._first, port=self._wanted)
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """Close listeners and connections."""
        self._is_stopped = True
        # A server that is closed while it accepts a connection never closes its socket: stop accepting first.
        for server in self._servers:
            for listener in server.sockets:
                platforms.stop_reading(asyncio.get_running_loop(), listener.fileno())
        await _turn()
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._taken:  # of tasks that were cancelled before their first step
            writer.close()
        await _turn()

    def advertise(self, host: str, port_of_broker: int, *, port: int = 0) -> tuple[str, int]:
        """The proxy's address for a broker; opens a listener for a new broker."""
        broker = (host, port_of_broker)
        if broker not in self._ports:
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            platforms.claim_address(listener)
            listener.bind((self._host, port))
            listener.listen(128)
            listener.setblocking(False)
            self._ports[broker] = listener.getsockname()[1]
            self._keep(self._listen(listener, broker))
        return self._advertised, self._ports[broker]

    async def _listen(self, listener: socket.socket, broker: tuple[str, int]) -> None:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._taken.add(writer)
            if self._is_stopped:
                writer.close()
            else:
                self._keep(self._serve(reader, writer, broker))

        self._servers.append(await asyncio.start_server(accept, sock=listener))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: tuple[str, int]) -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await self._relay(reader, writer, broker)
        finally:
            await _close(writer)
            self._taken.discard(writer)

    def _keep(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]  # a coroutine
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: tuple[str, int]) -> None:
        client: tuple[str, int] = writer.get_extra_info("peername")[:2]
        name = broker[0] if self._context is not None else None
        try:
            up_reader, up_writer = await asyncio.open_connection(*broker, ssl=self._context, server_hostname=name)
        except OSError as refusal:
            self._report.complain(f"{broker[0]}:{broker[1]}: {refusal}")
            return
        recorded = None
        if self._recording is not None:
            recorded = self._recording.connection(client, up_writer.get_extra_info("peername")[:2])
            recorded.open(time.time_ns())
        relay = Relay(self.advertise)
        up = asyncio.ensure_future(self._pump(reader, up_writer, relay, recorded, client, from_client=True))
        down = asyncio.ensure_future(self._pump(up_reader, writer, relay, recorded, client, from_client=False))
        try:
            done, _ = await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if recorded is not None:
                recorded.close(time.time_ns(), by_client=up in done)
            if up not in done:
                for each in relay.closed_by_broker(time.time_ns()):
                    self._report.exchange(client, each)
        finally:
            for task in (up, down):
                task.cancel()
            up_writer.close()  # before the first await, because a proxy that stops interrupts that
            await asyncio.gather(up, down, return_exceptions=True)
            await _close(up_writer)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        relay: Relay,
        recorded: RecordedConnection | None,
        client: tuple[str, int],
        *,
        from_client: bool,
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(_CHUNK):
                now = time.time_ns()
                if recorded is not None:
                    recorded.sent(chunk, now, from_client=from_client)
                if from_client:
                    passed, seen = chunk, relay.from_client(chunk, now)
                else:
                    passed, seen = relay.from_broker(chunk, now)
                writer.write(passed)
                for each in seen:
                    self._report.exchange(client, each)
                await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    # The connection ends here, so a cancellation changes nothing.
    with contextlib.suppress(OSError, asyncio.CancelledError):
        await writer.wait_closed()


async def _turn() -> None:
    """Let the loop run the callbacks that are ready."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)
