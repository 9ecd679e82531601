"""When a client starts again from its bootstrap servers (KIP-899, KIP-1102, KIP-1242).

Rules:
- With `metadata_recovery_strategy=rebootstrap` the bootstrap servers are asked again if no known broker answers, or
  none has answered for `metadata_recovery_rebootstrap_trigger_ms`. They are also asked if a broker demands it
  (REBOOTSTRAP_REQUIRED). With `none` they are asked only until the cluster is found.
- A connection to a known broker names the broker and its cluster in ApiVersions v5. So another broker at its address
  demands a new start. Without recovery, or with `metadata_cluster_check_enable=false`, it names neither.
- Known brokers stay known until a bootstrap server has answered, and are asked again if none does, because an outage
  may be short. The answer of a bootstrap server replaces all metadata, because leader epochs and node ids may be those
  of another cluster by now.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kafkawire.client._cluster.handshake import Destination

if TYPE_CHECKING:
    from kafkawire.client._cluster.metadata import Node
    from kafkawire.client.options import ClientOptions


class Recovery:
    """How long a client has been without metadata, and whether it must start again.

    >>> from kafkawire.client.options import ClientOptions
    >>> recovery = Recovery(ClientOptions(metadata_recovery_rebootstrap_trigger_ms=5000))
    >>> recovery.begin(100.0)
    >>> recovery.is_due(104.0), recovery.is_due(105.5)
    (False, True)
    """

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._is_required = False
        self._since: float | None = None

    @property
    def is_enabled(self) -> bool:
        return self._options.metadata_recovery_strategy == "rebootstrap"

    @property
    def deadline(self) -> float:
        """The time up to which known brokers are asked for metadata."""
        if self._since is None or not self.is_enabled:
            return math.inf
        return self._since + self._options.metadata_recovery_rebootstrap_trigger_ms / 1000

    def is_due(self, now: float) -> bool:
        """Whether known brokers are not asked any more."""
        return self.is_enabled and (self._is_required or now > self.deadline)

    def begin(self, now: float) -> None:
        """Note that metadata is asked for."""
        if self._since is None:
            self._since = now

    def require(self) -> None:
        """Note that a broker demands a new start."""
        self._is_required = True

    def reset(self) -> None:
        """Start over: metadata was received, or no bootstrap server answers and known brokers get another chance."""
        self._since, self._is_required = None, False

    def destination(self, node: Node, cluster_id: str | None) -> Destination | None:
        """The broker that a new connection must lead to; None for a bootstrap server, which may be any."""
        if not self.is_enabled or not self._options.metadata_cluster_check_enable:
            return None
        return None if cluster_id is None or node.id < 0 else Destination(cluster_id, node.id)
