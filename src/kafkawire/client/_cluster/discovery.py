"""Finding brokers, leaders and coordinators, with retries; written once for asyncio and for blocking sockets.

Every coroutine here runs on two drivers: asyncio suspends it, the socket driver blocks in it. A driver is a subclass
that opens connections, keeps them, and waits.

Rules:
- Waits double from the first to the longest, each changed at random by up to a fifth. So clients that failed together
  do not retry together. They apply to requests, and to brokers that could not be reached.
- If the broker limits the lifetime of a session, a replacement connection is opened before the session expires. It is
  opened only when the old connection has no request in flight, so that no request overtakes another.
- Metadata requests go to known brokers, and to the bootstrap servers when `recovery` says so. A broker that demands a
  new start counts as one that cannot be reached.
- Only errors that may pass are retried, never past the deadline. Metadata is refreshed first if the error calls for it.
"""

from __future__ import annotations

import contextlib
import math
import random
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kafkawire.client._cluster.connection import BaseConnection
from kafkawire.client._cluster.features import ClusterFeatures
from kafkawire.client._cluster.metadata import Metadata, Node, PartitionInfo, TopicInfo
from kafkawire.client._cluster.recovery import Recovery
from kafkawire.client.errors import ClosedError, ConnectionLostError, RequestTimeoutError, is_retriable
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
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")
_Connection = TypeVar("_Connection", bound=BaseConnection)
GROUP: Final = 0
TRANSACTION: Final = 1
_JITTER: Final = 0.2


