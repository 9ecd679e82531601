"""Python's garbage collector and large requests.

Rules:
- A large request makes hundreds of thousands of objects that are in use until it is answered. A collection looks at all
  of them, again and again, and each time keeps everyone waiting for 100 ms and more. So the collector rests meanwhile.
- They are freed without it, because no cycle holds them. Between two large requests it gets its turn.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def resting_collector() -> Iterator[None]:
    """Let no collection happen meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
