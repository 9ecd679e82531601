"""A cluster as a client sees it: connections to its brokers, what is known of it, and who coordinates what.

Rules:
- There is one connection a broker and purpose. A broker answers one request at a time, so what waits (a long poll, a
  rebalance) must not stand in the way of what is urgent.
- A connection that nobody used for `connections_max_idle_ms` is closed, before the broker does it in the middle of a
  request.
- Where a broker lets us in for a while only, another connection takes over before that is over: opened when what was
  asked on the old one is answered, so that no request overtakes another.
- A broker that could not be reached is left alone for a while, longer each time, with jitter.
- Metadata is asked of brokers that are known; when none of them answers, or the cluster says so, of the bootstrap
  servers again (KIP-899), which may be another cluster by now.
- One metadata request is on its way at a time; those who come meanwhile share the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import warnings
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.client.backoff import retrying, wait_before
from kafkawire.client.connection import Connection
from kafkawire.client.errors import ClosedError, ConnectionLostError, is_retriable
from kafkawire.client.metadata import Metadata, Node, PartitionInfo, TopicInfo
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    api,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")
GROUP: Final = 0
TRANSACTION: Final = 1
_REBOOTSTRAP: Final = ErrorCode.REBOOTSTRAP_REQUIRED


class Cluster:
    """Connections and metadata, shared by whatever one client does."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.metadata = Metadata()
        self.wanted: set[str] = set()
        self.wants_all = False
        self.allow_creation = True
        self.on_update: list[Callable[[], None]] = []
        self._connections: dict[tuple[int, str], asyncio.Task[Connection]] = {}
        self._failures: dict[int, tuple[int, float]] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._queued: asyncio.Task[None] | None = None
        self._ageing: asyncio.Task[None] | None = None
        self._closed = True

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
        for each in opened:
            if _is_open(each):
                each.result().close()
        for task in (*tasks, *opened):
            task.cancel()
        self._connections.clear()
        await asyncio.gather(*tasks, *opened, return_exceptions=True)
        await asyncio.sleep(0)  # transports end on the loop's next turn

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn("a Kafka client was not stopped", ResourceWarning, source=self, stacklevel=1)

    async def connection(self, node_id: int, purpose: str = "") -> Connection:
        """The connection to a broker, made if need be; the first attempt after failures waits its time."""
        if self._closed:
            raise ClosedError("the client is not started, or closed")
        node = self.metadata.nodes.get(node_id)
        if node is None:
            raise ConnectionLostError(f"broker {node_id} is not in the cluster's metadata any more")
        task = self._connections.get((node_id, purpose))
        if task is None or (task.done() and not _is_good(task, node)):
            if task is not None and _is_open(task):
                task = self._replace(task.result(), node)
            else:
                task = asyncio.create_task(self._open(node))
            self._connections[node_id, purpose] = task
        return await self._shared(task)

    async def request(
        self, node_id: int, message: Message, answer: type[_Answer], *, purpose: str = "", timeout: float | None = None
    ) -> _Answer:
        """Ask one broker once."""
        connection = await self.connection(node_id, purpose)
        return await connection.request(message, answer, timeout=timeout)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any."""
        key = type(message).__schema__.key
        if key is None or type(message).__schema__.kind != "request":
            raise TypeError(f"{type(message).__name__} is not a request")
        chosen = self.any_node() if node_id is None else node_id
        connection = await self.connection(chosen)
        return await connection.request(message, api(key).response, version=version)

    def any_node(self) -> int:
        """A broker, rather one that we are connected to."""
        connected = [node for (node, _), task in self._connections.items() if task.done() and _is_open(task)]
        candidates = [node for node in connected if node in self.metadata.nodes] or list(self.metadata.nodes)
        if not candidates:
            raise ConnectionLostError("no broker is known")
        return random.choice(candidates)

    async def retry(
        self, what: str, attempt: Callable[[], Awaitable[_Result]], seconds: float | None = None
    ) -> _Result:
        """Try until it works or time is up, with fresh metadata where the error calls for it."""
        options = self.options
        return await retrying(
            what,
            attempt,
            seconds=options.default_api_timeout_ms / 1000 if seconds is None else seconds,
            first=options.retry_backoff_ms / 1000,
            most=options.retry_backoff_max_ms / 1000,
            recover=self._recover,
        )

    async def refresh(self, topics: Iterable[str] = ()) -> None:
        """Ask for metadata anew, of these topics too from now on."""
        self.wanted.update(topics)
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = _shared_task(self._refresh())
            return await self._shared(self._refreshing)
        if self._queued is None or self._queued.done():
            self._queued = _shared_task(self._refresh_after(self._refreshing))
        return await self._shared(self._queued)

    async def topic(self, name: str, *, seconds: float | None = None) -> TopicInfo:
        """A topic that exists and has leaders, waited for until time is up."""
        known = self.metadata.topics.get(name)
        if known is not None and known.partitions:
            return known

        async def look() -> TopicInfo:
            await self.refresh([name])
            found = self.metadata.topics.get(name)
            if found is None or not found.partitions:
                code = self.metadata.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                raise error_for(code, f"topic {name!r}")
            return found

        try:
            return await self.retry(f"topic {name!r}", look, seconds)
        except KafkaWireError:
            self.wanted.discard(name)
            raise

    async def leader(self, topic: str, partition: int) -> tuple[Node, PartitionInfo]:
        """The leader of a partition as it is known now, one refresh tried."""
        for _ in range(2):
            info, node = self.metadata.partition(topic, partition), self.metadata.leader(topic, partition)
            if info is not None and node is not None:
                return node, info
            await self.refresh([topic])
        if info is None:
            code = self.metadata.errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise error_for(code, f"{topic}-{partition}")
        raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic}-{partition}")

    async def coordinator(self, kind: int, key: str) -> int:
        """The broker that coordinates a group or a transactional id."""
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known
        node_id = self.any_node()
        connection = await self.connection(node_id)
        version = connection.negotiated.version("FindCoordinator")
        if version >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key_type=kind, key=key)
        response = await connection.request(request, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            raise error_for(found.error_code, found.error_message or f"coordinator of {key!r}")
        if found.node_id not in self.metadata.nodes:
            self.metadata.nodes[found.node_id] = Node(found.node_id, found.host, found.port)
        self._coordinators[kind, key] = found.node_id
        return found.node_id

    def forget_coordinator(self, kind: int, key: str) -> None:
        """It moved, or is gone: ask anew next time."""
        self._coordinators.pop((kind, key), None)

    async def _shared(self, task: asyncio.Task[_Result]) -> _Result:
        """Wait for what others may wait for too; who is closed meanwhile is told so, not cancelled."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if self._closed and task.cancelled() and waiting is not None and not waiting.cancelling():
                raise ClosedError("the client was closed meanwhile") from None
            raise

    async def _recover(self, error: KafkaWireError) -> None:
        if not isinstance(error, KafkaError) or error.refresh_metadata:
            with contextlib.suppress(KafkaWireError):
                await self.refresh()

    def _replace(self, old: Connection, node: Node) -> asyncio.Task[Connection]:
        """Another connection instead of one that is stale, or leads to where the broker is no more."""

        async def take_over() -> Connection:
            if old.is_stale:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.options.request_timeout_ms / 1000):
                        await old.drained()
            old.close()
            return await self._open(node)

        task = asyncio.create_task(take_over())
        task.add_done_callback(lambda _: old.close())  # also where we are closed before it begins, or while it waits
        return task

    async def _open(self, node: Node, *, is_bootstrap: bool = False) -> Connection:
        failures, not_before = self._failures.get(node.id, (0, 0.0))
        loop = asyncio.get_running_loop()
        if not is_bootstrap:
            await asyncio.sleep(max(0.0, not_before - loop.time()))
        try:
            connection = await Connection.open(node.host, node.port, self.options)
        except KafkaWireError:
            options = self.options
            pause = wait_before(
                failures + 1, options.reconnect_backoff_ms / 1000, options.reconnect_backoff_max_ms / 1000
            )
            self._failures[node.id] = (failures + 1, loop.time() + pause)
            raise
        self._failures.pop(node.id, None)
        return connection

    async def _refresh_after(self, running: asyncio.Task[None]) -> None:
        await asyncio.wait([running])
        self._refreshing = asyncio.current_task()
        await self._refresh()

    async def _refresh(self) -> None:
        if self._closed:
            raise ClosedError("the client is not started, or closed")
        attempts: list[str] = []
        known = sorted(self.metadata.nodes, key=lambda node: (not self._is_connected(node), random.random()))
        for node_id in known:
            try:
                connection = await self.connection(node_id)
                return await self._ask(connection)
            except KafkaWireError as error:
                if isinstance(error, KafkaError) and error.code == _REBOOTSTRAP:
                    break
                if not is_retriable(error):
                    raise
                attempts.append(str(error))
        servers = self.options.servers
        random.shuffle(servers)
        for number, (host, port) in enumerate(servers):
            try:
                connection = await self._open(Node(-1 - number, host, port), is_bootstrap=True)
                try:
                    return await self._ask(connection)
                finally:
                    connection.close()
            except KafkaWireError as error:
                if not is_retriable(error):
                    raise
                attempts.append(str(error))
        raise ConnectionLostError("no broker answers: " + "; ".join(attempts or ["no bootstrap server is given"]))

    async def _ask(self, connection: Connection) -> None:
        version = connection.negotiated.version("Metadata")
        everything = self.wants_all or (version == 0 and not self.wanted)
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(self.wanted)]
        request = MetadataRequest(
            topics=(None if version else []) if everything else topics,
            allow_auto_topic_creation=self.allow_creation or version < 4,
        )
        response = await connection.request(request, MetadataResponse)
        if response.error_code:
            raise error_for(response.error_code, f"{connection.place}: Metadata")
        now = asyncio.get_running_loop().time()
        self.metadata.update(response, is_complete=everything, now=now)
        for told in self.on_update:
            told()

    async def _refresh_by_age(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._close_idle(loop.time() - self.options.connections_max_idle_ms / 1000)
            due = self.metadata.updated_at + self._oldest() - loop.time()
            if due > 0:
                # a topic may turn out to be missing meanwhile
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
        """How old metadata may become: not very, while a topic that is wanted is missing."""
        age = self.options.metadata_max_age_ms / 1000
        if self.wanted <= self.metadata.topics.keys():
            return age
        return min(age, self.options.retry_backoff_max_ms / 1000)

    def _is_connected(self, node_id: int) -> bool:
        return any(node == node_id and _is_open(task) for (node, _), task in self._connections.items())


def _shared_task(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """A task that several callers wait for; its error is not reported as lost if all of them have left."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    return task


def _is_open(task: asyncio.Task[Connection]) -> bool:
    return task.done() and not task.cancelled() and not task.exception() and task.result().is_open


def _is_good(task: asyncio.Task[Connection], node: Node) -> bool:
    if not _is_open(task):
        return False
    connection = task.result()
    return connection.place == f"{node.host}:{node.port}" and not connection.is_stale
