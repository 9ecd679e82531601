"""Listening, and the limits that all connections share.

Rules:
- Memory for requests is counted over all connections. When it is taken, frames that need more wait in turn, and one
  of them may go on all the same, so that something always ends. A quarter more is there for ordinary frames alone, so
  that a few huge ones do not keep everyone waiting.
- While frames wait for memory, a connection that holds some and sends nothing for ten seconds is closed.
- A silent connection is closed after connections.max.idle.ms, unless it waits for an answer.
- Above max.connections, or max.connections.per.ip, a new connection is closed as it comes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkawire import platforms
from kafkawire.broker.connection import Connection
from kafkawire.broker.inbox import SCRATCH
from kafkawire.broker.listeners import EVERYWHERE, CannotListenError

if TYPE_CHECKING:
    from kafkawire.broker.configs import BrokerConfig
    from kafkawire.broker.dispatch import Dispatcher
    from kafkawire.broker.listeners import Endpoint
    from kafkawire.broker.metrics import Metrics

_log = logging.getLogger("kafkawire.broker")
STALL_SECONDS: Final = 10.0
ORDINARY: Final = 2 * 1024 * 1024
SWEEP_SECONDS: Final = 5.0
UNLIMITED: Final = 2**63
TRIES_FOR_A_PORT: Final = 20
TURNS_TO_ARRIVE: Final = 3
"""How many turns of the loop lie between taking a connection and knowing of it: accept, its task, its protocol."""


class Server:
    """Every connection of a broker, whichever listener it came by."""

    def __init__(self, config: BrokerConfig, dispatcher: Dispatcher, metrics: Metrics) -> None:
        self.loop = asyncio.get_running_loop()
        self.metrics = metrics
        self.scratch = memoryview(bytearray(SCRATCH))
        self.max_request = config.integer("socket.request.max.bytes")
        self.connections: set[Connection] = set()
        self.held = 0
        self._config = config
        self._dispatcher = dispatcher
        self._limit = config.integer("queued.max.request.bytes")
        if self._limit < 0:
            self._limit = UNLIMITED
        self._waiting: deque[Connection] = deque()
        self._favoured: Connection | None = None
        self._by_host: Counter[str] = Counter()
        self._listening: list[asyncio.Server] = []
        self._sweeper: asyncio.TimerHandle | None = None

    async def listen(self, name: str, place: Endpoint) -> int:
        """Take a place for a listener, whose connections are accepted from `start` on; its port."""
        try:
            listening = await self._bind(name, place)
        except OSError as error:
            raise CannotListenError(place, error) from error
        self._listening.append(listening)
        for each in listening.sockets:
            for option, direction in ((socket.SO_SNDBUF, "send"), (socket.SO_RCVBUF, "receive")):
                size = self._config.integer(f"socket.{direction}.buffer.bytes")
                if size > 0:
                    each.setsockopt(socket.SOL_SOCKET, option, size)
        return _ports(listening)[0]

    async def start(self) -> None:
        """Accept connections."""
        for listening in self._listening:
            await listening.start_serving()
        self._sweep()

    async def close(self) -> None:
        """Stop accepting, and close every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        # asyncio loses a connection that it has taken when its server is closed before the connection is made
        for listening in self._listening:
            for each in listening.sockets:
                platforms.stop_reading(self.loop, each.fileno())
        for _ in range(TURNS_TO_ARRIVE):
            await asyncio.sleep(0)
        for listening in self._listening:
            listening.close()
        self.drop_connections()
        while self.connections:
            await asyncio.sleep(0)
        for listening in self._listening:
            await listening.wait_closed()

    def drop_connections(self) -> None:
        """Close every connection at once."""
        for connection in list(self.connections):
            connection.abort()

    def admit(self, connection: Connection) -> str:
        """Take note of a new connection; the reason if it must not stay."""
        host = connection.address[0]
        self.connections.add(connection)
        self._by_host[host] += 1
        self.metrics.connections += 1
        self.metrics.connections_total += 1
        most = self._config.integer("max.connections")
        if len(self.connections) > most:
            return f"{len(self.connections)} connections, max.connections is {most}"
        most = self._most_of(host)
        if self._by_host[host] > most:
            return f"{self._by_host[host]} connections from {host}, max.connections.per.ip is {most}"
        return ""

    def forget(self, connection: Connection) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        self._by_host[connection.address[0]] -= 1
        if not self._by_host[connection.address[0]]:
            del self._by_host[connection.address[0]]
        self.metrics.connections -= 1
        if connection in self._waiting:
            self._waiting.remove(connection)
        freed, connection.accounted = connection.accounted, 0
        self.account(-freed, connection)

    def reserve(self, connection: Connection, more: int, frame: int) -> bool:
        """Whether a frame of some size may take more memory now; if not, its connection is told when it may."""
        limit = self._limit if frame > ORDINARY else self._limit * 5 // 4
        if self._counted + more <= limit or self._favoured is connection:
            return True
        if self._favoured is None:
            self._favoured = connection
            return True
        self._waiting.append(connection)
        return False

    def account(self, change: int, connection: Connection) -> None:
        """Count memory taken or given back."""
        self.held += change
        if connection is self._favoured and not connection.accounted:
            self._favoured = None
        while change < 0 and self._waiting and (self._counted < self._limit or self._favoured is None):
            waiting = self._waiting.popleft()
            if self._counted >= self._limit:
                self._favoured = waiting
            waiting.grant()

    async def _bind(self, name: str, place: Endpoint) -> asyncio.Server:
        """A socket for each address of a place, all with one port: asyncio lets the system choose one for each."""
        host = None if place.host in EVERYWHERE - {"0.0.0.0"} else place.host
        backlog = max(1, self._config.integer("socket.listen.backlog.size"))

        async def bind(port: int) -> asyncio.Server:
            return await self.loop.create_server(
                lambda: Connection(self, self._dispatcher, name), host, port, backlog=backlog, start_serving=False
            )

        for _ in range(TRIES_FOR_A_PORT):
            listening = await bind(place.port)
            port, *others = _ports(listening)
            if not others:
                return listening
            listening.close()
            with suppress(OSError):
                return await bind(port)
        raise OSError(errno.EADDRINUSE, f"no port found that every address of {place.host!r} has free")

    @property
    def _counted(self) -> int:
        """The memory that limits hold for: all but that of the frame which goes on all the same."""
        return self.held if self._favoured is None else self.held - self._favoured.accounted

    def _most_of(self, host: str) -> int:
        for override in self._config.text("max.connections.per.ip.overrides").split(","):
            name, _, count = override.strip().rpartition(":")
            if name == host and count.isdigit():
                return int(count)
        return self._config.integer("max.connections.per.ip")

    def _sweep(self) -> None:
        now = self.loop.time()
        idle = self._config.integer("connections.max.idle.ms") / 1000
        for connection in list(self.connections):
            silent = now - connection.active
            if self._waiting and silent > STALL_SECONDS and connection.is_stalled:
                connection.refuse("stalled", f"no bytes for {silent:.0f} s of a frame others need the memory of")
            elif idle >= 0 and silent > idle and not connection.is_waiting:
                connection.refuse("idle", f"silent for {silent:.0f} s")
        self._sweeper = self.loop.call_later(min(SWEEP_SECONDS, max(idle / 2, 0.05)), self._sweep)


def _ports(listening: asyncio.Server) -> list[int]:
    """The ports that were taken, each once."""
    return list(dict.fromkeys(int(each.getsockname()[1]) for each in listening.sockets))
