"""The memory of large requests.

Rules:
- A large request creates hundreds of thousands of objects, which are in use until its response is encoded. A garbage
  collection would visit all of them, repeatedly, and stop every thread for 100 ms and more each time. So the collector
  is disabled meanwhile.
- Reference counting frees these objects, because they form no cycles. The collector runs between two large requests.
- Freeing many objects at once also takes long. `free` does it piece by piece, in a thread.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kafkawire._codec.plan import LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

FREED_AT_ONCE: Final = 500


@contextmanager
def collector_disabled() -> Iterator[None]:
    """Run no garbage collection within the context."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def free(struct: Any) -> None:
    """Empty the lists of a message piece by piece, so that other threads run in between; do not use it afterwards."""
    for slot in struct.__shape__.slots:
        if slot.shape is not None and slot.default_kind == LIST:
            elements = getattr(struct, slot.attribute)
            while elements:
                piece = elements[-FREED_AT_ONCE:]
                del elements[-FREED_AT_ONCE:]
                for each in piece:
                    free(each)
