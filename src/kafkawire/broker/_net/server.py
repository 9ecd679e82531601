"""The connections of a broker, and the limits that they share.

Rules:
- Memory is counted over all connections (`budget`). When it is used up, slow peers are closed.
- A silent connection is closed after connections.max.idle.ms, unless it waits for a response.
- New connections wait while descriptors are short (`acceptor`).
- Above the rates of new connections the broker accepts later, or closes a connection unread (`_quotas.connections`).
- Modules that only TLS or SASL needs are imported by the first listener or connection that needs them.
- Above max.connections, or max.connections.per.ip, a new connection is closed at once. TLS handshakes count.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkawire.broker._net.acceptor import Acceptor
from kafkawire.broker._net.budget import Budget
from kafkawire.broker._net.connection import SCRATCH, Connection
from kafkawire.broker._net.listeners import EVERYWHERE, CannotListenError
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._quotas.connections import ConnectionRates

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._dispatch.dispatcher import Dispatcher
    from kafkawire.broker._metrics.counters import Metrics
    from kafkawire.broker._net.listeners import Endpoint
    from kafkawire.broker._security.listeners import ListenerSecurity

SWEEP_SECONDS: Final = 5.0
CLOSED_AT_ONCE: Final = 64
TRIES_FOR_A_PORT: Final = 20


class Server:
    """Every connection of a broker, of all listeners."""

    def __init__(self, config: BrokerConfig, dispatcher: Dispatcher, metrics: Metrics) -> None:
        self.loop = asyncio.get_running_loop()
        self.metrics = metrics
        self.scratch = memoryview(bytearray(SCRATCH))
        self.max_request = config.integer("socket.request.max.bytes")
        self.connections: set[Connection] = set()
        self.budget = Budget(self.loop, config.integer("queued.max.request.bytes"))
        self.acceptor = Acceptor(self.loop, ConnectionRates(dispatcher.node.quotas, config))
        self._config = config
        self._dispatcher = dispatcher
        self._by_host: Counter[str] = Counter()
        self._handshakes: Counter[str] = Counter()
        self._overrides: tuple[str, dict[str, int]] = ("", {})
        self._sweeper: asyncio.TimerHandle | None = None

    @property
    def held(self) -> int:
        """Bytes of memory that requests and responses use."""
        return self.budget.held

    async def listen(self, security: ListenerSecurity, place: Endpoint) -> int:
        """Bind a listener, whose connections are accepted from `start` on; returns its port."""
        try:
            port = await self._bind(security, place)
        except OSError as error:
            raise CannotListenError(place, error) from error
        for each in self.acceptor.sockets():
            for option, direction in ((socket.SO_SNDBUF, "send"), (socket.SO_RCVBUF, "receive")):
                size = self._config.integer(f"socket.{direction}.buffer.bytes")
                if size > 0:
                    each.setsockopt(socket.SOL_SOCKET, option, size)
        return port

    async def start(self) -> None:
        """Accept connections."""
        self.acceptor.start()
        self._sweep()

    async def close(self) -> None:
        """Stop accepting, and close every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self.acceptor.close()
        while self.connections:
            self.drop_connections()  # also those that were accepted in between
            await asyncio.sleep(0)
        self.budget.close()

    def drop_connections(self) -> None:
        """Close every connection at once."""
        for connection in list(self.connections):
            connection.abort()

    def admit(self, connection: Connection) -> str:
        """Register a new connection; returns the reason if it must be closed."""
        host = connection.peer.address[0]
        self.connections.add(connection)
        self._by_host[host] += 1
        self.metrics.connections += 1
        self.metrics.connections_total += 1
        return self._above(host, len(self.connections), self._by_host[host])

    def begin_handshake(self, host: str) -> str:
        """Register a TLS handshake; returns the reason if the connection must be closed."""
        self._handshakes[host] += 1
        count = len(self.connections) + self._handshakes.total()
        return self._above(host, count, self._by_host[host] + self._handshakes[host])

    def end_handshake(self, host: str) -> None:
        """Remove a TLS handshake, whether or not it led to a connection."""
        self._handshakes[host] -= 1
        if not self._handshakes[host]:
            del self._handshakes[host]
        self.acceptor.released()

    def _above(self, host: str, count: int, of_host: int) -> str:
        most = self._config.integer("max.connections")
        if count > most:
            return f"{count} connections, max.connections is {most}"
        most = self._most_of(host)
        if of_host > most:
            return f"{of_host} connections from {host}, max.connections.per.ip is {most}"
        return ""

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self.connections.discard(connection)
        self._by_host[connection.peer.address[0]] -= 1
        if not self._by_host[connection.peer.address[0]]:
            del self._by_host[connection.peer.address[0]]
        self.metrics.connections -= 1
        self.budget.forget(connection)
        self.acceptor.released()

    async def _bind(self, security: ListenerSecurity, place: Endpoint) -> int:
        """Bind a socket for each address of a host, all with the same port; the system would choose one for each."""
        host = None if place.host in EVERYWHERE - {"0.0.0.0"} else place.host
        backlog = max(1, self._config.integer("socket.listen.backlog.size"))

        if security.tls is None:
            make = self._connect
        else:
            from kafkawire.broker._net.tls_handshakes import TlsHandshakes

            make = TlsHandshakes(self, security.name, security.protocol.value, security.tls).make

        async def connected(accepted: socket.socket) -> None:
            await make(accepted, lambda: self._connection(security, accepted))

        for _ in range(TRIES_FOR_A_PORT):
            port, *others = await self.acceptor.listen(host, place.port, backlog, connected)
            if not others:
                return port
            for each in (port, *others):
                self.acceptor.forget(each)
            with suppress(OSError):
                await self.acceptor.listen(host, port, backlog, connected)
                return port
        raise OSError(errno.EADDRINUSE, f"no port found that every address of {place.host!r} has free")

    def _connection(self, security: ListenerSecurity, accepted: socket.socket) -> Connection:
        if security.sasl is None:
            return Connection(self, self._dispatcher, security, accepted)
        from kafkawire.broker._net.sasl_connection import SaslConnection

        return SaslConnection(self, self._dispatcher, security, security.sasl, accepted)

    async def _connect(self, accepted: socket.socket, connected: Callable[[], Connection]) -> None:
        try:
            await self.loop.connect_accepted_socket(connected, accepted)
        except OSError as error:
            accepted.close()
            log_event("connection lost", level=logging.WARNING, reason=f"it could not be set up: {error}")

    def _most_of(self, host: str) -> int:
        text = self._config.text("max.connections.per.ip.overrides")
        if self._overrides[0] != text:
            pairs = (each.strip().rpartition(":") for each in text.split(","))
            self._overrides = (text, {name: int(count) for name, _, count in pairs if count.isdigit()})
        most = self._overrides[1].get(host)
        return self._config.integer("max.connections.per.ip") if most is None else most

    def _sweep(self) -> None:
        now = self.loop.time()
        idle = self._config.integer("connections.max.idle.ms") / 1000
        silent = [each for each in self.connections if now - each.active > idle and not each.is_waiting]
        for connection in silent[:CLOSED_AT_ONCE] if idle >= 0 else ():
            connection.refuse("idle", f"silent for {now - connection.active:.0f} s")
        soon = 0.01 if idle >= 0 and len(silent) > CLOSED_AT_ONCE else max(idle / 2, 0.05)
        self._sweeper = self.loop.call_later(min(SWEEP_SECONDS, soon), self._sweep)
