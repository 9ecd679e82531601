"""One connection to one broker: requests are encoded, answers matched, and every waiter gets a result or an error.

`BaseConnection` is the part without I/O, for asyncio and for blocking sockets. `Connection` is the asyncio driver.

Rules:
- Answers come in the order of the requests. An answer with another correlation id closes the connection.
- At most `max_in_flight_requests_per_connection` requests wait for answers; further requests queue.
- A request that is not answered in time closes the connection, because a late answer would be matched with the next
  request. The broker serves one request at a time anyway.
- When a connection closes, all of its waiters fail at once with the reason.
- After a throttled answer the client sends nothing for as long as the broker asks.
- A connection with a trace reports every request, every answer and its end (`client/_trace`).
- A transport is whatever the loop of the application gives: those of uvloop are not instances of asyncio's classes.
- A request without an answer counts as sent when the system has all of it: `close` discards bytes that still wait here.
"""

from __future__ import annotations

import asyncio
import math
import socket
from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from kafkawire.client._cluster.handshake import needs_token, shake_hands
from kafkawire.client._cluster.oauth import OAuthToken, fetch_token
from kafkawire.client._cluster.send_turns import SendTurns
from kafkawire.client._cluster.tls_refusals import not_opened
from kafkawire.client.errors import ConnectionLostError, RequestTimeoutError, why
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api
from kafkawire.wire import Negotiated, ReceiveBuffer
from kafkawire.wire.headers import RequestWriter, ResponseReader

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.client._cluster.handshake import Destination
    from kafkawire.client._cluster.metadata import Node
    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_MAX_CORRELATION = 2**31 - 1


