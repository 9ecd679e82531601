"""The socket driver of a cluster: metadata, and one connection for each broker and purpose, without an event loop.

Rules:
- Every wait blocks the caller. Within `until` no wait lasts past the deadline, whatever the timeouts of connections and
  requests. A deadline belongs to the thread that set it.
- A connection that failed is closed and replaced by the next request.
"""

from __future__ import annotations

import math
import time
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.client._cluster.blocking_connection import SocketConnection, run
from kafkawire.client._cluster.discovery import Discovery
from kafkawire.client.errors import ClosedError
from kafkawire.messages import Message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence

    from kafkawire.client._cluster.metadata import Node
    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_SHORTEST: Final = 0.001
_deadline: ContextVar[float] = ContextVar("deadline of a blocking call", default=math.inf)


class SocketCluster(Discovery[SocketConnection]):
    """Metadata and connections over blocking sockets; callers use it from one thread at a time."""

    def __init__(self, options: ClientOptions) -> None:
        super().__init__(options)
        self._closed = False
        self._connections: dict[tuple[int, str], SocketConnection] = {}

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self.disconnect()

    def disconnect(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError("it is closed; make another")

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, max(0.0, _deadline.get() - time.monotonic())))

    @contextmanager
    def limit(self, deadline: float) -> Iterator[None]:
        """As `until`, for code that is not a coroutine."""
        token = _deadline.set(min(deadline, _deadline.get()))
        try:
            yield
        finally:
            _deadline.reset(token)

    @asynccontextmanager
    async def until(self, deadline: float) -> AsyncIterator[None]:
        with self.limit(deadline):
            yield

    def turns(self) -> nullcontext[None]:
        return nullcontext()

    async def gather(self, work: Sequence[Awaitable[None]]) -> None:
        for each in work:
            await each

    async def connect(self, node: Node) -> SocketConnection:
        destination = self.recovery.destination(node, self.metadata.cluster_id)
        return SocketConnection(node.host, node.port, self.options, destination, seconds=self._seconds_left())

    async def exchange(
        self,
        connection: SocketConnection,
        message: Message,
        answer: type[_Answer],
        *,
        version: int | None = None,
        timeout: float | None = None,
    ) -> _Answer:
        connection.send(message, version=version)
        return self.receive(connection, answer, timeout=timeout)

    def receive(self, connection: SocketConnection, answer: type[_Answer], *, timeout: float | None = None) -> _Answer:
        """The answer to the first request of a connection that has none yet, within the deadline."""
        left = self._seconds_left()
        return connection.receive(answer, seconds=left if timeout is None else min(timeout, left or timeout))

    async def connection(self, node_id: int, purpose: str = "") -> SocketConnection:
        node = self.node(node_id)
        known = self._connections.get((node_id, purpose))
        if known is not None and known.serves(node):
            return known
        made = await (self.open(node) if known is None else self._replace(known, node))
        self._connections[node_id, purpose] = made
        return made

    def is_connected(self, node_id: int) -> bool:
        return any(node == node_id and each.is_open for (node, _), each in self._connections.items())

    async def refresh(self, topics: Iterable[str] = ()) -> None:
        self.wanted.update(topics)
        await self._refresh()

    def _seconds_left(self) -> float | None:
        deadline = _deadline.get()
        return None if deadline == math.inf else max(_SHORTEST, deadline - time.monotonic())


__all__ = ["SocketCluster", "run"]
