"""The finalized features of the cluster (KIP-584), as its brokers report them.

Rules:
- Every connection reports the features with its first answer. The state with the highest epoch is the latest one; a
  broker that lags behind reports an older one.
- A client with connections that stay open asks again when its state is older than `metadata_max_age_ms`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kafkawire.wire.negotiation import NO_FEATURES

if TYPE_CHECKING:
    from kafkawire.wire.negotiation import Features


class ClusterFeatures:
    """The latest state, and when it was reported.

    >>> from kafkawire.wire.negotiation import Features
    >>> features = ClusterFeatures(300.0)
    >>> features.note(Features(4, {"transaction.version": 2}), 10.0)
    >>> features.note(Features(3, {"transaction.version": 1}), 20.0)
    >>> features.level("transaction.version"), features.is_old(320.0)
    (2, False)
    """

    def __init__(self, max_age: float) -> None:
        self._max_age = max_age
        self._latest = NO_FEATURES
        self._reported_at = -math.inf

    def note(self, found: Features, now: float) -> None:
        """A broker has reported its state."""
        self._reported_at = now
        if found.epoch >= self._latest.epoch:
            self._latest = found

    def replace(self, found: Features, now: float) -> None:
        """The state of a cluster that may be another one, whose epochs are not those of the last."""
        self._latest, self._reported_at = found, now

    def level(self, name: str) -> int:
        """The finalized level of a feature, 0 if it has none."""
        return self._latest.level(name)

    def is_old(self, now: float) -> bool:
        """Whether a broker should be asked again."""
        return now - self._reported_at > self._max_age
