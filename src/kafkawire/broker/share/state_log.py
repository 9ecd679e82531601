"""The topic `__share_group_state` as the log of share partitions.

Rules:
- All records of a share partition are in one partition of the topic: Java's hash of `group:topicId:partition`, modulo
  the number of partitions.
- Changes are applied to the states when their batch is written. A batch that cannot be written raises a Kafka error,
  and changes nothing.
- Records before the oldest last snapshot are not needed. `prune` deletes them.
- A record that cannot be decoded is skipped with a warning, because one bad record must not prevent a start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkawire.broker._metadata.topics import SHARE_GROUP_STATE
from kafkawire.broker.groups.offsets_log import coordinator_error, partition_of
from kafkawire.broker.share.records import decode, encode
from kafkawire.broker.share.stored import StateUpdate
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import CodecError, uuid_text
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator

    from kafkawire.broker._node import Node
    from kafkawire.broker.share.stored import Change, ShareKey, ShareStates

_log: Final = logging.getLogger(__name__)
_READ_BYTES: Final = 1 << 20


class StateLog:
    """Writes changes of share partitions into a node's log, and loads them."""

    def __init__(self, node: Node, states: ShareStates) -> None:
        self.states = states
        self._node = node
        self._indexes: dict[ShareKey, int] = {}
        self._snapshots: dict[int, dict[ShareKey, int]] = {}
        """The offset of the last snapshot of each share partition, by partition of the topic."""
        self._last: dict[int, int] = {}

    def append(self, changes: Iterable[Change], now: int) -> None:
        """Add the records of changes, in one batch for each partition of the topic."""
        batches: dict[int, list[Change]] = {}
        for change in changes:
            batches.setdefault(self._index(change.key), []).append(change)
        for index, together in batches.items():
            builder = BatchBuilder()
            for change in together:
                key, value = encode(change)
                builder.append(key, value, timestamp=now)
            try:
                result = self._node.append(SHARE_GROUP_STATE, index, builder.build())
            except (KafkaWireError, OSError) as error:
                raise coordinator_error(together[0].key.group_id, error) from error
            self._last[index] = result.last_offset
            for offset, change in enumerate(together, result.base_offset):
                self._note(index, change, offset)
                self.states.apply(change)

    def durable(self, keys: Iterable[ShareKey]) -> Iterator[Awaitable[None]]:
        """The syncs to await before a response about share partitions."""
        if SHARE_GROUP_STATE in self._node.topics:
            for index in {self._index(key) for key in keys}:
                last = self._last.get(index)
                if last is not None:
                    durable = self._node.durable(self._node.partition(SHARE_GROUP_STATE, index), last)
                    if durable is not None:
                        yield durable

    def load(self) -> None:
        """Apply every change in the topic."""
        topic = self._node.topics.find(SHARE_GROUP_STATE)
        for index in range(0 if topic is None else topic.partitions):
            log = self._node.log(SHARE_GROUP_STATE, index)
            offset, end = log.log_start_offset, log.end_offset
            while data := log.read(offset, _READ_BYTES, up_to=end).read():
                for batch in read_batches(data):
                    offset = batch.next_offset
                    for record in batch.records():
                        value = None if record.value is None else bytes(record.value)
                        try:
                            change = decode(bytes(record.key or b""), value)
                        except CodecError as error:
                            _log.warning(
                                "skipped record %d of %s-%d: %s", record.offset, SHARE_GROUP_STATE, index, error
                            )
                            continue
                        if change is not None:
                            self._note(index, change, record.offset)
                            self.states.apply(change)

    async def prune(self) -> None:
        """Delete the records that no snapshot needs."""
        topic = self._node.topics.find(SHARE_GROUP_STATE)
        for index in range(0 if topic is None else topic.partitions):
            log = self._node.log(SHARE_GROUP_STATE, index)
            before = min(self._snapshots.get(index, {}).values(), default=log.end_offset)
            if before > log.log_start_offset:
                if log.recovery_point < before:  # a thread syncs what a log start must not be ahead of
                    await self._node.flusher.wait(SHARE_GROUP_STATE, index, log, before - 1)
                log.delete_records(before)

    def forget(self) -> None:
        """Forget all offsets, because the topic is deleted."""
        self._indexes.clear()
        self._snapshots.clear()
        self._last.clear()

    def _index(self, key: ShareKey) -> int:
        found = self._indexes.get(key)
        if found is None:
            partitions = self._node.internal_topic(SHARE_GROUP_STATE).partitions
            text = f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}"
            found = self._indexes[key] = partition_of(text, partitions)
        return found

    def _note(self, index: int, change: Change, offset: int) -> None:
        if isinstance(change.value, StateUpdate):
            return
        snapshots = self._snapshots.setdefault(index, {})
        if change.value is None:
            snapshots.pop(change.key, None)
            self._indexes.pop(change.key, None)
        else:
            snapshots[change.key] = offset
