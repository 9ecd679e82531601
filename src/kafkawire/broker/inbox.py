"""Frames as they come off one connection, received into memory that all connections share.

Rules:
- Bytes are received into one scratch buffer of the loop; a connection that waits holds only what it has not parsed.
- What is received is copied out of the scratch, so that what is decoded from a frame may be kept.
- A larger frame gets memory of its own, which grows with what arrives, never with what is promised, and is received
  into directly.
- A size that cannot be believed is refused at its fourth byte (`wire.frames`).
"""

from __future__ import annotations

from typing import Final

from kafkawire.wire.frames import DEFAULT_MAX_SIZE, SIZE, check_size

SCRATCH: Final = 256 * 1024
FIRST_ROOM: Final = 256 * 1024
_HEAD: Final = SIZE.size
_COPIED: Final = 4096  # a smaller frame is copied out, so that what is kept of it does not keep its neighbours


class Inbox:
    """The bytes of one connection that are not a frame yet."""

    __slots__ = ("_at", "_consumed", "_filled", "_large", "_left", "_max_size", "_prefix", "_scratch", "_total")

    def __init__(self, scratch: memoryview, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self._scratch = scratch
        self._max_size = max_size
        self._left = b""
        self._at = 0  # bytes at the start of _left that are frames already taken
        self._prefix = 0
        self._large: bytearray | None = None
        self._filled = self._total = self._consumed = 0

    @property
    def held(self) -> int:
        """Bytes of memory that wait here."""
        return len(self._left) - self._at if self._large is None else len(self._large)

    @property
    def frame_size(self) -> int:
        """The size of the large frame that is on its way."""
        return self._total

    @property
    def wants_room(self) -> bool:
        """Whether a large frame has filled its memory and needs more before it can go on."""
        return self._large is not None and self._filled == len(self._large) < self._total

    def grow(self) -> None:
        """Give the large frame more memory: as much again as it has used."""
        assert self._large is not None
        room = bytearray(min(2 * len(self._large), self._total))
        room[: self._filled] = self._large
        self._large = room

    def buffer(self) -> memoryview:
        """Where to receive the next bytes."""
        if self._large is not None:
            return memoryview(self._large)[self._filled :]
        if not self._left:
            self._prefix = 0
            return self._scratch
        self._prefix = len(self._left) - self._at
        self._scratch[: self._prefix] = self._left[self._at :]
        return self._scratch[self._prefix :]

    def received(self, count: int) -> None:
        """Take note of bytes in the buffer."""
        if self._large is not None:
            self._filled += count
        else:
            self._left = bytes(self._scratch[: self._prefix + count])
            self._at = 0

    @property
    def has_more(self) -> bool:
        """Whether bytes of a further frame are here."""
        return len(self._left) > self._at

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be received before frames are taken."""
        if self._large is not None:
            return self._filled == len(self._large)
        return len(self._left) - self._at > SCRATCH // 2

    def take(self) -> bytes | memoryview | None:
        """The next frame with its size, or None until more bytes have come."""
        if self._large is not None:
            if self._filled < self._total:
                return None
            whole, self._large = memoryview(self._large), None
            self._consumed += self._total
            return whole
        left, start = self._left, self._at
        if len(left) - start < _HEAD:
            return None
        size = SIZE.unpack_from(left, start)[0]
        if not 0 <= size <= self._max_size:
            check_size(size, self._max_size, left[start : start + 8], self._consumed)
        end = start + _HEAD + size
        if len(left) < end:
            if _HEAD + size > SCRATCH // 2:
                self._start_large(_HEAD + size)
            return None
        self._consumed += end - start
        if len(left) == end:
            self._left, self._at = b"", 0
        else:
            self._at = end
        return left[start:end] if size < _COPIED else memoryview(left)[start:end]

    def _start_large(self, total: int) -> None:
        begun = self._left[self._at :]
        self._large = bytearray(min(total, max(FIRST_ROOM, len(begun))))
        self._large[: len(begun)] = begun
        self._filled, self._total = len(begun), total
        self._left, self._at = b"", 0
