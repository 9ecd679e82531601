"""Frames as they come off one connection, received into memory that all connections share.

Rules:
- Bytes are received into one scratch buffer of the loop; a connection that waits holds only what it has not parsed.
- Received bytes are copied out of the scratch, so that values decoded from a frame may be kept.
- A larger frame gets memory of its own and is received into it directly. Its first room is small. Its further room
  grows with the bytes that arrived, never with the size that its first bytes promise, and each step is asked for.
- Growing copies the first room once and nothing after that. Above ORDINARY the memory is an anonymous mapping, which
  the system backs page by page as bytes arrive. Below, a bytearray is faster, because its pages are used again.
- While memory is tight, one read takes SMALL bytes, and every frame above SMALL has to ask for its room.
- An invalid size is refused at its fourth byte (`wire.frames`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.platforms import untouched_memory
from kafkawire.wire.frames import DEFAULT_MAX_SIZE, SIZE, check_size

if TYPE_CHECKING:
    import mmap

SCRATCH: Final = 256 * 1024
FIRST_ROOM: Final = 256 * 1024
SMALL: Final = 4096
ORDINARY: Final = 2 * 1024 * 1024
_READ: Final = 256 * 1024  # libuv repeats a full read up to 32 times before it looks at another connection
_HEAD: Final = SIZE.size
_COPIED: Final = 4096  # a smaller frame is copied out, so that what is kept of it does not keep its neighbours


class NoMemoryError(KafkaWireError):
    """The system has no memory for a frame; its connection is closed."""


class Inbox:
    """The bytes of one connection that are not a frame yet."""

    __slots__ = (
        "_at",
        "_consumed",
        "_filled",
        "_large",
        "_left",
        "_max_size",
        "_prefix",
        "_room",
        "_scratch",
        "_total",
    )

    def __init__(self, scratch: memoryview, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self._scratch = scratch
        self._max_size = max_size
        self._left = b""
        self._at = 0  # bytes at the start of _left that are frames already taken
        self._prefix = 0
        self._large: bytearray | mmap.mmap | None = None
        self._filled = self._total = self._consumed = 0
        self._room = 0  # bytes of the large frame's memory that it may use by now

    @property
    def held(self) -> int:
        """Bytes of memory that wait here."""
        return len(self._left) if self._large is None else self._room

    @property
    def frame_size(self) -> int:
        """The size of the large frame that is on its way."""
        return self._total

    @property
    def lacking(self) -> int:
        """Bytes of the large frame that have not come yet."""
        return 0 if self._large is None else self._total - self._filled

    @property
    def wants_room(self) -> bool:
        """Whether a large frame has filled its memory and needs more before it can go on."""
        return self._large is not None and self._filled == self._room < self._total

    @property
    def wanted(self) -> int:
        """How many bytes of memory it needs: all that an ordinary frame lacks, or as much again as a huge one has."""
        lacking = self._total - self._room
        return lacking if self._total <= ORDINARY else min(max(self._room, FIRST_ROOM), lacking)

    def grow(self) -> None:
        """Give the large frame the memory that it wants."""
        assert self._large is not None
        if len(self._large) < self._total:
            memory = _allocate(self._total)
            memory[: self._filled] = self._large[: self._filled]
            self._large = memory
        self._room += self.wanted

    def clear(self) -> None:
        """Give all memory back; nothing is received any more."""
        self._left, self._at, self._large = b"", 0, None

    def buffer(self, *, tight: bool = False) -> memoryview:
        """Where to receive the next bytes; a small room while memory is `tight`."""
        if self._large is not None:
            return memoryview(self._large)[self._filled : min(self._room, self._filled + _READ)]
        if not self._left:
            self._prefix = 0
            return self._scratch[:SMALL] if tight else self._scratch
        self._prefix = len(self._left) - self._at
        self._scratch[: self._prefix] = self._left[self._at :] if self._at else self._left
        return self._scratch[self._prefix : self._prefix + SMALL] if tight else self._scratch[self._prefix :]

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

    def is_full(self, *, tight: bool = False) -> bool:
        """Whether nothing more should be received before frames are taken."""
        if self._large is not None:
            return self._filled == self._room
        return len(self._left) - self._at > (SMALL if tight else SCRATCH // 2)

    def take(self, *, tight: bool = False) -> bytes | memoryview | None:
        """The next frame with its size, or None until more bytes have come."""
        if self._large is not None:
            if self._filled < self._total:
                return None
            whole, self._large = memoryview(self._large), None
            self._consumed += self._total
            return whole
        left, start = self._left, self._at
        if len(left) - start < _HEAD:
            self._compact()
            return None
        size = SIZE.unpack_from(left, start)[0]
        if not 0 <= size <= self._max_size:
            check_size(size, self._max_size, left[start : start + 8], self._consumed)
        end = start + _HEAD + size
        if len(left) < end:
            if _HEAD + size > (SMALL if tight else SCRATCH // 2):
                self._start_large(_HEAD + size, tight=tight)
            else:
                self._compact()
            return None
        self._consumed += end - start
        if len(left) == end:
            self._left, self._at = b"", 0
        else:
            self._at = end
        return left[start:end] if size < _COPIED else memoryview(left)[start:end]

    def _compact(self) -> None:
        """Keep no bytes of frames that were taken: the rest of a read may be a single byte of it."""
        if self._at:
            self._left, self._at = self._left[self._at :], 0

    def _start_large(self, total: int, *, tight: bool) -> None:
        begun = self._left[self._at :]
        self._room = len(begun) if tight else min(total, max(FIRST_ROOM, len(begun)))
        self._large = bytearray(self._room)
        self._large[: len(begun)] = begun
        self._filled, self._total = len(begun), total
        self._left, self._at = b"", 0


def _allocate(size: int) -> bytearray | mmap.mmap:
    if size <= ORDINARY:
        return bytearray(size)
    try:
        return untouched_memory(size)
    except OSError as error:
        raise NoMemoryError(f"a frame of {size} bytes: the system has no memory for it ({error})") from error