class Reply(Protocol):
    """Takes the answer to a request, or its error, as a future does."""

    def done(self) -> bool: ...
    def set_result(self, result: Message, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...


class PendingRequest:
    """A request that waits for its answer; only the asyncio driver has a future and a timer."""

    __slots__ = ("answer", "correlation_id", "reader", "sent_at", "timer")

    answer: Reply
    timer: asyncio.TimerHandle
    sent_at: float  # only with a trace

    def __init__(self, reader: ResponseReader, correlation_id: int) -> None:
        self.reader = reader
        self.correlation_id = correlation_id


class BaseConnection:
    """The part of both drivers: the handshake, request encoding, and the queue of requests without an answer."""

    def __init__(self, host: str, port: int, options: ClientOptions, destination: Destination | None = None) -> None:
        self.place = f"{host}:{port}"
        self.negotiated = Negotiated({})
        self._options = options
        self._destination = destination
        self._buffer = ReceiveBuffer(options.receive_message_max_bytes)
        self._pending: deque[PendingRequest] = deque()
        self._versions: dict[int | str, int] = {}
        self._codecs: dict[tuple[type[Message], int | None], tuple[RequestWriter, ResponseReader]] = {}
        self._stale_at = math.inf
        self._correlation_id = 0
        self._trace = options.trace_of(self.place)

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether requests can still be sent."""

    @property
    def is_stale(self) -> bool:
        """Whether the session is about to expire, so that no further request should be sent."""
        return self._now() >= self._stale_at

    def serves(self, node: Node) -> bool:
        """Whether requests for a broker may be sent here: it is open, not stale, and leads to the broker's address."""
        return self.is_open and self.place == f"{node.host}:{node.port}" and not self.is_stale

    def version(self, which: int | str) -> int:
        """The highest version of an API that both sides have."""
        known = self._versions.get(which)
        if known is None:
            known = self._versions[which] = self.negotiated.version(which)
        return known

    @abstractmethod
    async def drained(self) -> None:
        """Wait until no request waits for an answer or for its turn."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; its waiters fail."""

    @abstractmethod
    def _now(self) -> float: ...

    @abstractmethod
    def _ask(self, message: Message, version: int) -> Awaitable[Message]: ...

    async def _fetch_token(self) -> OAuthToken:
        return fetch_token(self._options)

    async def _shake_hands(self) -> None:
        """Agree on versions and authenticate."""
        token = await self._fetch_token() if needs_token(self._options) else None
        session = await shake_hands(self._ask, self.place, self._options, self._destination, token)
        self.negotiated = session.negotiated
        self._versions.clear()
        self._codecs.clear()
        self._stale_at = self._now() + session.usable_seconds

    def _encode(self, message: Message, version: int | None) -> tuple[list[bytes | memoryview], PendingRequest]:
        """A request in bytes; the caller puts it into the queue if it is to be answered."""
        kind = type(message)
        codec = self._codecs.get((kind, version))
        if codec is None:
            key = kind.__schema__.key
            assert key is not None
            chosen = self.version(key) if version is None else version
            codec = RequestWriter(api(key), chosen, self._options.client_id), ResponseReader(api(key), chosen)
            self._codecs[kind, version] = codec
        writer, reader = codec
        correlation_id = self._correlation_id + 1 if self._correlation_id < _MAX_CORRELATION else 0
        parts = writer.write(message, correlation_id)
        self._correlation_id = correlation_id
        pending = PendingRequest(reader, correlation_id)
        if self._trace is not None:
            self._trace.sent(message, pending, parts)
        return parts, pending

    def _match(self, frame: bytes | memoryview) -> tuple[PendingRequest, Message]:
        """The answer in a frame, and its request, which leaves the queue."""
        if not self._pending:
            raise ConnectionLostError(f"{self.place}: an answer to no request ({len(frame)} bytes)")
        due = self._pending[0]
        _, message = due.reader.read(frame, due.correlation_id)
        self._pending.popleft()
        if self._trace is not None:
            self._trace.answered(due, message, frame)
        return due, message

    def _overdue(self) -> RequestTimeoutError:
        """The error of the first request in the queue, whose time is over."""
        due = self._pending[0].reader
        return RequestTimeoutError(f"{self.place}: no answer to {due.name} v{due.version} in time")

    def _invalid(self, error: KafkaWireError) -> ConnectionLostError:
        """The error of a connection on which an answer cannot be read."""
        lost = ConnectionLostError(f"{self.place}: {error}")
        lost.__cause__ = error
        return lost


class Connection(BaseConnection, asyncio.BufferedProtocol):
    """A connection over asyncio; make one with `Connection.open`."""

    def __init__(self, host: str, port: int, options: ClientOptions, destination: Destination | None = None) -> None:
        super().__init__(host, port, options, destination)
        self._loop = asyncio.get_running_loop()
        self._turns = SendTurns()
        self._drained: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._quiet_until = 0.0
        self.last_used = self._loop.time()
        self._reason: Exception | None = None

    @classmethod
    async def open(
        cls, host: str, port: int, options: ClientOptions, destination: Destination | None = None
    ) -> Connection:
        """Connect, agree on versions, authenticate."""
        loop = asyncio.get_running_loop()
        connection = cls(host, port, options, destination)
        tls = options.tls()
        try:
            async with asyncio.timeout(options.connect_timeout_ms / 1000):
                await loop.create_connection(lambda: connection, host, port, ssl=tls)
                await connection._shake_hands()
        except TimeoutError as error:
            if isinstance(error, KafkaWireError):
                connection.close()
                raise
            asked = connection._pending[0].reader.name if connection._pending else ""
            connection.close()
            what = f"connected, but {asked} was not answered" if asked else "no connection"
            raise RequestTimeoutError(f"{connection.place}: {what} within {options.connect_timeout_ms} ms") from None
        except OSError as error:
            connection.close()
            if isinstance(error, KafkaWireError):
                raise
            raise not_opened(connection.place, error, options, connection._transport is not None) from error
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._transport is not None and self._reason is None

    @property
    def in_flight(self) -> int:
        """The number of requests that wait for an answer."""
        return len(self._pending)

    async def request(
        self, message: Message, answer: type[_Answer], *, version: int | None = None, timeout: float | None = None
    ) -> _Answer:
        """Send a request and wait for its answer, by default in the highest version that both sides have."""
        seconds = self._options.request_timeout_ms / 1000 if timeout is None else timeout
        if self._turns.waiting or not self._may_send():
            await self._wait_for_turn(message, seconds)
        response = await self._send(message, version, seconds)
        assert isinstance(response, answer)
        return response

    @property
    def is_ready(self) -> bool:
        """Whether a request would be sent at once."""
        return self._transport is not None and self._reason is None and not self._turns.waiting and self._may_send()

    def submit(self, message: Message, version: int, reply: Reply) -> None:
        """Send a request at once, because the connection is ready; the reply gets its answer or its error."""
        self._await_answer(self._write(message, version), reply, self._options.request_timeout_ms / 1000)

    async def notify(self, message: Message, *, version: int | None = None) -> None:
        """Send a request that is never answered (Produce with acks=0)."""
        seconds = self._options.request_timeout_ms / 1000
        if self._turns.waiting or not self._may_send():
            await self._wait_for_turn(message, seconds)
        assert self._transport is not None
        self._transport.set_write_buffer_limits(high=0)
        try:
            self._write(message, version)
            if not self._writable:
                await self._wait_for_turn(message, seconds)
        finally:
            self._next_turn()

    async def drained(self) -> None:
        if self._is_busy():
            self._drained = self._loop.create_future()
            await self._drained

    def close(self, reason: Exception | None = None) -> None:
        """Close the connection; its waiters fail with the reason."""
        if self._trace is not None and self.is_open:
            self._trace.ended(reason, len(self._pending))
        self._end(reason or ConnectionLostError(f"{self.place}: the connection was closed"))

    def _now(self) -> float:
        return self._loop.time()

    def _ask(self, message: Message, version: int) -> Awaitable[Message]:
        return self._send(message, version, self._options.request_timeout_ms / 1000)

    async def _fetch_token(self) -> OAuthToken:
        return await asyncio.to_thread(fetch_token, self._options)

    def _is_busy(self) -> bool:
        return bool(self._turns.waiting or self._turns.granted or any(not each.answer.done() for each in self._pending))

    def _may_send(self) -> bool:
        if self._reason is not None:
            raise self._reason
        return (
            self._writable
            and len(self._pending) + self._turns.granted < self._options.max_in_flight_requests_per_connection
            and self._loop.time() >= self._quiet_until
        )

    async def _wait_for_turn(self, message: Message, seconds: float) -> None:
        try:
            await self._turns.wait(seconds)
        except BaseException as error:
            self._next_turn()
            if not isinstance(error, TimeoutError) or isinstance(error, KafkaWireError):
                raise
            name = type(message).__name__.removesuffix("Request")
            raise RequestTimeoutError(f"{self.place}: {name} could not be sent within {seconds:g} s") from None

    def _next_turn(self) -> None:
        """Let the first waiter send, if it may."""
        if self._turns.pass_on(self._may_send, self._reason):
            return
        if self._drained is not None and not self._drained.done() and not self._is_busy():
            self._drained.set_result(None)

    def _send(self, message: Message, version: int | None, seconds: float) -> asyncio.Future[Message]:
        try:
            pending = self._write(message, version)
            answer: asyncio.Future[Message] = self._loop.create_future()
            self._await_answer(pending, answer, seconds)
            return answer
        finally:
            if self._turns.waiting or self._drained is not None:
                self._next_turn()

    def _await_answer(self, pending: PendingRequest, reply: Reply, seconds: float) -> None:
        pending.answer = reply
        pending.timer = self._loop.call_later(seconds, self._expire)
        self._pending.append(pending)

    def _write(self, message: Message, version: int | None) -> PendingRequest:
        if self._reason is not None:
            raise self._reason
        assert self._transport is not None
        parts, pending = self._encode(message, version)
        self.last_used = self._loop.time()
        self._transport.writelines(parts)
        return pending

    def _expire(self) -> None:
        self._end(self._overdue())

    def _end(self, reason: Exception) -> None:
        if self._reason is not None:
            return
        self._reason = reason
        if self._transport is not None:
            if self._trace is not None:
                self._trace.ended(reason, len(self._pending))
            self._transport.abort()
        while self._pending:
            pending = self._pending.popleft()
            pending.timer.cancel()
            if not pending.answer.done():
                pending.answer.set_exception(reason)
                if isinstance(pending.answer, asyncio.Future):
                    pending.answer.exception()  # a waiter that was cancelled does not retrieve it
        self._next_turn()

    def _take(self, frame: bytes | memoryview) -> None:
        due, message = self._match(frame)
        due.timer.cancel()
        throttled: int = getattr(message, "throttle_time_ms", 0)
        if throttled > 0:
            self._quiet_until = self._loop.time() + throttled / 1000
            self._loop.call_later(throttled / 1000, self._next_turn)
        if not due.answer.done():
            due.answer.set_result(message)
        if self._turns.waiting or self._drained is not None:
            self._next_turn()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)
        wire = transport.get_extra_info("socket")
        if wire is not None and wire.family in (socket.AF_INET, socket.AF_INET6):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=1024 * 1024)
        if self._reason is not None:
            transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._buffer.received(nbytes):
                self._take(frame)
        except KafkaWireError as error:
            self._end(self._invalid(error))

    def eof_received(self) -> None:
        self._end(ConnectionLostError(f"{self.place}: the broker closed the connection"))

    def connection_lost(self, error: Exception | None) -> None:
        reason = f": {why(error)}" if isinstance(error, OSError) else ""
        lost = ConnectionLostError(f"{self.place}: the connection was lost{reason}")
        lost.__cause__ = error
        self._end(lost)

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._next_turn()