class Discovery(Generic[_Connection]):
    """The metadata of a cluster, and the requests that keep it up to date."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.metadata = Metadata()
        self.recovery = Recovery(options)
        self.features = ClusterFeatures(options.metadata_max_age_ms / 1000)
        self.wanted: set[str] = set()
        self.wants_all = False
        self.allow_creation = True
        self.on_update: list[Callable[[], None]] = []
        self._failures: dict[int, tuple[int, float]] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._closed = True

    @abstractmethod
    def now(self) -> float:
        """The driver's clock, in seconds."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None: ...

    @abstractmethod
    def until(self, deadline: float) -> AbstractAsyncContextManager[object]:
        """Within it no wait lasts past the deadline: either TimeoutError or the error of the wait ends it."""

    @abstractmethod
    def turns(self) -> AbstractAsyncContextManager[object]:
        """A lock: within it, callers that the driver runs at the same time take turns."""

    @abstractmethod
    async def gather(self, work: Sequence[Awaitable[None]]) -> None:
        """Run all of these, at the same time if the driver can."""

    @abstractmethod
    async def connect(self, node: Node) -> _Connection:
        """A new connection, with its handshake done."""

    @abstractmethod
    async def connection(self, node_id: int, purpose: str = "") -> _Connection:
        """The connection to a broker for one purpose, opened or replaced if necessary."""

    @abstractmethod
    async def refresh(self, topics: Iterable[str] = ()) -> None:
        """Refresh metadata, of these topics too from now on."""

    @abstractmethod
    def exchange(
        self,
        connection: _Connection,
        message: Message,
        answer: type[_Answer],
        *,
        version: int | None = None,
        timeout: float | None = None,
    ) -> Awaitable[_Answer]:
        """Send a request and wait for its answer."""

    @abstractmethod
    def disconnect(self) -> None:
        """Close all connections; requests that wait for an answer fail, and are retried on new connections."""

    @abstractmethod
    def is_connected(self, node_id: int) -> bool:
        """Whether there is an open connection to a broker."""

    async def request(
        self, node_id: int, message: Message, answer: type[_Answer], *, purpose: str = "", timeout: float | None = None
    ) -> _Answer:
        """Send one request to one broker, without retries."""
        connection = await self.connection(node_id, purpose)
        return await self.exchange(connection, message, answer, timeout=timeout)

    async def raw(self, message: Message, *, node_id: int | None = None, version: int | None = None) -> Message:
        """Send any message of any version, to a chosen broker or to any."""
        key = type(message).__schema__.key
        if key is None or type(message).__schema__.kind != "request":
            raise TypeError(f"{type(message).__name__} is not a request")
        chosen = self.any_node() if node_id is None else node_id
        connection = await self.connection(chosen)
        return await self.exchange(connection, message, api(key).response, version=version)

    def any_node(self) -> int:
        """A broker, if possible one with an open connection."""
        known = list(self.metadata.nodes)
        if not known:
            raise ConnectionLostError("no broker is known")
        return random.choice([node for node in known if self.is_connected(node)] or known)

    async def retry(
        self,
        what: str,
        attempt: Callable[[], Awaitable[_Result]],
        seconds: float | None = None,
        *,
        shortened: Callable[[KafkaWireError, float], float] | None = None,
    ) -> _Result:
        """The result of the first attempt that succeeds, within `default_api_timeout_ms` unless given.

        `shortened` replaces the seconds before the next attempt, after an error that is known to pass quickly.
        """
        seconds = self.options.default_api_timeout_ms / 1000 if seconds is None else seconds
        deadline, tries = self.now() + seconds, 0
        last: KafkaWireError | None = None
        try:
            async with self.until(deadline):
                while True:
                    try:
                        return await attempt()
                    except KafkaWireError as error:
                        if not is_retriable(error):
                            raise
                        last = error
                    tries += 1
                    pause = self.pause_before(tries)
                    if shortened is not None:
                        pause = shortened(last, pause)
                    if self.now() + pause >= deadline:
                        break
                    await self.sleep(pause)
                    await self.recover(last)
        except TimeoutError as error:
            if isinstance(error, KafkaWireError):
                raise
        reason = self._silence() if last is None else last
        raise RequestTimeoutError(f"{what}: given up after {seconds:g} s and {max(1, tries)} tries: {reason}") from last

    def _silence(self) -> str:
        """The reason if an attempt ended without an error; names the servers if no broker is known yet."""
        servers = ", ".join(f"{host}:{port}" for host, port in self.options.servers)
        return "no answer" if self.metadata.nodes else f"no broker answers: {servers}"

    def pause_before(self, attempt: int) -> float:
        """Seconds to wait before an attempt; the first retry is 1."""
        return wait_before(attempt, self.options.retry_backoff_ms / 1000, self.options.retry_backoff_max_ms / 1000)

    async def recover(self, error: BaseException) -> None:
        """Refresh metadata if an error says that it is out of date; a refresh that fails is ignored."""
        if calls_for_refresh(error):
            with contextlib.suppress(KafkaWireError):
                await self.refresh()

    async def topic(self, name: str, *, seconds: float | None = None, refresh: bool = False) -> TopicInfo:
        """A topic that exists and has partitions, waited for until the time is over; with `refresh` asked for again."""
        known = self.metadata.topics.get(name)
        if known is not None and known.partitions and not refresh:
            return known

        async def look() -> TopicInfo:
            await self.refresh([name])
            found = self.metadata.topics.get(name)
            if found is None or not found.partitions:
                raise self.missing(name)
            return found

        try:
            return await self.retry(f"topic {name!r}", look, seconds)
        except KafkaWireError:
            self.wanted.discard(name)
            raise

    def missing(self, name: str) -> KafkaError:
        """The error for a topic that metadata does not have."""
        code = self.metadata.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return error_for(code, f"topic {name!r}")

    async def leader(self, topic: str, partition: int) -> tuple[Node, PartitionInfo]:
        """The leader of a partition; metadata is refreshed once if it has none."""
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
        if not self.metadata.nodes:
            await self.refresh()
        connection = await self.connection(self.any_node())
        if connection.version("FindCoordinator") >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key_type=kind, key=key)
        response = await self.exchange(connection, request, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            raise error_for(found.error_code, found.error_message or f"coordinator of {key!r}")
        if found.node_id not in self.metadata.nodes:
            self.metadata.nodes[found.node_id] = Node(found.node_id, found.host, found.port)
        self._coordinators[kind, key] = found.node_id
        return found.node_id

    def forget_coordinator(self, kind: int, key: str) -> None:
        """Look the coordinator up again next time."""
        self._coordinators.pop((kind, key), None)

    async def open(self, node: Node, *, is_bootstrap: bool = False) -> _Connection:
        """A new connection; after failures of the same broker it waits first."""
        self.check_open()
        failures, not_before = self._failures.get(node.id, (0, 0.0))
        if not is_bootstrap and not_before > self.now():
            await self.sleep(not_before - self.now())
        try:
            connection = await self.connect(node)
        except KafkaWireError as error:
            options = self.options
            trace = options.trace_of(f"{node.host}:{node.port}")
            if trace is not None:
                trace.failed(error)
            pause = wait_before(
                failures + 1, options.reconnect_backoff_ms / 1000, options.reconnect_backoff_max_ms / 1000
            )
            self._failures[node.id] = (failures + 1, self.now() + pause)
            if not demands_new_start(error):
                raise
            self.recovery.require()
            place = f"{node.host}:{node.port}"
            words = f"{place} is not the address of broker {node.id} of cluster {self.metadata.cluster_id} any more"
            raise ConnectionLostError(words) from error
        self._failures.pop(node.id, None)
        self.features.note(connection.negotiated.features, self.now())
        return connection

    def check_open(self) -> None:
        """Refuse a request of a client that is not started, or closed."""
        if self._closed:
            raise ClosedError("the client is not started, or closed")

    def node(self, node_id: int) -> Node:
        """A broker of the cluster."""
        self.check_open()
        node = self.metadata.nodes.get(node_id)
        if node is None:
            raise ConnectionLostError(f"broker {node_id} is not in the cluster's metadata any more")
        return node

    async def _refresh(self) -> None:
        self.check_open()
        self.recovery.begin(self.now())
        attempts: list[str] = []
        if not await self._ask_known(attempts):
            await self._bootstrap(attempts)

    async def _bootstrap(self, attempts: list[str]) -> None:
        if self.metadata.nodes and not self.recovery.is_enabled:
            raise ConnectionLostError("no known broker answers: " + "; ".join(attempts))
        if self.recovery.is_due(self.now()):
            self.disconnect()
        servers = self.options.servers
        random.shuffle(servers)
        for number, (host, port) in enumerate(servers):
            try:
                connection = await self.open(Node(-1 - number, host, port), is_bootstrap=True)
                try:
                    return await self._ask(connection, is_bootstrap=True)
                finally:
                    connection.close()
            except KafkaWireError as error:
                if not is_retriable(error) and not demands_new_start(error):
                    raise
                attempts.append(str(error))
        self.recovery.reset()
        raise ConnectionLostError("no broker answers: " + "; ".join(attempts or ["no bootstrap server is given"]))

    async def _ask_known(self, attempts: list[str]) -> bool:
        """Whether a known broker has answered; the errors of the others are added to the attempts."""
        known = sorted(self.metadata.nodes, key=lambda node: (not self.is_connected(node), random.random()))
        for node_id in known:
            deadline = self.recovery.deadline
            if self.recovery.is_due(self.now()):
                break
            try:
                async with contextlib.nullcontext() if deadline == math.inf else self.until(deadline):
                    await self._ask(await self.connection(node_id))
                return True
            except TimeoutError as error:
                attempts.append(str(error) or f"broker {node_id}: no answer in time")
            except KafkaWireError as error:
                if demands_new_start(error):
                    self.recovery.require()
                elif not is_retriable(error):
                    raise
                attempts.append(str(error))
        return False

    async def _ask(self, connection: _Connection, *, is_bootstrap: bool = False) -> None:
        version = connection.version("Metadata")
        everything = self.wants_all or (version == 0 and not self.wanted)
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(self.wanted)]
        request = MetadataRequest(
            topics=(None if version else []) if everything else topics,
            allow_auto_topic_creation=self.allow_creation or version < 4,
        )
        response = await self.exchange(connection, request, MetadataResponse)
        if response.error_code:
            raise error_for(response.error_code, f"{connection.place}: Metadata")
        self.recovery.reset()
        if is_bootstrap:
            self.metadata.clear()
            self._coordinators.clear()
            self.features.replace(connection.negotiated.features, self.now())
        self.metadata.update(response, is_complete=everything, now=self.now())
        for notify in self.on_update:
            notify()

    async def _replace(self, old: _Connection, node: Node) -> _Connection:
        """A new connection in place of one that is stale, or that leads to a former address of the broker."""
        try:
            if old.is_stale:
                with contextlib.suppress(TimeoutError):
                    async with self.until(self.now() + self.options.request_timeout_ms / 1000):
                        await old.drained()
        finally:
            old.close()
        return await self.open(node)


def wait_before(attempt: int, first: float, most: float) -> float:
    """Seconds to wait before an attempt; the first retry is 1.

    >>> 0.08 <= wait_before(1, 0.1, 1.0) <= 0.12, 0.8 <= wait_before(50, 0.1, 1.0) <= 1.2
    (True, True)
    """
    grown: float = min(first * 2.0 ** min(attempt - 1, 30), most)
    return grown * random.uniform(1 - _JITTER, 1 + _JITTER)


def calls_for_refresh(error: BaseException) -> bool:
    """Whether an error may come from metadata that is out of date."""
    return not isinstance(error, KafkaError) or error.refresh_metadata


def demands_new_start(error: BaseException) -> bool:
    """Whether a broker says that the client must start again from its bootstrap servers."""
    return isinstance(error, KafkaError) and error.code == ErrorCode.REBOOTSTRAP_REQUIRED
