"""The cleaning of one batch by compaction.

Rules:
- The record with the highest offset of each key stays, and so do all records past the mapped offsets. Records without a
  key are removed.
- A tombstone stays until its batch's delete horizon, which the first cleaning sets: now + delete.retention.ms.
- Records of aborted transactions are removed. A marker stays until all records of its transaction are gone, and then
  until its own horizon.
- A batch keeps its offsets and its producer's sequence. An empty batch stays only if it is the last one of its producer
  or of the cleaned segments. It has the only trace of where they ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._producers import transaction_end
from kafkawire.records import HEADER_SIZE, BatchBuilder, compress, decompress
from kafkawire.records import payload as payloads
from kafkawire.records.batch import head_from_magic, head_to_epoch
from kafkawire.records.layout import APPEND_TIME, CODEC, DELETE_HORIZON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.log._producers import Producer
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.records import Batch, Buffer, Record


class Transactions:
    """The transactions that are open at a point of the log, and those of which records are left."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._with_records: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def is_aborted(self, batch: Batch) -> bool:
        """Whether a batch of data belongs to an aborted transaction."""
        self._begin(batch.last_offset)
        if not batch.is_transactional:
            return False
        self._with_records.add(batch.producer_id)
        return batch.producer_id in self._aborted

    def ends_empty(self, batch: Batch) -> bool:
        """Whether a control batch ends a transaction of which no record is left."""
        self._begin(batch.last_offset)
        if transaction_end(batch) is None:
            return batch.record_count == 0
        had_records = batch.producer_id in self._with_records
        self._with_records.discard(batch.producer_id)
        entry = self._aborted.pop(batch.producer_id, None)
        if entry is not None and had_records:
            self.kept.append(entry)
        return not had_records

    def _begin(self, last_offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= last_offset:
            entry = self._coming.pop()
            self._aborted[entry.producer_id] = entry


class LastWrite(NamedTuple):
    """The last write of a producer: the offset of its data, or -1, and its epoch."""

    data_offset: int
    epoch: int

    @classmethod
    def of(cls, producer: Producer) -> LastWrite:
        return cls(producer.last_data_offset, producer.epoch)


class Cleaner:
    """Decides batch by batch; `latest` maps each key to its highest offset, up to offset `mapped_until`."""

    def __init__(
        self,
        latest: Mapping[bytes, int],
        mapped_until: int,
        transactions: Transactions,
        now: int,
        delete_retention_ms: int,
    ) -> None:
        self._latest = latest
        self._mapped_until = mapped_until
        self._transactions = transactions
        self.producers: Mapping[int, LastWrite] = {}
        self.tombstones_before = now - delete_retention_ms
        self._now = now
        self._retention = delete_retention_ms

    def clean(self, batch: Batch, *, is_last: bool, legacy_tombstones_go: bool) -> bytes | memoryview | None:
        """The batch as it is, with fewer records, or None if nothing of it stays."""
        if batch.is_control:
            return self._clean_marker(batch, is_last)
        if self._transactions.is_aborted(batch):
            return self._emptied(batch, is_last)
        records = list(batch.records(verify=False))
        horizon = batch.delete_horizon
        tombstones_go = legacy_tombstones_go if batch.magic < 2 else horizon is not None and self._now >= horizon
        keep = bytes(self._stays(record, tombstones_go) for record in records)
        if not any(keep):
            return self._emptied(batch, is_last)
        kept = [record for record, stays in zip(records, keep, strict=True) if stays]
        sets_horizon = batch.magic == 2 and horizon is None and any(record.value is None for record in kept)
        if len(kept) == len(records) and not sets_horizon:
            return batch.data
        if batch.magic < 2:
            return _legacy(batch, kept)
        return self._thinned(batch, keep, kept, sets_horizon)

    def _stays(self, record: Record, tombstones_go: bool) -> bool:
        if record.offset >= self._mapped_until:
            return True
        if record.key is None or record.offset < self._latest.get(record.key, -1):
            return False
        return record.value is not None or not tombstones_go

    def _clean_marker(self, batch: Batch, is_last: bool) -> bytes | memoryview | None:
        if not self._transactions.ends_empty(batch):
            return batch.data
        horizon = batch.delete_horizon
        if horizon is not None and self._now >= horizon:
            return self._emptied(batch, is_last)
        if horizon is None and batch.record_count:
            return self._thinned(batch, b"\1" * batch.record_count, list(batch.records()), True)
        return batch.data

    def _thinned(self, batch: Batch, keep: bytes, kept: list[Record], sets_horizon: bool) -> bytes:
        attributes, base = batch.attributes, batch.base_timestamp
        if sets_horizon:
            attributes |= DELETE_HORIZON
            base = self._now + self._retention
        thin = payloads.thin(_unpacked(batch), keep, batch.base_timestamp - base)
        packed = compress(attributes & CODEC, thin)
        by_broker = attributes & APPEND_TIME or batch.is_control
        largest = batch.max_timestamp if by_broker else max(record.timestamp for record in kept)
        head = head_from_magic(
            batch, packed, attributes=attributes, base_timestamp=base, max_timestamp=largest, record_count=len(kept)
        )
        return b"".join((head_to_epoch(batch, len(packed)), head, packed))

    def _emptied(self, batch: Batch, is_last: bool) -> bytes | None:
        if not is_last and not self._is_last_of_producer(batch):
            return None
        if batch.magic < 2:
            return BatchBuilder(base_offset=batch.last_offset).build(last_offset=batch.last_offset)
        attributes = batch.attributes & ~CODEC & ~DELETE_HORIZON
        head = head_from_magic(batch, b"", attributes=attributes, base_timestamp=-1, record_count=0)
        return head_to_epoch(batch, 0) + head

    def _is_last_of_producer(self, batch: Batch) -> bool:
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            return False
        if producer.data_offset >= 0:
            return batch.last_offset == producer.data_offset
        return batch.is_control and batch.producer_epoch == producer.epoch


def _unpacked(batch: Batch) -> Buffer:
    return decompress(batch.attributes & CODEC, batch.data[HEADER_SIZE:])


def _legacy(batch: Batch, kept: list[Record]) -> bytes:
    """The messages that stay, in their own format."""
    append_timestamp = batch.max_timestamp if batch.timestamp_type == 1 else None
    builder = BatchBuilder(
        magic=batch.magic, compression=batch.codec, base_offset=kept[0].offset, append_timestamp=append_timestamp
    )
    for record in kept:
        builder.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
    return builder.build()
