"""Reading a buffer batch by batch.

Rules:
- A batch is a view of the buffer; nothing is copied or decompressed before its records are read.
- With `verify`, the CRC of a batch is checked before the batch is returned.
- `partial_tail` is the number of bytes after the last whole batch. The reader has it once that batch is returned; the
  batch has it too, and all others have 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from kafkawire.records._kernel.twins import decompression, kernel
from kafkawire.records.batch import BatchHeader, header_fields, size_at
from kafkawire.records.compression import MAX_DECOMPRESSED
from kafkawire.records.control import Marker, read_marker
from kafkawire.records.errors import CorruptRecordError, Fault, corrupt
from kafkawire.records.layout import APPEND_TIME, CHECKED_FROM, CODEC, HEADER_SIZE, LEGACY_CHECKED_FROM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.records._kernel.kernel import Buffer, Record


@dataclass(slots=True)
class Batch(BatchHeader):
    """A batch in a buffer: every header field, and its records."""

    data: memoryview
    partial_tail: int

    def verify(self) -> None:
        """Check the CRC."""
        computed = (
            kernel.crc32c(self.data[CHECKED_FROM:]) if self.magic == 2 else crc32(self.data[LEGACY_CHECKED_FROM:])
        )
        if computed != self.crc:
            raise corrupt(self.position, Fault.CRC, found=computed, expected=self.crc)

    def records(self, *, verify: bool = True, max_decompressed: int = MAX_DECOMPRESSED) -> Iterator[Record]:
        """The records; `verify` checks the CRC of each message inside a wrapper (magic 0 and 1).

        A fault in a record raises when the record is reached.
        """
        magic, position, count = self.magic, self.position, self.record_count
        codec, append = self.attributes & CODEC, magic > 0 and self.attributes & APPEND_TIME != 0
        if count == 0 and magic == 2:
            return iter(())
        payload: Buffer = self.data
        if magic == 2:
            payload = self.data[HEADER_SIZE:]
        elif codec:
            payload = self._wrapped_messages()
        if codec:
            payload = decompression.decompress(codec, payload, magic=magic, limit=max_decompressed, position=position)
        base, first, last = self.base_offset, self.base_timestamp, self.max_timestamp
        if magic == 2:
            return kernel.records(payload, position, base, first, last, append, count)
        return kernel.messages(payload, position, codec != 0, magic, base, first, append, verify)

    def _wrapped_messages(self) -> bytes:
        """The value of a compressed message of magic 0 or 1: the compressed messages that it wraps."""
        (wrapper,) = kernel.messages(self.data, self.position, False, self.magic, 0, -1, False, False)
        if wrapper.value is None:
            raise corrupt(self.position, Fault.NULL_WRAPPER)
        return wrapper.value

    def markers(self) -> Iterator[Marker]:
        """The markers in a control batch; other batches have none."""
        for record in self.records() if self.is_control else ():
            yield read_marker(record, self.position)


class BatchReader:
    """An iterator over the batches of a buffer."""

    __slots__ = ("_data", "_position", "_size", "_verify", "partial_tail")

    def __init__(self, buffer: Buffer, verify: bool) -> None:
        self._data = memoryview(buffer).cast("B")
        self._verify = verify
        self._position = 0
        self._size = self._whole_at(0)
        self.partial_tail = 0 if self._size else len(self._data)

    def _whole_at(self, position: int) -> int:
        """The size of the batch at a position, 0 for a tail, -1 for bad bytes (which raise when they are reached)."""
        try:
            size = size_at(self._data, position)
        except CorruptRecordError:
            return -1
        return size if size <= len(self._data) - position else 0

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        data, position, size = self._data, self._position, self._size
        if size <= 0:
            if size:
                size_at(data, position)
            raise StopIteration
        end = position + size
        following = self._whole_at(end)
        tail = 0 if following else len(data) - end
        batch = Batch(*header_fields(data, position, size), data[position:end], tail)
        if self._verify:
            batch.verify()
        self._position, self._size, self.partial_tail = end, following, tail
        return batch


def read_batches(buffer: Buffer, *, verify: bool = True) -> BatchReader:
    """The batches of a buffer, of any mix of formats; it ends at a cut tail, and raises CorruptRecordError for a fault.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder()
    >>> builder.append(b"key", b"value")
    True
    >>> batches = read_batches(builder.build() + bytes(7))
    >>> [(record.offset, record.value) for batch in batches for record in batch.records()], batches.partial_tail
    ([(0, b'value')], 7)
    """
    return BatchReader(buffer, verify)
