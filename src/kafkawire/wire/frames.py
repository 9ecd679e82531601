"""Frames: an int32 size, then that many bytes.

Rules:
- A frame is handed on with its size, so that what is read can be written again as it is.
- A size below 0 or above the limit is refused when its four bytes are there, before any room is made for the frame.
- Room grows with what arrives, never with what is promised.
"""

from __future__ import annotations

import struct
from typing import Final

from kafkawire.wire.errors import FrameError

SIZE: Final = struct.Struct(">i")
DEFAULT_MAX_SIZE: Final = 104_857_600  # Kafka's socket.request.max.bytes
LARGEST: Final = 0x7FFFFFFF


class FrameReader:
    """Collects chunks as they come off a connection and gives back whole frames.

    >>> reader = FrameReader(max_size=100)
    >>> reader.feed(b"\\x00\\x00\\x00\\x02h"), reader.feed(b"i\\x00")
    ([], [b'\\x00\\x00\\x00\\x02hi'])
    >>> reader.pending
    1
    """

    def __init__(self, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self.max_size = max_size
        self._held = bytearray()
        self._consumed = 0  # bytes of the stream before what is held

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._held)

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[bytes]:
        """Take a chunk; return the frames that are whole now, in order, each with its size."""
        self._held += chunk
        frames = []
        start = 0
        with memoryview(self._held) as view:
            while len(view) - start >= SIZE.size:
                size = check_size(SIZE.unpack_from(view, start)[0], self.max_size, view[start:], self._consumed + start)
                end = start + SIZE.size + size
                if end > len(view):
                    break
                frames.append(bytes(view[start:end]))
                start = end
        del self._held[:start]
        self._consumed += start
        return frames


def check_size(size: int, max_size: int, beginning: memoryview | bytes, offset: int = 0) -> int:
    """The size if it can be believed; else a FrameError that says what this looks like."""
    if 0 <= size <= max_size:
        return size
    found = f"a frame of {size} bytes" if size >= 0 else f"a negative frame size ({size})"
    raise FrameError(f"{found} at stream offset {offset}: expected 0 to {max_size}{_looks_like(bytes(beginning[:8]))}")


def frame(parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """The parts of one frame with its size in front."""
    total = sum(len(part) for part in parts)
    check_total(total)
    return [SIZE.pack(total), *parts]


def check_total(size: int) -> None:
    """Refuse to write a frame whose size its four bytes cannot say."""
    if size > LARGEST:
        raise FrameError(f"a frame of {size} bytes: expected at most {LARGEST}")


def unframe(data: bytes | bytearray | memoryview) -> memoryview:
    """One whole frame, checked: its size must be that of the bytes that follow."""
    view = memoryview(data)
    if len(view) < SIZE.size:
        raise FrameError(f"expected a frame, which begins with 4 bytes of size, found {len(view)} bytes")
    size = SIZE.unpack_from(view)[0]
    if size != len(view) - SIZE.size:
        raise FrameError(f"expected the {size} bytes that the frame's size says, found {len(view) - SIZE.size}")
    return view


def _looks_like(beginning: bytes) -> str:
    if beginning[:2] == b"\x16\x03":
        return "; this looks like TLS on a plaintext port"
    if beginning[:4] in (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN"):
        return "; this looks like HTTP on a Kafka port"
    if beginning[:4] == b"HTTP":
        return "; this looks like an HTTP answer, not a Kafka broker"
    if beginning[:4] == b"SSH-":
        return "; this looks like SSH"
    return ""
