"""What every source does in a Python worker of Spark, whatever it reads.

Rules:
- A worker collects garbage after every task, some 25 ms each time; what is loaded by the first task stays out of it.
"""

from __future__ import annotations

import gc

_is_frozen = False


def freeze_once() -> None:
    """Keep what is loaded out of garbage collection."""
    global _is_frozen
    if not _is_frozen:
        gc.freeze()
        _is_frozen = True
