"""The watchdog of the broker's loop: it reports steps that keep other connections waiting.

Rules:
- A step is one run of a request's code between two waits. A step over LIMIT_SECONDS is counted, and logged with its
  API, at most once per second.
- A heartbeat finds the stalls that no step reported: garbage collection, timers, or a machine that gave the process no
  processor. Its line shows wall time and processor time, which distinguishes these cases.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from kafkawire.broker._ops.event_log import log_event

LIMIT_SECONDS: Final = 0.05
NOTABLE_SECONDS: Final = 0.0005
"""Shorter steps are not recorded, because recording costs time."""
BEAT_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 1.0


class Watchdog:
    """The longest step, and how many were too long."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.blocked: dict[str, int] = {}
        """Steps that took too long, by API."""
        self._quiet_until = 0.0
        self._reported = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._processor = 0.0

    def start(self) -> None:
        """Start to watch the running loop."""
        self._beat_later()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def check(self, began: float, work: str) -> None:
        """Record a step that began at a time of `perf_counter` and ends now."""
        seconds = time.perf_counter() - began
        if seconds > self.longest:
            self.longest = seconds
        if seconds > LIMIT_SECONDS:
            self._reported += seconds
            self._report(work, seconds)

    def _report(self, work: str, seconds: float, **more: object) -> None:
        self.blocked[work] = self.blocked.get(work, 0) + 1
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            log_event("loop blocked", level=logging.WARNING, api=work, ms=round(seconds * 1000), **more)

    def _beat_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = time.perf_counter() + BEAT_SECONDS
        self._processor = time.thread_time()
        self._reported = 0.0
        self._timer = loop.call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        late = time.perf_counter() - self._due - self._reported
        if late > LIMIT_SECONDS:
            used = round((time.thread_time() - self._processor) * 1000)
            self._report("none", late, processor_ms=used)
        self._beat_later()
