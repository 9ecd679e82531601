"""Bytes on their way to one connection.

Rules:
- Small answers are joined and written at once; what a request batch produced leaves in one write.
- Large ones are not copied: parts in memory go by `sendmsg`, ranges of files by `sendfile`, on a duplicate of the
  socket's descriptor, because the loop does not share a transport's own.
- The duplicate is used only while the transport has nothing left to write, so bytes never overtake each other.
- A range under 64 KiB is read and joined: that beats `sendfile` until then. A large one that is only in memory is
  copied piece by piece as the peer takes it.
- A system without `sendfile` or `sendmsg` has every answer joined, and its transport sends them.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from typing import TYPE_CHECKING, Final

from kafkawire import platforms
from kafkawire.log.segment import FileRange

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Transport
    from collections.abc import Callable, Sequence

Part = bytes | memoryview | FileRange
DIRECT: Final = 64 * 1024
_GATHER: Final = 64
_COPIED: Final = 128 * 1024  # small enough to be sent out of the cache that it was copied into


class Outbox:
    """What one connection still has to send."""

    __slots__ = ("_done", "_duplicate", "_joined", "_joined_size", "_loop", "_queue", "_sent", "_transport", "_waiting")

    def __init__(self, loop: AbstractEventLoop, transport: Transport, done: Callable[[], None]) -> None:
        self._loop = loop
        self._transport = transport
        self._done = done
        self._joined: list[bytes | memoryview] = []
        self._joined_size = 0
        self._queue: deque[Part] = deque()
        self._sent = 0  # bytes of the queue's first part that are out
        self._duplicate: socket.socket | None = None
        self._waiting = False  # whether the loop tells when the duplicate can be written

    @property
    def is_busy(self) -> bool:
        """Whether something is left that the peer has not taken yet."""
        return bool(self._queue)

    def put(self, parts: Sequence[Part], size: int) -> bool:
        """Add an answer of that many bytes; whether so much has been put that it should leave before more is made."""
        if (size < DIRECT or not platforms.SENDS_FILES) and not self._queue:
            for part in parts:
                self._joined.append(part.read() if isinstance(part, FileRange) else part)
            self._joined_size += size
            return self._joined_size >= DIRECT
        self._queue.extend(self._joined)
        self._joined.clear()
        self._joined_size = 0
        for part in parts:
            self._queue.append(part.read() if isinstance(part, FileRange) and part.length < DIRECT else part)
        return True

    def flush(self) -> None:
        """Send what was put; what the peer does not take now goes when it can, and `done` tells of it."""
        if self._queue:
            self.pump()
        elif self._joined:
            self._transport.write(b"".join(self._joined))
            self._joined.clear()
            self._joined_size = 0

    def pump(self) -> None:
        """Send as much of the queue as goes without waiting."""
        if self._waiting or self._transport.get_write_buffer_size():
            return
        try:
            while self._queue:
                self._send_some()
        except BlockingIOError:
            self._waiting = True
            self._loop.add_writer(self._socket().fileno(), self._writable)

    def close(self) -> None:
        """Forget everything, and give the duplicate back."""
        self._queue.clear()
        self._joined.clear()
        if self._duplicate is not None:
            if self._waiting:
                self._loop.remove_writer(self._duplicate.fileno())
            self._duplicate.close()
            self._duplicate = None

    def _writable(self) -> None:
        self._waiting = False
        self._loop.remove_writer(self._socket().fileno())
        try:
            self.pump()
        except OSError:
            self._transport.abort()
            return
        if not self._queue:
            self._done()

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
        self._advance(self._socket().sendmsg(gathered, (), more))

    def _send_file(self, source: FileRange, position: int, left: int) -> int:
        if source.fileno() >= 0:
            return os.sendfile(self._socket().fileno(), source.fileno(), position, left)
        more = platforms.MSG_MORE if left > _COPIED else 0
        return self._socket().send(source.file.read(position, min(left, _COPIED)), more)

    def _advance(self, count: int) -> None:
        count += self._sent
        while self._queue and count >= len(self._queue[0]):
            count -= len(self._queue.popleft())
        self._sent = count

    def _socket(self) -> socket.socket:
        if self._duplicate is None:
            descriptor = self._transport.get_extra_info("socket").fileno()
            self._duplicate = socket.socket(fileno=os.dup(descriptor))
            self._duplicate.setblocking(False)
        return self._duplicate
