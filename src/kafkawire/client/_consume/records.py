"""Fetched bytes as records.

Rules:
- A fetch begins with the whole batch that holds the position. Records before the position are skipped.
- With read_committed, records of aborted transactions are skipped: the transactional batches of a producer from the
  first offset that the broker lists for it to its ABORT marker. Control batches are never returned.
- A chunk is decoded when its first record is requested, batch after batch until there are enough records.
- Bytes that cannot be decoded raise an error with partition and offset, after the records before them were returned.
- An error of a deserializer is raised with a note of the offset, after the records before it. `seek` skips the record.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client._cluster.metadata import NO_ID
from kafkawire.client.errors import ClientError, CorruptFetchError
from kafkawire.records import ControlType, CorruptRecordError, consumer_records, read_batches, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kafkawire.client._cluster.connection import BaseConnection
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.messages import FetchResponse
    from kafkawire.records import Batch

_ENOUGH: Final = 16 * 1024 * 1024
_LAST_OFFSET: Final = 2**63 - 1
ConsumerRecord = consumer_records.ConsumerRecord
_NAMED_BY_TOPIC: Final = 12  # the last version of Fetch that names topics instead of their ids


class Chunk(NamedTuple):
    """The bytes of one fetch of a partition, from `position` up to `next_offset`.

    The leader epoch is that of the last batch, -1 if it is unknown.
    """

    position: int
    next_offset: int
    records: memoryview
    aborted: list[tuple[int, int]]
    leader_epoch: int = -1


def fetch_version(connection: BaseConnection, topic_ids: Iterable[UUID]) -> int:
    """The version of a Fetch for topics with these ids."""
    version = connection.version("Fetch")
    return min(version, _NAMED_BY_TOPIC) if NO_ID in topic_ids else version


def fetched_chunk(
    found: FetchResponse.PartitionData, partition: TopicPartition, position: int, limit: str
) -> Chunk | None:
    """The chunk that an answer has for a position, None without records; `limit` names the size that was asked for."""
    records = found.records
    if records is None or not len(records):
        return None
    scan = scan_batches(records, verify=False)
    end = scan.next_offset
    if end is not None and end > position:
        aborted = [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()]
        return Chunk(position, end, memoryview(records)[: scan.end], aborted, scan.leader_epoch[scan.count - 1])
    if scan.error is not None:
        raise located(scan.error, partition, memoryview(records))
    if end is not None:
        raise ClientError(f"{partition}: the broker keeps sending batches before offset {position}")
    raise ClientError(
        f"{partition}: the batch at offset {position} does not fit {limit}, and the broker does not send it whole"
    )


def decode_chunk(
    chunk: Chunk, partition: TopicPartition, options: ConsumerOptions, most: int = sys.maxsize
) -> tuple[list[ConsumerRecord], Chunk | None]:
    """Records from the start of a chunk, up to the batch that gives `most` or enough of them, and the rest of it."""
    if not chunk.aborted and chunk.position <= _LAST_OFFSET:
        records, end, position = consumer_records.plain_records(
            chunk.records, chunk.position, options.check_crcs, most, _ENOUGH, *partition
        )
        if records:
            done = end == len(chunk.records)
            rest = None if done else chunk._replace(position=position, records=chunk.records[end:])
            return _deserialized(records, chunk, rest, options)
    return _decode(chunk, partition, options, most)


def _decode(
    chunk: Chunk, partition: TopicPartition, options: ConsumerOptions, most: int
) -> tuple[list[ConsumerRecord], Chunk | None]:
    filtering = _AbortedTransactions(chunk.aborted) if chunk.aborted else None
    position, size, end = chunk.position, 0, 0
    records: list[ConsumerRecord] = []
    batches = iter(read_batches(chunk.records, verify=options.check_crcs))
    while size < _ENOUGH and len(records) < most:
        try:
            batch = next(batches, None)
            if batch is None:
                return _deserialized(records, chunk, None, options)
            is_left_out = (filtering is not None and filtering.excludes(batch)) or batch.is_control
            found = [] if is_left_out else _records_of(batch, partition, position, options.check_crcs)
        except CorruptRecordError as error:
            if records:
                break
            raise located(error, partition, chunk.records) from error
        if found:
            records += found
            size += len(found) * (consumer_records.EACH + len(found[0].value or b""))
        position, end = max(position, batch.last_offset + 1), batch.end
    left = [] if filtering is None else filtering.left()
    rest = chunk._replace(position=position, records=chunk.records[end:], aborted=left)
    return _deserialized(records, chunk, rest, options)


def located(error: CorruptRecordError, partition: TopicPartition, records: memoryview) -> CorruptFetchError:
    """The error with partition and offset instead of a position in a buffer."""
    offset = int.from_bytes(records[error.position : error.position + 8], "big")
    return CorruptFetchError(f"{partition} at offset {offset}: {error}", partition, offset)


def _records_of(batch: Batch, partition: TopicPartition, position: int, verify: bool) -> list[ConsumerRecord]:
    found = consumer_records.build_records(
        batch.records(verify=verify), *partition, batch.timestamp_type, batch.leader_epoch
    )
    if found and found[0].offset < position:
        return [record for record in found if record.offset >= position]
    return found


def _deserialized(
    records: list[ConsumerRecord], chunk: Chunk, rest: Chunk | None, options: ConsumerOptions
) -> tuple[list[ConsumerRecord], Chunk | None]:
    of_key, of_value = options.key_deserializer, options.value_deserializer
    if of_key is None and of_value is None:
        return records, rest
    done: list[ConsumerRecord] = []
    for each in records:
        what = "key"
        try:
            key = each.key if of_key is None or each.key is None else of_key(each.key)
            what = "value"
            value = each.value if of_value is None or each.value is None else of_value(each.value)
        except Exception as error:
            if done:
                return done, chunk._replace(position=each.offset)
            error.add_note(f"in the {what} of {each.topic}-{each.partition} at offset {each.offset}")
            raise
        done.append(each._replace(key=key, value=value))
    return done, rest


class _AbortedTransactions:
    """Decides, in the order of the log, which batches belong to aborted transactions."""

    def __init__(self, listed: list[tuple[int, int]]) -> None:
        self._coming = sorted(((first, producer) for producer, first in listed), reverse=True)
        self._open: set[int] = set()

    def left(self) -> list[tuple[int, int]]:
        """The transactions for the rest of the chunk, in the form of a broker's list."""
        return [*((producer, -1) for producer in self._open), *((producer, first) for first, producer in self._coming)]

    def excludes(self, batch: Batch) -> bool:
        while self._coming and self._coming[-1][0] <= batch.last_offset:
            self._open.add(self._coming.pop()[1])
        if batch.producer_id not in self._open or not batch.is_transactional:
            return False
        if batch.is_control and any(marker.type == ControlType.ABORT for marker in batch.markers()):
            self._open.discard(batch.producer_id)
        return True
