"""Tune a Python worker of Spark.

Rules:
- A worker collects garbage after every task, about 25 ms each time. Objects of the first task are frozen, so that later
  collections skip them.
- Every batch allocates and frees buffers of megabytes. By default the C library returns them to the system and gets
  them back cleared, which costs a fifth of reading a topic. A worker keeps up to `KEPT` bytes instead.
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
_is_tuned = False


def tune_worker() -> None:
    """Freeze the loaded objects and keep freed memory; only the first call in a process does so."""
    global _is_tuned
    if not _is_tuned:
        gc.freeze()
        _keep_memory()
        _is_tuned = True


def _keep_memory() -> None:
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_THRESHOLD)
        mallopt(_TRIM_THRESHOLD, KEPT)
