"""Transactions in the log of a partition.

Rules:
- A producer's transaction is its transactional batches up to its next control batch in the partition. The control batch
  is the marker that commits or aborts them.
- A marker without data before it ends nothing here: the producer wrote to other partitions, or compaction removed the
  data.
- The epoch of a transaction is that of its data. Its marker may have the next one (KIP-890, or fencing).
- Damaged batches are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkawire.inspect._tables.rows import microseconds
from kafkawire.inspect._transactions.model import Transaction
from kafkawire.records import RecordsError, read_batches
from kafkawire.records.control import ControlType
from kafkawire.records.layout import CONTROL, TRANSACTIONAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.inspect._transactions.model import Outcome

_FIELDS = (
    *("position", "size", "attributes", "base_offset", "last_offset", "record_count", "base_timestamp"),
    *("max_timestamp", "producer_id", "producer_epoch"),
)
_OUTCOMES: Final[Mapping[int, Outcome]] = {ControlType.COMMIT: "committed", ControlType.ABORT: "aborted"}


class PartitionTransactions:
    """Follows the transactions of a partition over its batches, in the order of offsets."""

    def __init__(self, topic: str | None, partition: int | None) -> None:
        self._topic, self._partition = topic, -1 if partition is None else partition
        self._open: dict[int, Transaction] = {}

    def add(self, columns: Mapping[str, Any], data: memoryview, sound: Any = None) -> Iterator[Transaction]:
        """The transactions that end in these batches; positions are those in `data`."""
        attributes, magic = np.asarray(columns["attributes"]), np.asarray(columns["magic"])
        chosen = (magic == 2) & (attributes & TRANSACTIONAL != 0)
        if sound is not None:
            chosen &= np.asarray(sound, np.bool_)
        numbers = np.flatnonzero(chosen)
        if not len(numbers):
            return
        rows = zip(*(np.asarray(columns[name])[numbers].tolist() for name in _FIELDS), strict=True)
        for fields in rows:
            position, size, flags, base, last, count, first_time, last_time, producer, epoch = fields
            if flags & CONTROL:
                if producer in self._open and (outcome := _outcome(data[position : position + size])) is not None:
                    ended = self._open.pop(producer)
                    ended.outcome, ended.end = outcome, microseconds(last_time)
                    yield ended
                continue
            current = self._open.get(producer)
            if current is None:
                begin = microseconds(first_time)
                current = self._open[producer] = Transaction("segment", producer, epoch, begin=begin)
            current.last = microseconds(last_time)
            current.touch(self._topic, self._partition, base, last)
            current.batches += 1
            current.records += max(count, 0)
            current.bytes += size

    def still_open(self) -> list[Transaction]:
        """The transactions without a marker so far."""
        return list(self._open.values())


def _outcome(batch: memoryview) -> Outcome | None:
    """The outcome that the marker in a control batch states; None without a readable marker."""
    try:
        kinds = [marker.type for each in read_batches(batch, verify=False) for marker in each.markers()]
    except RecordsError:
        return None
    return _OUTCOMES.get(kinds[0]) if kinds else None
