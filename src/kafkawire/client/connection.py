"""One connection to one broker: requests out, answers matched, and a clean end for everything that waits.

Rules:
- Answers come in the order of the requests; each must carry the correlation id that is due, or the connection ends.
- At most `max_in_flight_requests_per_connection` requests wait for answers; the next ones wait in turn.
- A request that is not answered in time ends the connection: whatever comes later cannot be told from an answer that
  is still wanted, and the broker serves one request at a time anyway.
- When a connection ends, everything that waits on it fails with the reason, at once.
- A throttled answer keeps us quiet for as long as the broker asks.
- What is never answered counts as sent when the system has all of it: closing throws away what still waits here.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client.errors import AuthenticationFailedError, ConnectionLostError, RequestTimeoutError, why
from kafkawire.client.greeting import greet, lost_before
from kafkawire.client.inbox import Inbox
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api
from kafkawire.wire import Negotiated, decode_response, encode_request_parts

if TYPE_CHECKING:
    from kafkawire.client.options import ClientOptions
    from kafkawire.messages import Api

_Answer = TypeVar("_Answer", bound=Message)
_MAX_CORRELATION = 2**31 - 1


class _Pending:
    __slots__ = ("answer", "api", "correlation_id", "timer", "version")

    def __init__(
        self,
        which: Api,
        version: int,
        correlation_id: int,
        answer: asyncio.Future[Message],
        timer: asyncio.TimerHandle,
    ) -> None:
        self.api = which
        self.version = version
        self.correlation_id = correlation_id
        self.answer = answer
        self.timer = timer


class Connection(asyncio.BufferedProtocol):
    """A connection that has been greeted; make one with `Connection.open`."""

    def __init__(self, host: str, port: int, options: ClientOptions) -> None:
        self.place = f"{host}:{port}"
        self.negotiated = Negotiated({})
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._inbox = Inbox(options.receive_message_max_bytes)
        self._pending: deque[_Pending] = deque()
        self._turns: deque[asyncio.Future[None]] = deque()
        self._granted = 0
        self._drained: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._quiet_until = 0.0
        self._stale_at = math.inf
        self.last_used = self._loop.time()
        self._correlation_id = 0
        self._reason: Exception | None = None

    @classmethod
    async def open(cls, host: str, port: int, options: ClientOptions) -> Connection:
        """Connect, agree on versions, authenticate."""
        loop = asyncio.get_running_loop()
        connection = cls(host, port, options)
        tls = options.tls()
        try:
            async with asyncio.timeout(options.connect_timeout_ms / 1000):
                await loop.create_connection(lambda: connection, host, port, ssl=tls)
                await connection._greet()
        except TimeoutError as error:
            if isinstance(error, KafkaWireError):
                connection.close()
                raise
            asked = connection._pending[0].api.name if connection._pending else ""
            connection.close()
            what = f"connected, but {asked} was not answered" if asked else "no connection"
            raise RequestTimeoutError(f"{connection.place}: {what} within {options.connect_timeout_ms} ms") from None
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationFailedError(f"{connection.place}: {error.verify_message}") from error
        except OSError as error:
            connection.close()
            if isinstance(error, KafkaWireError):
                raise
            raise ConnectionLostError(f"{connection.place}: {why(error)}") from error
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._transport is not None and self._reason is None

    @property
    def is_stale(self) -> bool:
        """Whether the broker is about to let us out: nothing more should be asked here."""
        return self._loop.time() >= self._stale_at

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answers."""
        return len(self._pending)

    async def request(
        self, message: Message, answer: type[_Answer], *, version: int | None = None, timeout: float | None = None
    ) -> _Answer:
        """Send a request and wait for its answer; the version is the highest that both sides have, unless given."""
        seconds = self._options.request_timeout_ms / 1000 if timeout is None else timeout
        if self._turns or not self._may_send():
            await self._wait_for_turn(message, seconds)
        response = await self._send(message, version, seconds)
        assert isinstance(response, answer)
        return response

    async def notify(self, message: Message, *, version: int | None = None) -> None:
        """Send a request that is never answered (Produce with acks=0)."""
        seconds = self._options.request_timeout_ms / 1000
        if self._turns or not self._may_send():
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
        """Wait until nobody waits for an answer, or for a turn, any more."""
        if self._is_busy():
            self._drained = self._loop.create_future()
            await self._drained

    def close(self, reason: Exception | None = None) -> None:
        """End the connection; what waits on it fails with the reason."""
        self._end(reason or ConnectionLostError(f"{self.place}: the connection was closed"))

    async def _greet(self) -> None:
        words = greet(self._options)
        message, version = next(words)
        seconds = self._options.request_timeout_ms / 1000
        while True:
            try:
                answer = await self._send(message, version, seconds)
            except ConnectionLostError as error:
                raise lost_before(message, self._options, error) from error
            try:
                message, version = words.send(answer)
            except StopIteration as done:
                self.negotiated = done.value.negotiated
                self._stale_at = self._loop.time() + done.value.usable
                return

    def _is_busy(self) -> bool:
        return bool(self._turns or self._granted or any(not each.answer.done() for each in self._pending))

    def _may_send(self) -> bool:
        if self._reason is not None:
            raise self._reason
        return (
            self._writable
            and len(self._pending) + self._granted < self._options.max_in_flight_requests_per_connection
            and self._loop.time() >= self._quiet_until
        )

    async def _wait_for_turn(self, message: Message, seconds: float) -> None:
        turn = self._loop.create_future()
        self._turns.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and not turn.exception():
                self._granted -= 1
            elif turn in self._turns:
                self._turns.remove(turn)
            self._next_turn()
            if not isinstance(error, TimeoutError) or isinstance(error, KafkaWireError):
                raise
            name = type(message).__name__.removesuffix("Request")
            raise RequestTimeoutError(f"{self.place}: {name} could not be sent within {seconds:g} s") from None
        self._granted -= 1

    def _next_turn(self) -> None:
        """Let the first that waits go on, if it may; one whose waiter has left is passed over."""
        while self._turns and (self._reason is not None or self._may_send()):
            turn = self._turns.popleft()
            if turn.done():
                continue
            if self._reason is not None:
                turn.set_exception(self._reason)
                continue
            self._granted += 1
            turn.set_result(None)
            return
        if self._drained is not None and not self._drained.done() and not self._is_busy():
            self._drained.set_result(None)

    def _send(self, message: Message, version: int | None, seconds: float) -> asyncio.Future[Message]:
        try:
            which, chosen = self._write(message, version)
            answer: asyncio.Future[Message] = self._loop.create_future()
            timer = self._loop.call_later(seconds, self._expire)
            self._pending.append(_Pending(which, chosen, self._correlation_id, answer, timer))
            return answer
        finally:
            if self._turns or self._drained is not None:
                self._next_turn()

    def _write(self, message: Message, version: int | None) -> tuple[Api, int]:
        if self._reason is not None:
            raise self._reason
        assert self._transport is not None
        key = type(message).__schema__.key
        assert key is not None
        chosen = self.negotiated.version(key) if version is None else version
        correlation_id = self._correlation_id + 1 if self._correlation_id < _MAX_CORRELATION else 0
        parts = encode_request_parts(
            message, version=chosen, correlation_id=correlation_id, client_id=self._options.client_id
        )
        self._correlation_id = correlation_id
        self.last_used = self._loop.time()
        self._transport.writelines(parts)
        return api(key), chosen

    def _expire(self) -> None:
        overdue = self._pending[0]
        error = RequestTimeoutError(f"{self.place}: no answer to {overdue.api.name} v{overdue.version} in time")
        self._end(error)

    def _end(self, reason: Exception) -> None:
        if self._reason is not None:
            return
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()
        while self._pending:
            pending = self._pending.popleft()
            pending.timer.cancel()
            if not pending.answer.done():
                pending.answer.set_exception(reason)
                pending.answer.exception()  # whoever cancelled its wait will not look
        self._next_turn()

    def _take(self, frame: bytes | memoryview) -> None:
        if not self._pending:
            raise ConnectionLostError(f"{self.place}: an answer that nobody asked for ({len(frame)} bytes)")
        due = self._pending[0]
        _, message = decode_response(frame, api_key=due.api.key, version=due.version, correlation_id=due.correlation_id)
        self._pending.popleft()
        due.timer.cancel()
        throttled: int = getattr(message, "throttle_time_ms", 0)
        if throttled > 0:
            self._quiet_until = self._loop.time() + throttled / 1000
            self._loop.call_later(throttled / 1000, self._next_turn)
        if not due.answer.done():
            due.answer.set_result(message)
        if self._turns or self._drained is not None:
            self._next_turn()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        wire = transport.get_extra_info("socket")
        if wire is not None and wire.family in (socket.AF_INET, socket.AF_INET6):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=1024 * 1024)
        if self._reason is not None:
            transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._inbox.received(nbytes):
                self._take(frame)
        except KafkaWireError as error:
            nonsense = ConnectionLostError(f"{self.place}: {error}")
            nonsense.__cause__ = error
            self._end(nonsense)

    def eof_received(self) -> None:
        self._end(ConnectionLostError(f"{self.place}: the broker closed the connection"))

    def connection_lost(self, error: Exception | None) -> None:
        reason = f": {why(error)}" if isinstance(error, OSError) else ""
        self._end(ConnectionLostError(f"{self.place}: the connection was lost{reason}"))

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._next_turn()
