"""Fetched bytes as records.

Rules:
- Records before the position asked for are left out: a fetch begins with the whole batch that holds it.
- With read_committed, records of aborted transactions are left out: a producer's transactional batches are, from the
  first offset that the broker lists for it to its ABORT marker. Control batches are never handed out.
- A chunk is decoded when its first record is wanted, batch after batch until enough came out; the rest waits.
- What cannot be decoded is an error that names partition and offset. The records before it are handed out first.
- So it is with what a deserializer refuses: its own error is raised, with a note that says where, once its record is
  the next. `seek` goes past it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.client.errors import CorruptFetchError
from kafkawire.implementation import load
from kafkawire.records import ControlType, CorruptRecordError, read_batches

if TYPE_CHECKING:
    from kafkawire.client import consumed as form
    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.records import Batch
else:
    form = load("kafkawire.client._consumed", "kafkawire.client.consumed")

_ENOUGH: Final = 16 * 1024 * 1024
_EACH: Final = 200  # about what a record takes as an object, besides its value


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
    """What one fetch brought for a partition: bytes from `position` on, up to `next_offset`.

    The leader epoch is that of the last batch, -1 where nobody knows it.
    """

    position: int
    next_offset: int
    records: memoryview
    aborted: list[tuple[int, int]]
    leader_epoch: int = -1


def decode_chunk(
    chunk: Chunk, partition: TopicPartition, options: ConsumerOptions
) -> tuple[list[ConsumerRecord], Chunk | None]:
    """Records from the start of a chunk on, and what is left of it."""
    return form.without_collecting(_decode, chunk, partition, options)


def _decode(
    chunk: Chunk, partition: TopicPartition, options: ConsumerOptions
) -> tuple[list[ConsumerRecord], Chunk | None]:
    filtering = _Aborted(chunk.aborted) if chunk.aborted else None
    position, size, end = chunk.position, 0, 0
    records: list[ConsumerRecord] = []
    batches = iter(read_batches(chunk.records, verify=options.check_crcs))
    while size < _ENOUGH:
        try:
            batch = next(batches, None)
            if batch is None:
                return _deserialized(records, chunk, None, options)
            is_left_out = (filtering is not None and filtering.leaves_out(batch)) or batch.is_control
            found = [] if is_left_out else _records_of(batch, partition, position, options.check_crcs)
        except CorruptRecordError as error:
            if records:
                break
            raise located(error, partition, chunk.records) from error
        if found:
            records += found
            size += len(found) * (_EACH + len(found[0].value or b""))
        position, end = max(position, batch.last_offset + 1), batch.end
    left = [] if filtering is None else filtering.left()
    rest = chunk._replace(position=position, records=chunk.records[end:], aborted=left)
    return _deserialized(records, chunk, rest, options)


def located(error: CorruptRecordError, partition: TopicPartition, records: memoryview) -> CorruptFetchError:
    """The error with the place that its reader knows: not a position in a buffer, but an offset in a partition."""
    offset = int.from_bytes(records[error.position : error.position + 8], "big")
    return CorruptFetchError(f"{partition} at offset {offset}: {error}", partition, offset)


def _records_of(batch: Batch, partition: TopicPartition, position: int, verify: bool) -> list[ConsumerRecord]:
    found: list[ConsumerRecord] = form.consumed(
        batch.records(verify=verify), ConsumerRecord, *partition, batch.timestamp_type, batch.leader_epoch
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


class _Aborted:
    """Which batches belong to aborted transactions, told in the order of the log."""

    def __init__(self, listed: list[tuple[int, int]]) -> None:
        self._coming = sorted(((first, producer) for producer, first in listed), reverse=True)
        self._open: set[int] = set()

    def left(self) -> list[tuple[int, int]]:
        """What the batches that follow must know, as a broker would list it."""
        return [*((producer, -1) for producer in self._open), *((producer, first) for first, producer in self._coming)]

    def leaves_out(self, batch: Batch) -> bool:
        while self._coming and self._coming[-1][0] <= batch.last_offset:
            self._open.add(self._coming.pop()[1])
        if batch.producer_id not in self._open or not batch.is_transactional:
            return False
        if batch.is_control and any(marker.type == ControlType.ABORT for marker in batch.markers()):
            self._open.discard(batch.producer_id)
        return True
