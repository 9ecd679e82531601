"""What a coordinator must do to live in a node: groups, transactions.

Rules:
- `start` runs when the logs are open and before the first connection; it loads state from internal topics.
- `stop` runs when the last connection is gone and before the logs are closed.
- All calls come from the broker's loop.
- `kafkawire.broker.groups.service.Groups(node)` is `node.groups`; its constructor only takes note of the node, which is
  not whole yet.
- Its log: `node.internal_topic(CONSUMER_OFFSETS)` makes the topic with its settings if need be, `node.append(topic,
  index, batches)` writes to it, `await node.settled(topic, index, last_offset)` (None: no need) comes before the
  answer, and `node.log(topic, index).read(...)` reads it back at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.topics import Topic


class Gauge(NamedTuple):
    """One number of the metrics page: a Prometheus name, its labels, its value."""

    name: str
    labels: dict[str, str]
    value: float


class Service(Protocol):
    """A part of the broker with state and timers of its own."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def topic_deleted(self, topic: Topic) -> None:
        """A topic is gone; whatever refers to it by name must go too."""
        ...

    def gauges(self) -> Iterable[Gauge]:
        """Numbers for the metrics page."""
        ...
