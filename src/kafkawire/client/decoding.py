"""Fetched bytes as records, or as Arrow columns.

Rules:
- Records before the position asked for are left out: a fetch begins with the whole batch that holds it.
- With read_committed, records of aborted transactions are left out: a producer's transactional batches are, from the
  first offset that the broker lists for it to its ABORT marker. Control batches are never handed out.
- A chunk is decoded at once, when its first record is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kafkawire.records import RECORD_SCHEMA, ControlType, read_batches, to_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.records import Batch

_PLACES: Final = ("topic", "partition")
ARROW_COLUMNS: Final = (*_PLACES, *RECORD_SCHEMA.names)


class ConsumerRecord(NamedTuple):
    """A record and where it stands."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int = -1


class Chunk(NamedTuple):
    """What one fetch brought for a partition: bytes from `position` on, up to `next_offset`."""

    position: int
    next_offset: int
    records: memoryview
    aborted: list[tuple[int, int]]


def decode_chunk(chunk: Chunk, partition: TopicPartition, options: ConsumerOptions) -> list[ConsumerRecord]:
    """The records of a chunk."""
    topic, number = partition
    make = tuple.__new__
    kind: Any = ConsumerRecord
    position = chunk.position
    filtering = _Aborted(chunk.aborted) if chunk.aborted else None
    records: list[ConsumerRecord] = []
    for batch in read_batches(chunk.records, verify=options.check_crcs):
        if filtering is not None and filtering.leaves_out(batch):
            continue
        if batch.is_control:
            continue
        stamp, epoch = batch.timestamp_type, batch.leader_epoch
        found: list[ConsumerRecord] = [
            make(kind, (topic, number, each.offset, each.timestamp, stamp, each.key, each.value, each.headers, epoch))
            for each in batch.records(verify=options.check_crcs)
        ]
        if found and found[0].offset < position:
            found = [record for record in found if record.offset >= position]
        records += found
    if options.key_deserializer is not None or options.value_deserializer is not None:
        return [_deserialized(record, options) for record in records]
    return records


def chunk_to_arrow(
    chunk: Chunk, partition: TopicPartition, columns: Sequence[str] | None, verify: bool
) -> pa.RecordBatch:
    """The chunk as columns: those of `to_arrow`, and topic and partition."""
    names = list(ARROW_COLUMNS if columns is None else columns)
    stored = [name for name in names if name not in _PLACES]
    batch = to_arrow(
        chunk.records, columns=stored or ["offset"], verify=verify, aborted=chunk.aborted, start=chunk.position
    )
    if len(stored) == len(names):
        return batch
    count = batch.num_rows
    arrays: list[Any] = []
    for name in names:
        if name == "topic":
            arrays.append(pa.repeat(pa.scalar(partition.topic), count))
        elif name == "partition":
            arrays.append(pa.repeat(pa.scalar(partition.partition, pa.int32()), count))
        else:
            arrays.append(batch.column(name))
    return pa.RecordBatch.from_arrays(arrays, names)


def _deserialized(record: ConsumerRecord, options: ConsumerOptions) -> ConsumerRecord:
    key, value = record.key, record.value
    if options.key_deserializer is not None and key is not None:
        key = options.key_deserializer(key)
    if options.value_deserializer is not None and value is not None:
        value = options.value_deserializer(value)
    return record._replace(key=key, value=value)


class _Aborted:
    """Which batches belong to aborted transactions, told in the order of the log."""

    def __init__(self, listed: list[tuple[int, int]]) -> None:
        self._coming = sorted(((first, producer) for producer, first in listed), reverse=True)
        self._open: set[int] = set()

    def leaves_out(self, batch: Batch) -> bool:
        while self._coming and self._coming[-1][0] <= batch.last_offset:
            self._open.add(self._coming.pop()[1])
        if batch.producer_id not in self._open or not batch.is_transactional:
            return False
        if batch.is_control and any(marker.type == ControlType.ABORT for marker in batch.markers()):
            self._open.discard(batch.producer_id)
        return True
