"""What every source does in a Python worker of Spark, whatever it reads.

Rules:
- A worker collects garbage after every task, some 25 ms each time; what is loaded by the first task stays out of it.
- Buffers of megabytes come and go with every batch. The C library would give each back to the system and get it anew,
  cleared page by page, which costs a fifth of reading a topic; a worker keeps up to `KEPT` bytes of them instead.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

KEPT: Final = 128 * 1024 * 1024
_TRIM_THRESHOLD: Final = -1  # of glibc's malloc.h
_MMAP_THRESHOLD: Final = -3
_LARGEST_THRESHOLD: Final = 32 * 1024 * 1024  # glibc refuses more
_is_settled = False


def settle_once() -> None:
    """Keep what is loaded out of garbage collection, and memory that is freed at hand."""
    global _is_settled
    if not _is_settled:
        gc.freeze()
        _keep_memory()
        _is_settled = True


def _keep_memory() -> None:
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_THRESHOLD)
        mallopt(_TRIM_THRESHOLD, KEPT)
