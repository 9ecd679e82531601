"""How fast a peer sends.

Rules:
- Only time in which the broker waits for the peer counts.
- Bytes are counted in slots of SLOT_SECONDS. The rate is that of the last WINDOW_SECONDS, to the nearest slot.
- Most frames arrive as a whole. So the slots are made when further bytes of a frame arrive, or when the rate is asked
  for.
"""

from __future__ import annotations

from typing import Final

SLOT_SECONDS: Final = 0.25
WINDOW_SECONDS: Final = 1.0
_SLOTS: Final = 5  # those of the window, and the current one
_DECAY: Final = 0.9
_INSTANT: Final = 1e-6


class ReceiveRate:
    """How fast one peer sends the bytes that the broker waits for."""

    __slots__ = ("_began", "_counts", "_slot", "_total", "speed")

    def __init__(self, now: float) -> None:
        self.speed = 0.0
        """Bytes per second of the last large frames: the best one, reduced with each slower one; 0 before the first."""
        self.restart(now)

    def restart(self, now: float, count: int = 0) -> None:
        """Count from now on: a frame starts, or continues after it waited for memory or behind a request.

        `count` bytes have arrived now.
        """
        self._began = now
        self._counts: list[int] | None = None
        self._total = count

    def add(self, count: int, now: float) -> None:
        """Count bytes that arrived."""
        if self._counts is None:
            self._counts = self._first_counts()
        slot = int(now / SLOT_SECONDS)
        if slot != self._slot:
            self._advance(slot)
        self._counts[slot % _SLOTS] += count
        self._total += count

    def rate(self, now: float, unread: int = 0) -> float | None:
        """Bytes per second, `unread` bytes in the system's buffer included; None if it is too early to say."""
        if now - self._began < WINDOW_SECONDS + SLOT_SECONDS:
            return None
        if self._counts is None:
            self._counts = self._first_counts()
        self._advance(int(now / SLOT_SECONDS))
        return (sum(self._counts) + unread) / WINDOW_SECONDS

    def finish(self, now: float) -> None:
        """Update the speed, because a large frame is complete."""
        if self._total:
            seconds = max(now - self._began, _INSTANT)
            self.speed = max(self.speed * _DECAY, self._total / seconds)
            self.restart(now)

    def _first_counts(self) -> list[int]:
        counts = [0] * _SLOTS
        self._slot = int(self._began / SLOT_SECONDS)
        counts[self._slot % _SLOTS] = self._total
        return counts

    def _advance(self, slot: int) -> None:
        assert self._counts is not None
        for passed in range(max(self._slot + 1, slot - _SLOTS + 1), slot + 1):
            self._counts[passed % _SLOTS] = 0
        self._slot = slot
