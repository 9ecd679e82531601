"""The asyncio driver of a cluster: tasks, shared by all callers that wait for the same thing.

Rules:
- There is one connection for each broker and purpose. A broker answers one request at a time, so a request that waits
  (a long poll, a rebalance) must not delay urgent ones.
- A connection that was idle for `connections_max_idle_ms` is closed before the broker closes it in the middle of a
  request.
- One metadata request is in flight at a time; callers that arrive meanwhile share the next one.
"""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client._cluster.connection import Connection
from kafkawire.client._cluster.discovery import GROUP, TRANSACTION, Discovery
from kafkawire.client.errors import ClosedError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterable, Sequence

    from kafkawire.client._cluster.metadata import Node
    from kafkawire.client.options import ClientOptions

__all__ = ["GROUP", "TRANSACTION", "Cluster"]
_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")


class Cluster(Discovery[Connection]):
    """Connections and metadata, shared by all tasks of one client."""

    def __init__(self, options: ClientOptions) -> None:
        super().__init__(options)
        self._connections: dict[tuple[int, str], asyncio.Task[Connection]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._queued: asyncio.Task[None] | None = None
        self._ageing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Find the cluster."""
        self._closed = False
        try:
            await self.refresh()
        except BaseException:
            await self.close()
            raise
        self._ageing = asyncio.create_task(self._refresh_by_age())

    async def close(self) -> None:
        self._closed = True
        opened = list(self._connections.values())
        tasks = [each for each in (self._ageing, self._refreshing, self._queued) if each is not None]
        self.disconnect()
        for task in (*tasks, *opened):
            task.cancel()
        self._connections.clear()
        await asyncio.gather(*tasks, *opened, return_exceptions=True)
        await asyncio.sleep(0)  # transports end on the loop's next turn

    def disconnect(self) -> None:
        for task in self._connections.values():
            if _is_open(task):
                task.result().close()

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn("a Kafka client was not stopped", ResourceWarning, source=self, stacklevel=1)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def until(self, deadline: float) -> asyncio.Timeout:
        return asyncio.timeout_at(deadline)

    def turns(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def gather(self, work: Sequence[Awaitable[None]]) -> None:
        await asyncio.gather(*work)

    async def connect(self, node: Node) -> Connection:
        destination = self.recovery.destination(node, self.metadata.cluster_id)
        return await Connection.open(node.host, node.port, self.options, destination)

    def exchange(
        self,
        connection: Connection,
        message: Message,
        answer: type[_Answer],
        *,
        version: int | None = None,
        timeout: float | None = None,
    ) -> Awaitable[_Answer]:
        return connection.request(message, answer, version=version, timeout=timeout)

    async def connection(self, node_id: int, purpose: str = "") -> Connection:
        task = self._connections.get((node_id, purpose))
        known = self.metadata.nodes.get(node_id)
        if task is None or known is None or self._closed:
            task = self._replacement(task, self.node(node_id))
            self._connections[node_id, purpose] = task
        elif task.done():
            if _is_open(task) and task.result().serves(known):
                return task.result()
            task = self._connections[node_id, purpose] = self._replacement(task, known)
        return await self._shared(task)

    def ready_connection(self, node_id: int) -> Connection | None:
        """The connection to a broker if a request can be sent on it at once."""
        task = self._connections.get((node_id, ""))
        known = self.metadata.nodes.get(node_id)
        if task is None or known is None or self._closed or not _is_open(task):
            return None
        connection = task.result()
        return connection if connection.serves(known) and connection.is_ready else None

    def is_connected(self, node_id: int) -> bool:
        return any(node == node_id and _is_open(task) for (node, _), task in self._connections.items())

    async def refresh(self, topics: Iterable[str] = ()) -> None:
        self.wanted.update(topics)
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = _shared_task(self._refresh())
            return await self._shared(self._refreshing)
        if self._queued is None or self._queued.done():
            self._queued = _shared_task(self._refresh_after(self._refreshing))
        return await self._shared(self._queued)

    async def _shared(self, task: asyncio.Task[_Result]) -> _Result:
        """Wait for a task that others may wait for too; if the client is closed meanwhile, raise ClosedError."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if self._closed and task.cancelled() and waiting is not None and not waiting.cancelling():
                raise ClosedError("the client was closed meanwhile") from None
            raise

    def _replacement(self, before: asyncio.Task[Connection] | None, node: Node) -> asyncio.Task[Connection]:
        if before is None or not _is_open(before):
            return asyncio.create_task(self.open(node))
        old = before.result()
        task = asyncio.create_task(self._replace(old, node))
        task.add_done_callback(lambda _: old.close())  # the task may be cancelled before it begins
        return task

    async def _refresh_after(self, running: asyncio.Task[None]) -> None:
        await asyncio.wait([running])
        self._refreshing = asyncio.current_task()
        await self._refresh()

    async def _refresh_by_age(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._close_idle(loop.time() - self.options.connections_max_idle_ms / 1000)
            due = self.metadata.updated_at + self._oldest() - loop.time()
            if due > 0:
                # a wanted topic may go missing meanwhile
                await asyncio.sleep(min(due, self.options.retry_backoff_max_ms / 1000))
                continue
            try:
                await self.refresh()
            except KafkaWireError:
                await asyncio.sleep(self.options.retry_backoff_max_ms / 1000)

    def _close_idle(self, since: float) -> None:
        for task in self._connections.values():
            if _is_open(task) and not task.result().in_flight and task.result().last_used < since:
                task.result().close()

    def _oldest(self) -> float:
        """The age at which metadata is refreshed; shorter while a wanted topic is missing."""
        age = self.options.metadata_max_age_ms / 1000
        if self.wanted <= self.metadata.topics.keys():
            return age
        return min(age, self.options.retry_backoff_max_ms / 1000)


def _shared_task(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """A task that several callers wait for; asyncio does not report its error as unretrieved if all of them leave."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    return task


def _is_open(task: asyncio.Task[Connection]) -> bool:
    return task.done() and not task.cancelled() and not task.exception() and task.result().is_open
