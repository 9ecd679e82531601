"""The topic `__consumer_offsets` as the coordinator's log.

Rules:
- A group's records are all in one partition: Java's hash of the group's name, modulo the number of partitions.
- The topic is made when the first record is written.
- What was appended is settled when the node says so: at once, or with flush.on.ack when the disk has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.loading import Replay
from kafkawire.broker.topics import CONSUMER_OFFSETS
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from kafkawire.broker.groups.group import Group
    from kafkawire.broker.groups.records import Entry
    from kafkawire.broker.node import Node

_READ_BYTES: Final = 1 << 20
_HASH_MASK: Final = 0xFFFFFFFF


class OffsetsLog:
    """Writes records of groups into a node's log, and reads them back."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._last: dict[int, int] = {}

    def append(self, group_id: str, entries: Sequence[Entry], now: int) -> None:
        """Add records as one batch, all or none."""
        builder = BatchBuilder()
        for key, value in entries:
            builder.append(key, value, timestamp=now)
        index = self._partition(group_id)
        self._last[index] = self._node.append(CONSUMER_OFFSETS, index, builder.build()).last_offset

    def settled(self, group_id: str) -> Awaitable[None] | None:
        """What to await before telling of anything that was written about a group; None if there is nothing."""
        if CONSUMER_OFFSETS not in self._node.topics:
            return None
        index = self._partition(group_id)
        last = self._last.get(index)
        return None if last is None else self._node.settled(CONSUMER_OFFSETS, index, last)

    def forget(self) -> None:
        """The topic is gone, and with it everything that was to be settled."""
        self._last.clear()

    def load(self) -> list[Group]:
        """Every group that the topic tells of."""
        topic = self._node.topics.find(CONSUMER_OFFSETS)
        return [] if topic is None else [group for index in range(topic.partitions) for group in self._read(index)]

    def _partition(self, group_id: str) -> int:
        return partition_of(group_id, self._node.internal_topic(CONSUMER_OFFSETS).partitions)

    def _read(self, index: int) -> list[Group]:
        log = self._node.log(CONSUMER_OFFSETS, index)
        replay, offset, end = Replay(), log.log_start_offset, log.end_offset
        while data := log.read(offset, _READ_BYTES, up_to=end).read():
            for batch in read_batches(data):
                replay.batch(batch)
                offset = batch.next_offset
        return replay.groups()


def partition_of(group_id: str, partitions: int) -> int:
    """The partition that holds a group.

    >>> partition_of("my-group", 50), partition_of("", 50)
    (12, 0)
    """
    found = 0
    units = group_id.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (found * 31 + (high << 8 | low)) & _HASH_MASK
    signed = found - (1 << 32) if found >= 1 << 31 else found
    return 0 if signed == -(1 << 31) else abs(signed) % partitions
