"""The topic `__transaction_state` as the coordinator's log.

Rules:
- FindCoordinator creates the topic. Without it this broker is not the coordinator of any transactional id.
- All records of an id are in one partition: Java's hash of the id, modulo the number of partitions. That number must
  not change, because the records of an id would be in two partitions.
- Every change is one batch with one record, so that a cut end of the log removes whole changes.
- An appended record is durable at once, or with flush.on.ack after the sync (`Node.durable`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkawire.broker._metadata.topics import TRANSACTION_STATE
from kafkawire.broker.groups.offsets_log import partition_of
from kafkawire.broker.transactions.records import decode, encode_key, encode_value
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import Change, Transaction

_READ_BYTES: Final = 1 << 20


class TransactionLog:
    """Writes the changes of transactional ids to a node's log, and loads them."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def exists(self) -> bool:
        return TRANSACTION_STATE in self._node.topics

    def write(self, change: Change, level: int, now: int) -> Awaitable[None] | None:
        """Append the record of a change; returns the sync to await, or None if it is durable already."""
        transactional_id = change.entry.current.transactional_id
        node = self._node
        partition = node.partition(TRANSACTION_STATE, self._index(transactional_id))
        value = None if change.target is None else encode_value(change.target, level)
        builder = BatchBuilder()
        builder.append(encode_key(transactional_id), value, timestamp=now)
        epoch = node.epoch_of(TRANSACTION_STATE, partition.number)
        append = partial(partition.log.append_own, builder.build(), now, leader_epoch=epoch)
        return node.durable(partition, node.write(partition, append).last_offset)

    def load(self) -> list[Transaction]:
        """Every transactional id in the topic."""
        topic = self._node.topics.find(TRANSACTION_STATE)
        found = []
        for index in range(0 if topic is None else topic.partitions):
            found += decode(self._read(index))
        return found

    def _index(self, transactional_id: str) -> int:
        return partition_of(transactional_id, self._node.topics.get(TRANSACTION_STATE).partitions)

    def _read(self, index: int) -> dict[bytes, bytes]:
        """The last record of each key in a partition; those without a value are removed."""
        log = self._node.log(TRANSACTION_STATE, index)
        found: dict[bytes, bytes] = {}
        offset, end = log.log_start_offset, log.end_offset
        while data := log.read(offset, _READ_BYTES, up_to=end).read():
            for batch in read_batches(data):
                offset = batch.next_offset
                if batch.is_control:
                    continue
                for record in batch.records():
                    key = bytes(record.key or b"")
                    if record.value is None:
                        found.pop(key, None)
                    else:
                        found[key] = bytes(record.value)
        return found
