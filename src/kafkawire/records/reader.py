"""Reading a buffer batch by batch.

Rules:
- A batch is a view into the buffer; nothing is copied or unpacked before its records are asked for.
- With `verify`, a batch's CRC is checked before the batch is handed out.
- `partial_tail` counts the bytes left over behind the last whole batch: known to the reader from the start of that
  batch on, and carried by that batch (0 on all others).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from kafkawire.records.batch import HEADER_SIZE, BatchHeader, header_fields, size_at
from kafkawire.records.compression import MAX_DECOMPRESSED, decompress
from kafkawire.records.errors import CorruptRecordError, Fault, corrupt
from kafkawire.records.form import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.records.kernel import Buffer


@dataclass(slots=True)
class Batch(BatchHeader):
    """A batch in a buffer: every header field, and the way to its records."""

    data: memoryview
    partial_tail: int = 0

    def verify(self) -> None:
        """Check the CRC."""
        computed = kernel.crc32c(self.data[21:]) if self.magic == 2 else crc32(self.data[16:])
        if computed != self.crc:
            raise corrupt(self.position, Fault.CRC, found=computed, expected=self.crc)

    def payload(self, *, max_decompressed: int = MAX_DECOMPRESSED) -> Buffer:
        """The records of a magic 2 batch, unpacked."""
        return decompress(self.attributes & 7, self.data[HEADER_SIZE:], limit=max_decompressed, position=self.position)


class BatchReader:
    """The batches of a buffer, one after the other."""

    __slots__ = ("_data", "_position", "_verify", "partial_tail")

    def __init__(self, buffer: Buffer, verify: bool) -> None:
        self._data = memoryview(buffer).cast("B")
        self._verify = verify
        self._position = 0
        self.partial_tail = len(self._data) if self._is_tail(0) else 0

    def _is_tail(self, position: int) -> bool:
        """Whether too few bytes are left at a position; bad bytes there are no tail, and are refused when reached."""
        try:
            size = size_at(self._data, position)
        except CorruptRecordError:
            return False
        return not size or size > len(self._data) - position

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        data, position = self._data, self._position
        if self._is_tail(position):
            raise StopIteration
        end = position + size_at(data, position)
        tail = len(data) - end if self._is_tail(end) else 0
        batch = Batch(*header_fields(data, position, end - position), data=data[position:end], partial_tail=tail)
        if self._verify:
            batch.verify()
        self._position = end
        self.partial_tail = tail
        return batch


def read_batches(buffer: Buffer, *, verify: bool = True) -> BatchReader:
    """The batches of a buffer, of any mix of formats; a cut tail ends it, anything wrong is a CorruptRecordError.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(b"key", b"value")
    True
    >>> batches = read_batches(builder.build() + bytes(7))
    >>> [(record.offset, record.value) for batch in batches for record in batch.records()], batches.partial_tail
    ([(0, b'value')], 7)
    """
    return BatchReader(buffer, verify)
