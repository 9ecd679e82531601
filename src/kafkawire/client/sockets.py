"""Connections and metadata over blocking sockets, for code that has no event loop.

Rules:
- The same greeting, frames and checks as over asyncio; one request is in flight, or sent ahead by its owner.
- A deadline is for the whole answer, not for each read. Within `retry` or `until` nothing waits past theirs, whatever
  the timeouts of connecting and asking.
- Where a broker lets us in for a while only, another connection takes over between two requests, before that is over.
- An object belongs to one thread at a time; `close` may come from another and ends a read that waits.
"""

from __future__ import annotations

import contextlib
import math
import random
import socket
import ssl
import time
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client.backoff import wait_before
from kafkawire.client.errors import (
    AuthenticationFailedError,
    ClosedError,
    ConnectionLostError,
    RequestTimeoutError,
    is_retriable,
    why,
)
from kafkawire.client.greeting import greet, lost_before
from kafkawire.client.inbox import Inbox
from kafkawire.client.metadata import Metadata, Node
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, MetadataRequest, MetadataResponse, api
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for
from kafkawire.wire import Negotiated, decode_response, encode_request_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")


class SocketConnection:
    """A greeted connection to one broker."""

    def __init__(self, host: str, port: int, options: ClientOptions, *, seconds: float | None = None) -> None:
        self.place = f"{host}:{port}"
        self.negotiated = Negotiated({})
        self._options = options
        self._inbox = Inbox(options.receive_message_max_bytes)
        self._frames: list[bytes | memoryview] = []
        self._sent: list[tuple[int, int, int]] = []
        self._correlation_id = 0
        self._stale_at = math.inf
        patience = options.connect_timeout_ms / 1000
        self._greeting_seconds = patience if seconds is None else min(seconds, patience)
        try:
            self._socket = socket.create_connection((host, port), self._greeting_seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = options.tls()
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=host)
            self._greet()
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationFailedError(f"{self.place}: {error.verify_message}") from error
        except OSError as error:
            if isinstance(error, KafkaWireError):
                self.close()
                raise
            raise ConnectionLostError(f"{self.place}: {why(error)}") from error
        except BaseException:
            self.close()
            raise

    @property
    def is_stale(self) -> bool:
        """Whether the broker is about to let us out: nothing more should be asked here."""
        return time.monotonic() >= self._stale_at

    def request(
        self, message: Message, answer: type[_Answer], *, version: int | None = None, seconds: float | None = None
    ) -> _Answer:
        """Send a request and wait for its answer."""
        self.send(message, version=version)
        return self.receive(answer, seconds=seconds)

    def send(self, message: Message, *, version: int | None = None) -> None:
        """Send a request; its answer is received later, in order."""
        key = type(message).__schema__.key
        assert key is not None
        chosen = self.negotiated.version(key) if version is None else version
        self._correlation_id = (self._correlation_id + 1) % 2**31
        parts = encode_request_parts(
            message, version=chosen, correlation_id=self._correlation_id, client_id=self._options.client_id
        )
        self._socket.settimeout(self._options.request_timeout_ms / 1000)
        with self._lost():
            self._socket.sendall(b"".join(parts))
        self._sent.append((key, chosen, self._correlation_id))

    def receive(self, answer: type[_Answer], *, seconds: float | None = None) -> _Answer:
        """The answer to the first request that has none yet."""
        key, version, correlation_id = self._sent[0]
        patience = self._options.request_timeout_ms / 1000
        deadline = time.monotonic() + (patience if seconds is None else min(seconds, patience))
        while not self._frames:
            left = deadline - time.monotonic()
            if left <= 0:
                self._give_up(key, version)
            self._socket.settimeout(left)
            try:
                with self._lost():
                    count = self._socket.recv_into(self._inbox.room())
            except RequestTimeoutError:
                self._give_up(key, version)
            if not count:
                self.close()
                raise ConnectionLostError(f"{self.place}: the broker closed the connection")
            try:
                self._frames = self._inbox.received(count)
            except KafkaWireError as error:
                raise self._nonsense(error) from error
        del self._sent[0]
        frame = self._frames.pop(0)
        try:
            _, message = decode_response(frame, api_key=key, version=version, correlation_id=correlation_id)
        except KafkaWireError as error:
            raise self._nonsense(error) from error
        assert isinstance(message, answer)
        return message

    def reuse(self, records: memoryview) -> None:
        """Receive into the memory behind these records from now on; nobody reads them any more."""
        self._inbox.reuse(records)

    def close(self) -> None:
        wire = getattr(self, "_socket", None)
        if wire is not None:
            with contextlib.suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)
            wire.close()

    def _greet(self) -> None:
        words = greet(self._options)
        message, version = next(words)
        while True:
            key = type(message).__schema__.key
            assert key is not None
            try:
                self.send(message, version=version)
                answer = self.receive(api(key).response, seconds=self._greeting_seconds)
            except ConnectionLostError as error:
                raise lost_before(message, self._options, error) from error
            try:
                message, version = words.send(answer)
            except StopIteration as done:
                self.negotiated = done.value.negotiated
                self._stale_at = time.monotonic() + done.value.usable
                return

    def _give_up(self, key: int, version: int) -> None:
        self.close()
        raise RequestTimeoutError(f"{self.place}: no answer to {api(key).name} v{version} in time")

    def _nonsense(self, error: KafkaWireError) -> ConnectionLostError:
        self.close()
        return ConnectionLostError(f"{self.place}: {error}")

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise RequestTimeoutError(f"{self.place}: the broker does not read") from error
        except OSError as error:
            raise ConnectionLostError(f"{self.place}: the connection was lost: {why(error)}") from error


