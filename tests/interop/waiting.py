"""Waiting for what clients do in their own time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 40.0


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Return when something has come to pass; fail when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)
