"""The interface of coordinators, such as that of groups, to their node.

Rules:
- `start` runs when the logs are open, before the coordinator is used. It loads state from its internal topic. If the
  topic exists when the broker starts, this is before the first connection.
- `stop` runs after the last connection is closed, before the logs are closed.
- All calls come from the broker's loop.
- `kafkawire.broker.groups.service.Groups(node)` is `node.groups`. Its constructor only keeps the node, which is not
  complete yet.
- Its log: `node.internal_topic(CONSUMER_OFFSETS)` creates the topic if it does not exist. `node.append(topic, index,
  batches)` writes to it. `node.durable(partition, last_offset)` is awaited before the response, unless it is None.
  `node.log(topic, index).read(...)` reads it back at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker._metadata.topics import Topic

COORDINATORS: Final = {SHARE_GROUP_STATE: "shares", CONSUMER_OFFSETS: "groups", TRANSACTION_STATE: "transactions"}
"""The attribute of a node that is the coordinator, by the topic that holds its state."""


class Gauge(NamedTuple):
    """One number of the metrics page: a Prometheus name, its labels, its value."""

    name: str
    labels: dict[str, str]
    value: float


class Coordinator(Protocol):
    """A part of the broker with its own state and timers."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def topic_deleted(self, topic: Topic) -> None:
        """Drop all state that refers to a deleted topic."""
        ...

    def gauges(self) -> Iterable[Gauge]:
        """Numbers for the metrics page."""
        ...
