"""Memory of batches that were delivered, for the next ones of the same producer.

Rules:
- Clearing fresh memory of the system costs more than copying records into it. A transaction delivers all of its
  batches before the next one begins, so their memory would go back to the system each time.
- Only memory for the largest batch is kept, up to KEPT bytes. A batch that would use little of it gets its own.
- Memory that anything still refers to (a sink of the trace, bytes that a transport has not sent) is not used again.
"""

from __future__ import annotations

from typing import Final

KEPT: Final = 2 * 1024 * 1024
_LEAST_USE: Final = 4


class BatchMemory:
    """Gives memory for batches of at most `size` bytes, and takes it back.

    >>> memory = BatchMemory(1000)
    >>> space = memory.take(900)
    >>> memory.give(space)
    >>> memory.take(900) is space
    True
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: list[bytearray] = []

    def take(self, size: int) -> bytearray:
        """Memory of at least this many bytes, with any content."""
        if not self._size // _LEAST_USE <= size <= self._size:
            return bytearray(size)
        while self._free:
            space = self._free.pop()
            try:
                space.append(space.pop())  # refused while a view of it exists
            except BufferError:
                continue
            return space
        return bytearray(self._size)

    def give(self, space: bytearray) -> None:
        """The batch in this memory is delivered."""
        if len(space) == self._size and (len(self._free) + 1) * self._size <= KEPT:
            self._free.append(space)
