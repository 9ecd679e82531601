"""A loop whose clock stands still while anything happens: timeouts end what never comes, and nothing that is only slow.

Rules:
- Time passes only while nothing is ready and no bytes come; a wait that is long is cut short, and counts in full.
- The client and its broker share the loop. The loop does not see threads, so its time would run ahead of them.
"""

from __future__ import annotations

import asyncio
from selectors import DefaultSelector
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selectors import SelectorKey

LONGEST = 0.05
"""Seconds without a byte after which none is on its way: both ends are on this machine."""


class IdleTime(DefaultSelector):
    """Counts the seconds that were waited for in vain."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        found = super().select(min(timeout, LONGEST) if timeout else timeout)
        if timeout and not found:
            self.passed += timeout
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._idle = IdleTime()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.passed


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `asyncio.run` use such a loop."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", VirtualTimeLoop)
