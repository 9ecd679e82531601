"""The batch headers of a buffer as columns, checked in one native pass.

Rules:
- A scan does not raise for bad bytes: `end` is the end of the good batches and `error` the fault there, so that
  recovery can cut a log there. `raise_error` raises it.
- Bytes after `end` without an error are a partial tail.
- Columns are memoryviews of integers, one item per batch. They may be indexed, sliced, listed or passed to Arrow
  without a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records._kernel.kernel import SCAN_COLUMNS
from kafkawire.records._kernel.twins import kernel
from kafkawire.records.errors import CorruptRecordError, InvalidRecordError, corrupt

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer


class BatchScan:
    """The headers of the good batches from `start` on, as columns."""

    __slots__ = (*SCAN_COLUMNS, "count", "end", "error", "partial_tail")

    position: memoryview[int]
    size: memoryview[int]
    magic: memoryview[int]
    attributes: memoryview[int]
    base_offset: memoryview[int]
    last_offset: memoryview[int]
    record_count: memoryview[int]
    base_timestamp: memoryview[int]
    max_timestamp: memoryview[int]
    leader_epoch: memoryview[int]
    producer_id: memoryview[int]
    producer_epoch: memoryview[int]
    base_sequence: memoryview[int]
    crc: memoryview[int]
    count: int
    end: int
    error: CorruptRecordError | None
    partial_tail: int

    def __init__(self, buffer: Buffer, start: int, verify: bool, limit: int) -> None:
        columns, self.end, fault = kernel.scan(buffer, start, verify, limit)
        for (name, code), column in zip(SCAN_COLUMNS.items(), columns, strict=True):
            setattr(self, name, memoryview(column).cast("B").cast(code))
        self.count = len(self.position)
        self.error = corrupt(*fault) if fault else None
        stopped = fault is not None or self.count == limit
        self.partial_tail = 0 if stopped else memoryview(buffer).nbytes - self.end

    def __len__(self) -> int:
        return self.count

    def raise_error(self) -> None:
        """Raise the fault that ended the scan, if there is one."""
        if self.error:
            raise self.error

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch; None without batches."""
        return self.last_offset[-1] + 1 if self.count else None


def scan_batches(buffer: Buffer, *, start: int = 0, verify: bool = True, limit: int | None = None) -> BatchScan:
    """Scan the batches of a buffer from position `start`, at most `limit` of them, and check sizes, magic and CRCs.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(None, b"hello")
    True
    >>> scan = scan_batches(builder.build() * 2 + bytes(5))
    >>> scan.position.tolist(), scan.end, scan.partial_tail, scan.error
    ([0, 73], 146, 5, None)
    """
    if start < 0 or start > memoryview(buffer).nbytes:
        raise InvalidRecordError(f"start {start}, expected 0 to {memoryview(buffer).nbytes}")
    return BatchScan(buffer, start, verify, 2**62 if limit is None else limit)
