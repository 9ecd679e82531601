"""A connection to a broker, byte by byte. It can do what no client library does."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from kafkawire.messages import api
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from types import TracebackType

    from kafkawire.messages import Message


class Listening(Protocol):
    """A broker of any kind that runs."""

    @property
    def bootstrap_servers(self) -> str: ...


class Peer:
    """A plain socket that sends only on demand."""

    def __init__(self, broker: Listening, timeout: float = 60.0) -> None:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.client_id = "peer"
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, request: Message, version: int | None = None) -> tuple[int, int, int]:
        """Send a request; what is needed to read its answer."""
        which = api(cast("int", type(request).__schema__.key))
        version = which.versions.last if version is None else version
        self._next += 1
        self.socket.sendall(
            encode_request(request, version=version, correlation_id=self._next, client_id=self.client_id)
        )
        return which.key, version, self._next

    def receive(self, sent: tuple[int, int, int]) -> Any:
        """The answer to a request."""
        key, version, correlation_id = sent
        return decode_response(self.read_frame(), api_key=key, version=version, correlation_id=correlation_id)[1]

    def call(self, request: Message, version: int | None = None) -> Any:
        """Send a request and wait for its answer."""
        return self.receive(self.send(request, version))

    def read_frame(self) -> bytes:
        """The next whole frame; EOFError if the broker closed the connection."""
        head = self._read(4)
        return head + self._read(struct.unpack(">i", head)[0])

    def is_closed(self) -> bool:
        """Whether the broker has closed the connection; waits for it, or for bytes."""
        try:
            return not self.socket.recv(1)
        except ConnectionError:
            return True

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = self.socket.recv(size)
            if not part:
                raise EOFError("the broker closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
