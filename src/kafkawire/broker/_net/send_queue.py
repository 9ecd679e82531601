"""The bytes to send on one connection.

Rules:
- Small responses are joined and written at once. The responses of requests that arrived together leave in one write.
- Large ones are not copied: parts in memory leave by `sendmsg`, ranges of files by `sendfile`, directly on the socket.
  Only `DirectSendQueue` does so. `SendQueue`, the queue of a TLS connection, does not have the socket, because bytes
  on it would leave in plain text. `send_queue` asks the transport which one it needs.
- The socket is used only while the transport has nothing left to write, so bytes never overtake each other.
- When the system takes no more bytes, the transport gets the next small piece, and waits for the peer with it. Its
  `resume_writing` continues the queue. So sending needs no further descriptor, and no timer.
- A range under 64 KiB is read and joined, because this is faster than `sendfile`. A large range that is only in memory
  is copied piece by piece as the peer takes it.
- With TLS, or on a system without `sendfile` or `sendmsg`, the transport sends everything, piece by piece as the peer
  takes it.
- `held` counts the parts in memory that the peer has not taken. Ranges of files use no memory.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Final

from kafkawire import _platforms as platforms
from kafkawire._codec.parts import ExternalBytes
from kafkawire.log import FileRange

if TYPE_CHECKING:
    import socket
    from asyncio import Transport
    from collections.abc import Sequence

    from kafkawire._codec.parts import Part

DIRECT: Final = 64 * 1024
_GATHER: Final = 64
_PIECE: Final = 4096
_COPIED: Final = 128 * 1024  # small enough to be sent out of the cache that it was copied into


def send_queue(transport: Transport, socket: socket.socket) -> SendQueue:
    """The queue of a new connection; with TLS it has no access to the socket."""
    if transport.get_extra_info("sslcontext") is not None or not platforms.SENDS_FILES:
        return SendQueue(transport)
    return DirectSendQueue(transport, socket)


class SendQueue:
    """The responses that one connection still has to send, by its transport alone."""

    __slots__ = ("_joined", "_joined_size", "_queue", "_sent", "_transport", "held")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.held = 0  # bytes of the queue that are in memory
        self._joined: list[bytes | memoryview] = []
        self._joined_size = 0
        self._queue: deque[bytes | memoryview | FileRange] = deque()
        self._sent = 0  # bytes of the queue's first part that are out

    @property
    def is_busy(self) -> bool:
        """Whether bytes are left that the peer has not taken yet."""
        return bool(self._queue)

    def put(self, parts: Sequence[Part], size: int) -> bool:
        """Add a response of that many bytes; returns whether to flush before the next request is served."""
        if size < DIRECT and not self._queue:
            for part in parts:
                self._joined.append(part.read() if isinstance(part, ExternalBytes) else part)
            self._joined_size += size
            return self._joined_size >= DIRECT
        self._queue.extend(self._joined)
        self.held += self._joined_size
        self._joined.clear()
        self._joined_size = 0
        for part in parts:
            if isinstance(part, FileRange) and part.length >= DIRECT:
                self._queue.append(part)
                continue
            content = part.read() if isinstance(part, ExternalBytes) else part
            self._queue.append(content)
            self.held += len(content)
        return True

    def flush(self) -> None:
        """Send the responses; call it again when the transport resumes writing."""
        if self._queue:
            self.pump()
        elif self._joined:
            joined = b"".join(self._joined)
            self._joined.clear()
            self._joined_size = 0
            self._transport.write(joined)

    def pump(self) -> None:
        """Send as much of the queue as goes without waiting."""
        while self._queue and not self._transport.get_write_buffer_size() and not self._transport.is_closing():
            try:
                self._send_some()
            except BlockingIOError:
                self._write_piece(_PIECE)

    def close(self) -> None:
        """Drop all bytes."""
        self._queue.clear()
        self._joined.clear()
        self.held = self._joined_size = self._sent = 0

    def _write_piece(self, size: int) -> None:
        first, sent = self._queue[0], self._sent
        if isinstance(first, FileRange):
            piece = first.file.read(first.position + sent, min(size, first.length - sent))
            if not piece:
                raise OSError(f"{first.path}: ends before byte {first.position + first.length}")
        else:
            piece = bytes(memoryview(first)[sent : sent + size])
        self._advance(len(piece))
        self._transport.write(piece)

    def _send_some(self) -> None:
        self._write_piece(_COPIED)

    def _advance(self, count: int) -> None:
        count += self._sent
        while self._queue and count >= len(self._queue[0]):
            part = self._queue.popleft()
            count -= len(part)
            if not isinstance(part, FileRange):
                self.held -= len(part)
        self._sent = count


class DirectSendQueue(SendQueue):
    """The same, directly on the socket where the transport has nothing left to write."""

    __slots__ = ("_socket",)

    def __init__(self, transport: Transport, socket: socket.socket) -> None:
        super().__init__(transport)
        self._socket = socket

    def _send_some(self) -> None:
        first = self._queue[0]
        if isinstance(first, FileRange):
            count = self._send_file(first, first.position + self._sent, first.length - self._sent)
            if not count:
                raise OSError(f"{first.path}: ends before byte {first.position + first.length}")
            self._advance(count)
            return
        gathered: list[bytes | memoryview] = []
        for part in self._queue:
            if isinstance(part, FileRange) or len(gathered) == _GATHER:
                break
            gathered.append(part)
        more = platforms.MSG_MORE if len(gathered) < len(self._queue) else 0
        if self._sent:
            gathered[0] = memoryview(gathered[0])[self._sent :]
        self._advance(self._socket.sendmsg(gathered, (), more))

    def _send_file(self, source: FileRange, position: int, left: int) -> int:
        if source.fileno() >= 0:
            return os.sendfile(self._socket.fileno(), source.fileno(), position, left)
        more = platforms.MSG_MORE if left > _COPIED else 0
        return self._socket.send(source.file.read(position, min(left, _COPIED)), more)
