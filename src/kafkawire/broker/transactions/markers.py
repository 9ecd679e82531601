"""Markers: the control batches that end a transaction in its partitions.

Rules:
- A marker has the epoch of the prepared record, and the leader epoch of this broker as the coordinator's epoch.
- A partition that does not exist any more needs no marker.
- A marker in `__consumer_offsets` also decides about the pending offsets of groups there.
- A partition whose disk fails does not stop the others. The caller tries the missing ones again.
- A repeated marker changes nothing, so that all of them may be written again after a restart.
- More than AT_ONCE markers take turns with requests.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._dispatch.turns import TurnBudget, Turns
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.transactions.states import State
from kafkawire.messages.errors import KafkaError, UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import Entry, TopicPartition


AT_ONCE: Final = 50


class Marker(NamedTuple):
    """The end of a producer's transaction; `level` is the transaction.version of its client."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    commit: bool
    level: int = 0


class Markers:
    """Writes markers to the partitions of a node."""

    def __init__(self, node: Node, turns: Turns) -> None:
        self._node = node
        self._turns = turns

    async def write_all(self, entry: Entry) -> None:
        """Write the missing markers of a prepared transaction; raises the first failure after all were tried."""
        current = entry.current
        marker = Marker(
            current.producer_id,
            current.epoch,
            self._node.leader_epoch,
            current.state is State.PREPARE_COMMIT,
            current.client_level,
        )
        budget = TurnBudget(self._turns) if len(entry.unmarked) > AT_ONCE else None
        waiting: list[tuple[TopicPartition, Awaitable[None]]] = []
        failure: KafkaError | None = None
        for place in sorted(entry.unmarked):
            if budget is not None:
                await budget.yield_if_due()
            try:
                durable = self.write(place, marker)
            except UnknownTopicOrPartitionError:
                durable = None
            except KafkaError as error:
                failure = failure or error
                continue
            if durable is None:
                entry.unmarked.discard(place)
            else:
                waiting.append((place, durable))
        for place, durable in waiting:
            try:
                await durable
                entry.unmarked.discard(place)
            except KafkaError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def write(self, place: TopicPartition, marker: Marker) -> Awaitable[None] | None:
        """Write a marker to one partition; returns the sync to await, or None if it is durable already."""
        node = self._node
        partition = node.partition(*place)
        producer_id, epoch, coordinator_epoch, commit, level = marker
        append = partial(
            partition.log.append_marker,
            producer_id,
            epoch,
            coordinator_epoch,
            commit=commit,
            level=level,
            leader_epoch=node.epoch_of(*place),
        )
        last_offset = node.write(partition, append).last_offset
        if place[0] == CONSUMER_OFFSETS:
            node.groups.end_transaction(place[1], last_offset, producer_id, commit=commit)
        return node.durable(partition, last_offset)
