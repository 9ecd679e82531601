"""Frames: an int32 size, then that many bytes.

Rules:
- A frame is passed on with its size, so that it can be written again unchanged.
- A size below 0 or above the limit is refused as soon as its four bytes are there, before memory is allocated.
"""

from __future__ import annotations

import struct
from typing import Final

from kafkawire.wire.errors import FrameError

SIZE: Final = struct.Struct(">i")
DEFAULT_MAX_SIZE: Final = 104_857_600  # Kafka's socket.request.max.bytes
LARGEST: Final = 0x7FFFFFFF


def check_size(size: int, max_size: int, beginning: memoryview | bytes, offset: int = 0) -> int:
    """The size if it is valid; else a FrameError that names the protocol that the bytes look like."""
    if 0 <= size <= max_size:
        return size
    found = f"a frame of {size} bytes" if size >= 0 else f"a negative frame size ({size})"
    raise FrameError(f"{found} at stream offset {offset}: expected 0 to {max_size}{looks_like(bytes(beginning[:8]))}")


def frame(parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """The parts of one frame, preceded by its size."""
    total = sum(len(part) for part in parts)
    check_total(total)
    return [SIZE.pack(total), *parts]


def check_total(size: int) -> None:
    """Refuse to write a frame whose size does not fit into its four bytes."""
    if size > LARGEST:
        raise FrameError(f"a frame of {size} bytes: expected at most {LARGEST}")


def unframe(data: bytes | bytearray | memoryview) -> memoryview:
    """One complete frame; a FrameError if its size is not that of the bytes that follow."""
    view = memoryview(data)
    if len(view) < SIZE.size:
        raise FrameError(f"expected a frame, which begins with 4 bytes of size, found {len(view)} bytes")
    size = SIZE.unpack_from(view)[0]
    if size != len(view) - SIZE.size:
        raise FrameError(f"expected the {size} bytes that the frame's size says, found {len(view) - SIZE.size}")
    return view


def looks_like(beginning: bytes) -> str:
    """The protocol that bytes in place of a frame's size belong to, in words; empty if it is not known."""
    if beginning[:2] == b"\x16\x03":
        return "; this looks like TLS on a plaintext port"
    if beginning[:4] in (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN"):
        return "; this looks like HTTP on a Kafka port"
    if beginning[:4] == b"HTTP":
        return "; this looks like an HTTP answer, not a Kafka broker"
    if beginning[:4] == b"SSH-":
        return "; this looks like SSH"
    return ""
