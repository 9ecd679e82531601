"""The socket driver: a connection over a blocking socket, and the loop that runs coroutines without asyncio.

Rules:
- The coroutines of `_cluster` and `_produce` are written once. asyncio runs them as tasks; `run` runs them on the
  caller's thread, where every wait blocks, so that none of them is ever suspended.
- The deadline of an answer is for the whole answer, not for each read.
- After any failure the connection is closed, because the next bytes could belong to an earlier request.
- An object belongs to one thread at a time. `close` may come from another thread and ends a read that waits.
"""

from __future__ import annotations

import contextlib
import socket
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkawire.client._cluster.connection import BaseConnection
from kafkawire.client._cluster.tls_refusals import not_opened
from kafkawire.client.errors import ConnectionLostError, RequestTimeoutError, why
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kafkawire.client._cluster.handshake import Destination
    from kafkawire.client.options import ClientOptions

_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")
_Reason = TypeVar("_Reason", bound=Exception)
_NO_TIME: Final = 1e-6  # 0 would make the socket non-blocking


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of a coroutine that waits by blocking."""
    try:
        work.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    work.close()
    raise RuntimeError("a blocking call was suspended")


class SocketConnection(BaseConnection):
    """A connection to one broker over a blocking socket."""

    def __init__(
        self,
        host: str,
        port: int,
        options: ClientOptions,
        destination: Destination | None = None,
        *,
        seconds: float | None = None,
    ) -> None:
        super().__init__(host, port, options, destination)
        self._frames: list[bytes | memoryview] = []
        self._is_closed = False
        patience = options.connect_timeout_ms / 1000
        self._connect_seconds = patience if seconds is None else min(seconds, patience)
        has_protocol = False
        try:
            self._socket = socket.create_connection((host, port), self._connect_seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = options.tls()
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=host)
            has_protocol = True
            run(self._shake_hands())
        except OSError as error:
            self.close()
            if isinstance(error, KafkaWireError):
                raise
            raise not_opened(self.place, error, options, has_protocol) from error
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        return not self._is_closed

    def request(
        self, message: Message, answer: type[_Answer], *, version: int | None = None, seconds: float | None = None
    ) -> _Answer:
        """Send a request and wait for its answer."""
        self.send(message, version=version)
        return self.receive(answer, seconds=seconds)

    def send(self, message: Message, *, version: int | None = None) -> None:
        """Send a request; its answer is received later, in order."""
        parts, pending = self._encode(message, version)
        try:
            self._socket.settimeout(self._options.request_timeout_ms / 1000)
            self._socket.sendall(b"".join(parts))
        except TimeoutError as error:
            raise self._ended(RequestTimeoutError(f"{self.place}: the broker does not read")) from error
        except OSError as error:
            raise self._lost(error) from error
        self._pending.append(pending)

    def receive(self, answer: type[_Answer], *, seconds: float | None = None) -> _Answer:
        """The answer to the first request that has none yet."""
        patience = self._options.request_timeout_ms / 1000
        deadline = time.monotonic() + (patience if seconds is None else min(seconds, patience))
        while not self._frames:
            try:
                self._socket.settimeout(max(0.0, deadline - time.monotonic()) or _NO_TIME)
                count = self._socket.recv_into(self._buffer.room())
            except TimeoutError:
                raise self._ended(self._overdue()) from None
            except OSError as error:
                raise self._lost(error) from error
            if not count:
                raise self._ended(ConnectionLostError(f"{self.place}: the broker closed the connection"))
            try:
                self._frames = self._buffer.received(count)
            except KafkaWireError as error:
                raise self._ended(self._invalid(error)) from error
        try:
            _, message = self._match(self._frames.pop(0))
        except KafkaWireError as error:
            raise self._ended(self._invalid(error)) from error
        assert isinstance(message, answer)
        return message

    def reuse(self, records: memoryview) -> None:
        """Receive into the memory behind these records from now on; the caller has finished with them."""
        self._buffer.reuse(records)

    async def drained(self) -> None:
        """As with asyncio; the owner of a blocking connection replaces it only between two requests."""

    def close(self, reason: Exception | None = None) -> None:
        self._is_closed = True
        wire = getattr(self, "_socket", None)
        if wire is not None:
            if self._trace is not None:
                self._trace.ended(reason, len(self._pending))
            with contextlib.suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)
            wire.close()

    def _now(self) -> float:
        return time.monotonic()

    async def _ask(self, message: Message, version: int) -> Message:
        key = type(message).__schema__.key
        assert key is not None
        return self.request(message, api(key).response, version=version, seconds=self._connect_seconds)

    def _lost(self, error: OSError) -> ConnectionLostError:
        return self._ended(ConnectionLostError(f"{self.place}: the connection was lost: {why(error)}"))

    def _ended(self, reason: _Reason) -> _Reason:
        self.close(reason)
        return reason
