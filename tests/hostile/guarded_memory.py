"""Bytes that end where the readable memory ends: reading one byte more kills the process."""

from __future__ import annotations

import ctypes
import mmap
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)


class GuardedMemory:
    """A run of pages with a forbidden one behind it."""

    def __init__(self, size: int) -> None:
        self.size = -(-size // PAGE) * PAGE
        self._map = mmap.mmap(-1, self.size + PAGE)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._protect(0)

    @contextmanager
    def ending_with(self, data: bytes | bytearray) -> Iterator[memoryview]:
        """A view of the data whose last byte is the last one that may be read."""
        start = self.size - len(data)
        self._map[start : self.size] = bytes(data)
        with memoryview(self._map)[start : self.size] as view:
            yield view

    def _protect(self, rights: int) -> None:
        if _libc.mprotect(ctypes.c_void_p(self._address + self.size), ctypes.c_size_t(PAGE), rights) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")
