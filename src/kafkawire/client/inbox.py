"""Whole frames out of the bytes of one connection, received where they are to stay.

Rules:
- Small frames are copied out of a buffer that is used again; a large frame gets memory of its own and is received into
  directly.
- Memory grows with what arrives, not with what is promised, and a frame above the limit is refused at its fourth byte.
- Memory of a large frame that its reader gives back (`reuse`) serves the next one: clearing fresh memory costs as much
  as receiving into it.
"""

from __future__ import annotations

from typing import Final

from kafkawire.wire.frames import DEFAULT_MAX_SIZE, SIZE, check_size

_SCRATCH: Final = 64 * 1024
_FIRST_ROOM: Final = 16 * 1024 * 1024


class Inbox:
    """`room` says where to receive, `received` how many bytes came; frames come out, each with its size.

    >>> inbox = Inbox()
    >>> inbox.room()[:6] = b"\\0\\0\\0\\2hi"
    >>> inbox.received(6)
    [b'\\x00\\x00\\x00\\x02hi']
    """

    __slots__ = ("_consumed", "_filled", "_large", "_max_size", "_scratch", "_spare", "_total")

    def __init__(self, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._max_size = max_size
        self._large: bytearray | None = None
        self._spare: bytearray | None = None
        self._filled = self._total = self._consumed = 0

    def room(self) -> memoryview:
        """Where the next bytes go; never empty."""
        if self._large is None:
            return self._scratch[self._filled :]
        if self._filled == len(self._large):
            more = bytearray(min(2 * len(self._large), self._total))
            more[: self._filled] = self._large
            self._large = more
        return memoryview(self._large)[self._filled : self._total]

    def received(self, count: int) -> list[bytes | memoryview]:
        """The frames that are whole now, in order."""
        self._filled += count
        if self._large is None:
            return self._cut()
        if self._filled < self._total:
            return []
        frame = memoryview(self._large)[: self._total]
        self._consumed += self._total
        self._large, self._filled = None, 0
        return [frame]

    def reuse(self, view: memoryview) -> None:
        """Nobody reads the frame behind a view any more."""
        if isinstance(view.obj, bytearray) and len(view.obj) <= _FIRST_ROOM:
            self._spare = view.obj

    def _cut(self) -> list[bytes | memoryview]:
        scratch, start, end = self._scratch, 0, self._filled
        frames: list[bytes | memoryview] = []
        while end - start >= SIZE.size:
            size = check_size(SIZE.unpack_from(scratch, start)[0], self._max_size, scratch[start:], self._consumed)
            stop = start + SIZE.size + size
            if stop > end:
                if stop - start > len(scratch):
                    self._begin_large(start, stop - start)
                    return frames
                break
            frames.append(bytes(scratch[start:stop]))
            self._consumed += stop - start
            start = stop
        if start:
            rest = bytes(scratch[start:end])
            scratch[: len(rest)] = rest
            self._filled = len(rest)
        return frames

    def _begin_large(self, start: int, total: int) -> None:
        begun = self._scratch[start : self._filled]
        if self._spare is not None and len(self._spare) >= total:
            self._large, self._spare = self._spare, None
        else:
            self._large = bytearray(min(total, max(_FIRST_ROOM, len(begun))))
        self._large[: len(begun)] = begun
        self._filled, self._total = len(begun), total
