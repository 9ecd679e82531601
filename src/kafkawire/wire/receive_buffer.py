"""Frames out of the bytes of one connection, for broker, client and proxy.

Rules:
- Bytes are received into a scratch buffer, which many connections of one loop may share. A connection that waits keeps
  only the bytes of incomplete frames.
- Received bytes are copied out of the scratch buffer, so that values decoded from a frame stay valid.
- A larger frame gets its own memory and is received into it directly. Its first room is small. Its room then grows with
  the bytes that arrived, never with the size that its first bytes announce.
- Growing doubles the room, and copies it. With `maps_memory`, memory above ORDINARY is an anonymous mapping of the
  whole frame, which the system backs page by page as bytes arrive: it is copied once, and counts as it fills. Otherwise
  a bytearray is faster, because its pages are reused.
- Memory of a large frame that its reader gives back (`reuse`) serves the next one. Clearing fresh memory costs as much
  as receiving into it.
- A receiver with a memory budget calls `buffer`, `add`, `take`, and `grow` when it may. While memory is `tight`, one
  read takes SMALL bytes, and every frame above SMALL needs `grow`. Other receivers call `room` and `received`.
- An invalid size is refused at its fourth byte (`frames`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire._platforms import untouched_memory
from kafkawire.exceptions import KafkaWireError
from kafkawire.wire.frames import DEFAULT_MAX_SIZE, SIZE, check_size

if TYPE_CHECKING:
    import mmap

SCRATCH: Final = 64 * 1024
FIRST_ROOM: Final = 16 * 1024 * 1024
SMALL: Final = 4096
ORDINARY: Final = 2 * 1024 * 1024
UNLIMITED: Final = 2**62
_HEAD: Final = SIZE.size
_COPIED: Final = 4096  # smaller frames are copied, so that values kept from one do not keep its neighbours in memory
_FEED_ROOM: Final = 4096


class NoMemoryError(KafkaWireError):
    """The system has no memory for a frame; its connection is closed."""


class ReceiveBuffer:
    """The bytes of one connection that are not a complete frame yet.

    >>> buffer = ReceiveBuffer()
    >>> buffer.room()[:6] = b"\\0\\0\\0\\2hi"
    >>> buffer.received(6)
    [b'\\x00\\x00\\x00\\x02hi']
    """

    __slots__ = (
        "_at",
        "_consumed",
        "_filled",
        "_first_room",
        "_large",
        "_left",
        "_maps_memory",
        "_max_size",
        "_prefix",
        "_read_size",
        "_room",
        "_scratch",
        "_spare",
        "_total",
    )

    def __init__(
        self,
        max_size: int = DEFAULT_MAX_SIZE,
        scratch: memoryview | None = None,
        *,
        first_room: int = FIRST_ROOM,
        read_size: int = UNLIMITED,
        maps_memory: bool = False,
    ) -> None:
        self._scratch = memoryview(bytearray(SCRATCH)) if scratch is None else scratch
        self._max_size = max_size
        self._first_room = first_room
        self._read_size = read_size
        self._maps_memory = maps_memory
        self._left = b""
        self._at = 0  # bytes at the start of _left that are frames already taken
        self._prefix = 0
        self._large: bytearray | mmap.mmap | None = None
        self._spare: bytearray | None = None
        self._filled = self._total = self._consumed = 0
        self._room = 0  # bytes of the large frame's memory that it may use so far

    def limit(self, max_size: int) -> None:
        """Refuse later frames above a size."""
        self._max_size = max_size

    @property
    def pending(self) -> int:
        """Bytes that were received and are not taken yet."""
        return len(self._left) - self._at if self._large is None else self._filled

    @property
    def held(self) -> int:
        """Bytes of memory in use for this connection, without the scratch buffer."""
        return len(self._left) if self._large is None else self._room

    @property
    def frame_size(self) -> int:
        """The size of the large frame that is being received."""
        return self._total

    @property
    def lacking(self) -> int:
        """Bytes of the large frame that have not arrived yet."""
        return 0 if self._large is None else self._total - self._filled

    @property
    def wants_room(self) -> bool:
        """Whether a large frame has filled its memory and needs `grow` before it can continue."""
        return self._large is not None and self._filled == self._room < self._total

    @property
    def wanted(self) -> int:
        """The bytes of memory that `grow` adds: the rest of an ordinary frame, or the size so far of a huge one."""
        lacking = self._total - self._room
        return lacking if self._total <= ORDINARY else min(max(self._room, self._first_room), lacking)

    @property
    def has_more(self) -> bool:
        """Whether bytes of a further frame have arrived."""
        return len(self._left) > self._at

    def is_full(self, *, tight: bool = False) -> bool:
        """Whether to receive nothing more before frames are taken."""
        if self._large is not None:
            return self._filled == self._room
        return len(self._left) - self._at > (SMALL if tight else len(self._scratch) // 2)

    def room(self) -> memoryview:
        """The memory for the next bytes, never empty; grows without asking."""
        if self.wants_room:
            self.grow()
        return self.buffer()

    def received(self, count: int) -> list[bytes | memoryview]:
        """Count bytes that were received into `room`; returns the frames that are complete now, each with its size."""
        self.add(count)
        frames: list[bytes | memoryview] = []
        while (frame := self.take()) is not None:
            frames.append(frame)
        return frames

    def buffer(self, *, tight: bool = False) -> memoryview:
        """The memory for the next bytes; a small part of it while memory is `tight`."""
        if self._large is not None:
            return memoryview(self._large)[self._filled : min(self._room, self._filled + self._read_size)]
        if not self._left:
            self._prefix = 0
            return self._scratch[:SMALL] if tight else self._scratch
        self._prefix = len(self._left) - self._at
        self._scratch[: self._prefix] = self._left[self._at :] if self._at else self._left
        return self._scratch[self._prefix : self._prefix + SMALL] if tight else self._scratch[self._prefix :]

    def add(self, count: int) -> None:
        """Count bytes that were received into `buffer`."""
        if self._large is not None:
            self._filled += count
        else:
            self._left = bytes(self._scratch[: self._prefix + count])
            self._at = 0

    def take(self, *, tight: bool = False) -> bytes | memoryview | None:
        """The next frame with its size, or None until more bytes have arrived."""
        if self._large is not None:
            if self._filled < self._total:
                return None
            whole, self._large = memoryview(self._large)[: self._total], None
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
            if _HEAD + size > (SMALL if tight else len(self._scratch) // 2):
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

    def grow(self) -> None:
        """Give the large frame the memory that it wants."""
        assert self._large is not None
        room = self._room + self.wanted
        if len(self._large) < room:
            memory = _map(self._total) if self._maps_memory and self._total > ORDINARY else bytearray(room)
            memoryview(memory)[: self._filled] = memoryview(self._large)[: self._filled]
            self._large = memory
        self._room = room

    def reuse(self, view: memoryview) -> None:
        """Receive a later frame into the memory behind a view, which is no longer read."""
        if isinstance(view.obj, bytearray) and len(view.obj) <= self._first_room:
            self._spare = view.obj

    def clear(self) -> None:
        """Free all memory; nothing is received any more."""
        self._left, self._at, self._large, self._spare = b"", 0, None, None

    def _compact(self) -> None:
        """Drop the bytes of frames that were taken, because the rest of a read may be a single byte."""
        if self._at:
            self._left, self._at = self._left[self._at :], 0

    def _start_large(self, total: int, *, tight: bool) -> None:
        begun = self._left[self._at :]
        if self._spare is not None and len(self._spare) >= total:
            self._large, self._spare, self._room = self._spare, None, total
        else:
            self._room = len(begun) if tight else min(total, max(self._first_room, len(begun)))
            self._large = bytearray(self._room)
        self._large[: len(begun)] = begun
        self._filled, self._total = len(begun), total
        self._left, self._at = b"", 0


class FrameReader:
    """Collects chunks of a stream and returns complete frames.

    >>> reader = FrameReader(max_size=100)
    >>> reader.feed(b"\\x00\\x00\\x00\\x02h"), reader.feed(b"i\\x00")
    ([], [b'\\x00\\x00\\x00\\x02hi'])
    >>> reader.pending
    1
    """

    def __init__(self, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self.max_size = max_size
        self._buffer = ReceiveBuffer(max_size, first_room=_FEED_ROOM)

    @property
    def pending(self) -> int:
        """Bytes of an incomplete frame."""
        return self._buffer.pending

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[bytes]:
        """Add a chunk; returns the frames that are complete now, in order, each with its size."""
        frames: list[bytes] = []
        with memoryview(chunk) as view:
            at = 0
            while at < len(view):
                room = self._buffer.room()
                count = min(len(room), len(view) - at)
                room[:count] = view[at : at + count]
                frames += map(bytes, self._buffer.received(count))
                at += count
        return frames


def _map(size: int) -> mmap.mmap:
    try:
        return untouched_memory(size)
    except OSError as error:
        raise NoMemoryError(f"a frame of {size} bytes: the system has no memory for it ({error})") from error
