"""How fast one peer moves the bytes that the broker waits for.

Rules:
- Only time in which the broker waits for the peer counts: the count starts again with a frame, and when a frame goes
  on that waited for memory or behind a request.
- Bytes are counted in slots of SLOT_SECONDS. The pace is that of the last WINDOW_SECONDS, to the nearest slot. A peer
  that was waited for less long has no pace yet.
- Bytes that the system has and the broker has not read yet count for the peer.
- The speed of a connection is that of its last large frames: the best one, reduced with each slower one.
"""

from __future__ import annotations

from typing import Final

SLOT_SECONDS: Final = 0.25
WINDOW_SECONDS: Final = 1.0
_SLOTS: Final = 5  # those of the window, and the one that is not over
_FORGETTING: Final = 0.9
_INSTANT: Final = 1e-6


class Pace:
    """Bytes received on one connection, and when."""

    __slots__ = ("_began", "_counts", "_slot", "_total", "speed")

    def __init__(self, now: float) -> None:
        self.speed = 0.0
        """Bytes per second of the last large frames; 0 before the first."""
        self.restart(now)

    def restart(self, now: float) -> None:
        """The broker waits for the peer from now on."""
        self._began = now
        self._slot = int(now / SLOT_SECONDS)
        self._counts = [0] * _SLOTS
        self._total = 0

    def move(self, count: int, now: float) -> None:
        """Count bytes that came."""
        slot = int(now / SLOT_SECONDS)
        if slot != self._slot:
            self._advance(slot)
        self._counts[slot % _SLOTS] += count
        self._total += count

    def rate(self, now: float, unread: int = 0) -> float | None:
        """Bytes per second lately; None if it is too early to say."""
        if now - self._began < WINDOW_SECONDS + SLOT_SECONDS:
            return None
        self._advance(int(now / SLOT_SECONDS))
        return (sum(self._counts) + unread) / WINDOW_SECONDS

    def finish(self, now: float) -> None:
        """A large frame is whole: remember how fast it came."""
        if self._total:
            seconds = max(now - self._began, _INSTANT)
            self.speed = max(self.speed * _FORGETTING, self._total / seconds)
            self.restart(now)

    def _advance(self, slot: int) -> None:
        for passed in range(max(self._slot + 1, slot - _SLOTS + 1), slot + 1):
            self._counts[passed % _SLOTS] = 0
        self._slot = slot
