"""A digest of the rows of a task, by which two runs of a batch are compared.

Rules:
- The digest depends on values, nulls and the order of rows, not on how they are divided into Arrow batches.
- Each column has checksums of its own, over lengths and over bytes: no row is touched by Python.
- A query with a shuffle may have its rows in another order in each run, and then has another digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kafkawire.records import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator


class RowDigest:
    """Adds up the checksums of rows."""

    def __init__(self) -> None:
        self.rows = 0
        self._sums: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        self.rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for number, data in enumerate(_buffers(column)):
                key = f"{name}.{number}"
                self._sums[key] = crc32c(data, self._sums.get(key, 0))

    @property
    def value(self) -> int:
        """The digest of all rows so far."""
        text = ",".join(f"{key}={value}" for key, value in sorted(self._sums.items()))
        return crc32c(text.encode()) << 32 | crc32c(text.encode(), self.rows & 0xFFFFFFFF)


def _buffers(column: pa.Array[Any]) -> Iterator[memoryview]:
    """The content of a column, without its memory layout: for each level the lengths, then the values."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_list(column.type):
        lengths = np.diff(_offsets(column)).astype(np.int32)
        yield memoryview(np.where(valid, lengths, np.int32(-1)).tobytes())
        assert isinstance(column, pa.ListArray)
        yield from _buffers(column.flatten())
    elif pa.types.is_struct(column.type):
        yield memoryview(valid.tobytes())
        assert isinstance(column, pa.StructArray)
        for child in column.flatten():
            yield from _buffers(child)
    elif pa.types.is_binary(column.type) or pa.types.is_string(column.type):
        offsets = _offsets(column)
        lengths = np.diff(offsets).astype(np.int32)
        yield memoryview(np.where(valid, lengths, np.int32(-1)).tobytes())
        if lengths[~valid].any():  # bytes behind a null are not part of it
            column = column.drop_null()
            offsets = _offsets(column)
        data = column.buffers()[2]
        yield memoryview(data or b"")[int(offsets[0]) : int(offsets[-1])] if len(offsets) else memoryview(b"")
    else:
        yield memoryview(valid.tobytes())
        yield memoryview(column.drop_null().to_numpy(zero_copy_only=False).tobytes())


def _offsets(column: pa.Array[Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The positions of the values of an array of variable length, one more than values."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(len(column) + 1, np.int32)
    return np.frombuffer(memoryview(buffer), np.int32, len(column) + 1, column.offset * 4)
