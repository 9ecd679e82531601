"""The calls by which a test moves leaders and coordinators, and stops one of several brokers.

Rules:
- They need `RunningBroker(brokers=...)`; with one broker they raise.
- They run on the broker's loop. Requests that wait for a moved partition are answered at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from kafkawire.messages.errors import UnknownTopicOrPartitionError
from kafkawire.testing._several_brokers import GROUP, TRANSACTION, UnknownBrokerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker import Broker
    from kafkawire.testing._several_brokers import SeveralBrokers

T = TypeVar("T")


class BrokerCalls(Protocol):
    """The calls about several brokers."""

    broker: Broker
    _brokers: SeveralBrokers | None

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the broker's loop."""

    @property
    def addresses(self) -> dict[int, str]:
        """The address of each broker that runs, by its id.

        >>> from kafkawire.testing import RunningBroker
        >>> with RunningBroker(brokers=3) as broker:
        ...     broker.create_topic("orders", partitions=3)
        ...     [broker.leader("orders", partition) for partition in range(3)], sorted(broker.addresses)
        ([1, 2, 3], [1, 2, 3])
        """
        return {each: str(self._several.endpoints[each]) for each in self._several.running}

    def leader(self, topic: str, partition: int = 0) -> int:
        """The id of the broker that leads a partition."""
        return self._several.leader(topic, partition)

    def move_leader(self, topic: str, partition: int = 0, *, to: int | None = None) -> int:
        """Move the leader of a partition to another broker, or to the next one; returns its id.

        The leader epoch rises. Clients get NOT_LEADER_OR_FOLLOWER from the old leader and look for the new one.
        """

        def move() -> int:
            if self.broker.node.topics.find(topic) is None:
                raise UnknownTopicOrPartitionError(f"no topic {topic!r}; create_topic({topic!r}) creates it")
            chosen = self._several.lead(topic, partition, to)
            self.broker.node.notify(topic, partition)
            return chosen

        return self.call(move)

    def coordinator(self, group: str) -> int:
        """The id of the broker that coordinates a group."""
        return self._several.coordinator(GROUP, group)

    def move_coordinator(self, group: str = "", *, transactional_id: str = "", to: int | None = None) -> int:
        """Move the coordinator of a group or of a transactional id to another broker, or to the next one."""
        kind, key = (TRANSACTION, transactional_id) if transactional_id else (GROUP, group)
        return self.call(lambda: self._several.coordinate(kind, key, to))

    def stop_broker(self, broker: int) -> None:
        """Stop one of several brokers: its connections close, and the next broker takes its partitions and groups."""

        def stop() -> None:
            led = self._several.stop(broker, ((each.name, each.partitions) for each in self.broker.node.topics))
            for place in led:
                self.broker.node.notify(*place)
            for connection in list(self.broker.server.connections):
                if self._several.names[connection.peer.listener] == broker:
                    connection.abort()

        self.call(stop)

    def start_broker(self, broker: int) -> None:
        """Start a broker that `stop_broker` stopped; it gets its partitions and groups back."""
        self.call(
            lambda: self._several.start(broker, ((each.name, each.partitions) for each in self.broker.node.topics))
        )

    @property
    def _several(self) -> SeveralBrokers:
        if self._brokers is None:
            raise UnknownBrokerError("there is one broker; RunningBroker(brokers=3) has several")
        return self._brokers
