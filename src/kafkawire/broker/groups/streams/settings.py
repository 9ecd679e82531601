"""The settings of streams groups, of the broker and of single groups."""

from __future__ import annotations

from typing import NamedTuple


class StreamsTiming(NamedTuple):
    """The intervals and timeouts of one group, in milliseconds, and its number of standbys."""

    session_timeout: int = 45_000
    heartbeat_interval: int = 5_000
    assignment_interval: int = 1_000
    initial_delay: int = 3_000
    standbys: int = 0
