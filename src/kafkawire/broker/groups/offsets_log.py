"""The topic `__consumer_offsets` as the coordinator's log.

Rules:
- All records of a group are in one partition: Java's hash of the group's name, modulo the number of partitions.
- The topic is created when the first record is written.
- An append either succeeds, or raises a Kafka error and changes nothing. The coordinator changes its state only after
  the append succeeded.
- Appended records are durable at once, or with flush.on.ack after the sync (`Node.durable`).
- Errors of the log become errors that members and committers can act on: look for the coordinator again, retry, or the
  commit is too large.
- Writing that a group became empty is optional. If it fails, a restart loads the last members, and their sessions
  expire.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.consumer.migration import ending
from kafkawire.broker.groups.consumer.records import encode
from kafkawire.broker.groups.java_order import hash_of_text
from kafkawire.broker.groups.pending import PendingOffsets
from kafkawire.broker.groups.records import encode_group, encode_group_end, encode_offset
from kafkawire.broker.groups.replay import Replay
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.share.group import ending as share_ending
from kafkawire.broker.groups.share.records import encode as encode_share
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.broker.groups.streams.group import ending as streams_ending
from kafkawire.broker.groups.streams.records import encode as encode_streams
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for, error_for
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence

    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.classic.group import TopicPartition
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.records import Entry

_log: Final = logging.getLogger(__name__)
_READ_BYTES: Final = 1 << 20
_TOO_LARGE: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)
_COORDINATOR_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


class EntryLog(Protocol):
    """The log that takes the records of groups."""

    def append(
        self, group_id: str, entries: Sequence[Entry], now: int, producer: tuple[int, int] | None = None
    ) -> None:
        """Add records, all or none; with a producer id and epoch as part of a transaction."""
        ...


class GroupWriter:
    """Writes the state of groups and offsets to the log."""

    def __init__(self, log: EntryLog) -> None:
        self._entries = log

    def write_group(self, group: Group, assignments: Mapping[str, bytes], now: int) -> None:
        self._append(group.group_id, [encode_group(group, assignments, now)], now, ErrorCode.UNKNOWN_SERVER_ERROR)

    def write(self, group_id: str, entries: Sequence[Entry], now: int) -> None:
        """Write records of one event, all or none."""
        self._append(group_id, entries, now, ErrorCode.UNKNOWN_SERVER_ERROR)

    def note_empty(self, group: Group, now: int) -> None:
        try:
            self.write_group(group, {}, now)
        except KafkaError as error:
            _log.warning("writing that group %r became empty failed: %s", group.group_id, error)

    def write_offsets(
        self, group_id: str, entries: Sequence[Entry], now: int, producer: tuple[int, int] | None = None
    ) -> None:
        """Write offsets, or tombstones for them; with a producer id and epoch as part of a transaction."""
        if entries:
            self._append(group_id, entries, now, ErrorCode.INVALID_COMMIT_OFFSET_SIZE, producer)

    def write_end(self, group: AnyGroup, offsets: Iterable[TopicPartition], now: int) -> None:
        """Write tombstones for a group and all of its offsets."""
        entries = [encode_offset(group.group_id, place, None) for place in offsets]
        self.write(group.group_id, [*entries, *_ends(group)], now)

    def _append(
        self,
        group_id: str,
        entries: Sequence[Entry],
        now: int,
        too_large: ErrorCode,
        producer: tuple[int, int] | None = None,
    ) -> None:
        try:
            self._entries.append(group_id, entries, now, producer)
        except (KafkaWireError, OSError) as error:
            raise coordinator_error(group_id, error, too_large) from error


def _ends(group: AnyGroup) -> Iterable[Entry]:
    """The tombstones of a group."""
    match group:
        case Group():
            return [encode_group_end(group.group_id)]
        case ShareGroup():
            return encode_share(group.group_id, share_ending(group))
        case StreamsGroup():
            return encode_streams(group.group_id, streams_ending(group))
        case _:
            return encode(group.group_id, ending(group))


def coordinator_error(
    group_id: str, error: Exception, too_large: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
) -> KafkaError:
    """The error that clients get for an error of the log."""
    code = ErrorCode(code_for(error))
    reported = too_large if code in _TOO_LARGE else _COORDINATOR_ERRORS.get(code, code)
    return error_for(reported, f"group {group_id!r}: {error}")


class OffsetsLog:
    """Writes records of groups into a node's log, and loads them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._last: dict[int, int] = {}

    def append(
        self, group_id: str, entries: Sequence[Entry], now: int, producer: tuple[int, int] | None = None
    ) -> None:
        """Add records as one batch, all or none; with a producer id and epoch as part of a transaction."""
        index = self.partition_of(group_id)
        if producer is None:
            batch = _batch(BatchBuilder(), entries, now)
            self._last[index] = self._node.append(CONSUMER_OFFSETS, index, batch).last_offset
        else:
            builder = BatchBuilder(is_transactional=True, producer_id=producer[0], producer_epoch=producer[1])
            partition = self._node.partition(CONSUMER_OFFSETS, index)
            append = partial(partition.log.append_unsequenced, _batch(builder, entries, now))
            self._last[index] = self._node.write(partition, append).last_offset

    def note(self, index: int, last_offset: int) -> None:
        """Note that a marker was written to a partition; responses about its groups wait for it too."""
        self._last[index] = last_offset

    def durable(self, group_id: str) -> Awaitable[None] | None:
        """The sync to await before a response about a group's records; None if no sync is needed."""
        if CONSUMER_OFFSETS not in self._node.topics:
            return None
        index = self.partition_of(group_id)
        last = self._last.get(index)
        return None if last is None else self._node.durable(self._node.partition(CONSUMER_OFFSETS, index), last)

    def forget(self) -> None:
        """Forget the appended offsets, because the topic is deleted."""
        self._last.clear()

    def load(self) -> tuple[list[AnyGroup], PendingOffsets]:
        """Every group in the topic, and the offsets of open transactions."""
        topic, pending = self._node.topics.find(CONSUMER_OFFSETS), PendingOffsets()
        groups: dict[str, AnyGroup] = {}
        for index in range(0 if topic is None else topic.partitions):
            groups |= {group.group_id: group for group in self._read(index, pending)}
        for group_id in pending.groups():
            groups.setdefault(group_id, Group(group_id))
        return list(groups.values()), pending

    def partition_of(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that holds a group."""
        return partition_of(group_id, self._node.internal_topic(CONSUMER_OFFSETS).partitions)

    def _read(self, index: int, pending: PendingOffsets) -> list[AnyGroup]:
        log = self._node.log(CONSUMER_OFFSETS, index)
        replay, offset, end = Replay(pending, index), log.log_start_offset, log.end_offset
        while data := log.read(offset, _READ_BYTES, up_to=end).read():
            for batch in read_batches(data):
                replay.batch(batch)
                offset = batch.next_offset
        return replay.groups()


def _batch(builder: BatchBuilder, entries: Iterable[Entry], now: int) -> bytes:
    for key, value in entries:
        builder.append(key, value, timestamp=now)
    return builder.build()


def partition_of(group_id: str, partitions: int) -> int:
    """The partition that holds a group.

    >>> partition_of("my-group", 50), partition_of("", 50)
    (12, 0)
    """
    found = hash_of_text(group_id)
    signed = found - (1 << 32) if found >= 1 << 31 else found
    return 0 if signed == -(1 << 31) else abs(signed) % partitions