class SocketCluster:
    """Metadata, and a connection to each broker, over blocking sockets."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.metadata = Metadata()
        self.is_closed = False
        self._connections: dict[int, SocketConnection] = {}
        self._deadline: float | None = None

    @contextlib.contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Wait for nothing past this moment meanwhile."""
        before, self._deadline = self._deadline, deadline
        try:
            yield
        finally:
            self._deadline = before

    def seconds_left(self) -> float | None:
        """How long one may still wait; None without a deadline."""
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())

    def connection(self, node: Node) -> SocketConnection:
        """The connection to a broker, made if need be."""
        known = self._connections.get(node.id)
        if known is not None and known.place == f"{node.host}:{node.port}" and not known.is_stale:
            return known
        if known is not None:
            known.close()
        made = self.open(node, self.seconds_left())
        self._connections[node.id] = made
        return made

    def open(self, node: Node, seconds: float | None = None) -> SocketConnection:
        """A connection to a broker for its caller alone."""
        if self.is_closed:
            raise ClosedError("it is closed; make another")
        return SocketConnection(node.host, node.port, self.options, seconds=seconds)

    def request(self, node: Node, message: Message, answer: type[_Answer]) -> _Answer:
        """Ask one broker; a connection that fails is not used again."""
        try:
            return self.connection(node).request(message, answer, seconds=self.seconds_left())
        except KafkaWireError:
            lost = self._connections.pop(node.id, None)
            if lost is not None:
                lost.close()
            raise

    def refresh(self, topics: list[str] | None) -> None:
        """Ask for metadata of these topics, or of all; of known brokers first, then of the bootstrap servers."""
        attempts = []
        known = list(self.metadata.nodes.values())
        servers = [Node(-1 - number, host, port) for number, (host, port) in enumerate(self.options.servers)]
        random.shuffle(known)
        random.shuffle(servers)
        for node in (*known, *servers):
            try:
                return self._ask(node, topics)
            except KafkaWireError as error:
                if not is_retriable(error) and getattr(error, "code", 0) != ErrorCode.REBOOTSTRAP_REQUIRED:
                    raise
                attempts.append(str(error))
        raise ConnectionLostError("no broker answers: " + "; ".join(attempts or ["no bootstrap server is given"]))

    def retry(self, what: str, topics: list[str] | None, attempt: Callable[[], _Result]) -> _Result:
        """Try until it works or `default_api_timeout_ms` is over, with fresh metadata between tries."""
        options = self.options
        seconds = options.default_api_timeout_ms / 1000
        deadline, tries = time.monotonic() + seconds, 0
        with self.until(deadline):
            while True:
                try:
                    return attempt()
                except KafkaWireError as error:
                    if not is_retriable(error):
                        raise
                    tries += 1
                    pause = wait_before(tries, options.retry_backoff_ms / 1000, options.retry_backoff_max_ms / 1000)
                    if time.monotonic() + pause >= deadline:
                        raise RequestTimeoutError(
                            f"{what}: given up after {seconds:g} s and {tries} tries: {error}"
                        ) from error
                    time.sleep(pause)
                    if not isinstance(error, KafkaError) or error.refresh_metadata:
                        with contextlib.suppress(ConnectionLostError, RequestTimeoutError):
                            self.refresh(topics)

    def close(self) -> None:
        self.is_closed = True
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _ask(self, node: Node, topics: list[str] | None) -> None:
        wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        response = self.request(node, request, MetadataResponse)
        if response.error_code:
            raise error_for(response.error_code, f"{node.host}:{node.port}: Metadata")
        self.metadata.update(response, is_complete=topics is None, now=time.monotonic())
