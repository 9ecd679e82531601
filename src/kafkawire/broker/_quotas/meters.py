"""Rates and throttle times, by Kafka's formula: pure, with the time as an argument.

Rules:
- A rate is measured over samples of `size_ms`. A new sample begins with the first value after the current one is that
  old. `number` samples and the current one count; older ones are dropped.
- The window is at least `number` - 1 samples long, so that a burst of that length is free.
- A value is recorded first and checked afterwards. A rate above its quota is throttled for the time after which the
  average is the quota.
- A token bucket holds `number` samples of its rate. It may be overdrawn once; the time until it is not is the throttle
  time (KIP-599).
"""

from __future__ import annotations

from math import floor


class Rate:
    """A rate over a window of samples.

    >>> rate = Rate(11, 1000)
    >>> rate.record(20_000_000, 0)
    >>> rate.throttle_ms(1_000_000, 0)
    10000
    """

    __slots__ = ("_number", "_samples", "_size_ms", "used")

    def __init__(self, number: int, size_ms: int) -> None:
        self._number = number
        self._size_ms = size_ms
        self._samples: list[list[float]] = []
        """The start and the sum of each sample, and the time of its last value."""
        self.used = 0.0

    def record(self, value: float, now: float) -> None:
        """Add a value; a negative one takes an earlier one back."""
        self.used = now
        samples = self._samples
        if not samples or now - samples[-1][0] >= self._size_ms:
            samples.append([now, 0.0, now])
            if len(samples) > self._number + 1:
                del samples[0]
        samples[-1][1] += value
        samples[-1][2] = now

    def throttle_ms(self, quota: float, now: float) -> int:
        """Milliseconds until the rate is the quota again; 0 if it is not above."""
        window = self._window(now)
        total = sum(sample[1] for sample in self._samples)
        rate = total / (window / 1000)
        return 0 if rate <= quota else round((rate - quota) / quota * window)

    def rate(self, now: float) -> float:
        """Per second, over the window."""
        window = self._window(now)
        return sum(sample[1] for sample in self._samples) / (window / 1000)

    def _window(self, now: float) -> float:
        samples, size = self._samples, self._size_ms
        oldest = self._number * size
        while samples and now - samples[0][2] >= oldest:
            del samples[0]
        elapsed = now - samples[0][0] if samples else 0.0
        missing = self._number - 1 - floor(elapsed / size)
        if missing > 0:
            elapsed += missing * size
        return max(elapsed, 1.0)


class TokenBucket:
    """Tokens that a client may use, at a rate, with a burst.

    >>> bucket = TokenBucket(11, 1000)
    >>> bucket.take(30, 2.0, 0), bucket.throttle_ms(2.0, 0)
    (None, 4000)
    """

    __slots__ = ("_seconds", "_tokens", "_updated", "used")

    def __init__(self, number: int, size_ms: int) -> None:
        self._seconds = number * size_ms / 1000
        self._tokens: float | None = None
        self._updated = 0.0
        self.used = 0.0

    def take(self, count: float, quota: float, now: float) -> None:
        """Take tokens, even more than there are."""
        self._tokens = self._current(quota, now) - count
        self._updated = self.used = now

    def throttle_ms(self, quota: float, now: float) -> int:
        """Milliseconds until the bucket is not overdrawn; 0 if it is not."""
        tokens = self._current(quota, now)
        return 0 if tokens >= 0 else round(-tokens / quota * 1000)

    def _current(self, quota: float, now: float) -> float:
        burst = self._seconds * quota
        if self._tokens is None:
            return burst
        return min(burst, self._tokens + (now - self._updated) / 1000 * quota)
