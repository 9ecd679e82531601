"""Decode stretches of batches into rows with the Arrow types of Spark.

Rules:
- An Arrow batch has at most 50 000 rows and about 3 MiB. It is as large as the pieces read allow, because small Arrow
  batches cost Spark more than their rows.
- Many batches are decoded at once; their number is estimated from the compression ratio so far. Each may then grow to
  its part of a limit. If one does not fit, or is corrupt, they are decoded one by one. So memory is bounded by the
  largest allowed size of one decompressed batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.records import (
    MAX_DECOMPRESSED,
    ColumnSizeError,
    CorruptRecordError,
    batches_to_arrow,
    to_arrow,
)
from kafkawire.records.layout import CODEC
from kafkawire.records.walk import Damage, Stretch
from kafkawire.spark._columns import MAX_ROWS, arrow_schema, in_parts, spark_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark._segments.files import SegmentFile

TARGET_BYTES: Final = 4 * 1024 * 1024
MAX_TOGETHER: Final = 64 * 1024 * 1024
_FIRST_GUESS: Final = 8.0

_OF_THE_SOURCE: Final = ("topic", "partition", "file", "fault")


class RowMaker:
    """Makes the rows of one table, in the requested columns, from the results of a walk."""

    def __init__(
        self, table: str, columns: Sequence[str], *, verify: bool = True, include_control: bool = False
    ) -> None:
        self.schema = arrow_schema(columns)
        self._table = table
        self._decoded = [name for name in columns if name not in _OF_THE_SOURCE] or ["offset"]
        self._verify = verify
        self._include_control = include_control
        self._growth = _FIRST_GUESS

    def rows(self, file: SegmentFile, stretch: Stretch) -> Iterator[pa.RecordBatch | Damage]:
        """The rows of a stretch, and its batches whose records could not be decoded."""
        if self._table == "batches":
            yield from self._shaped(file, stretch.position, batches_to_arrow(stretch.data, verify=False))
            return
        for first, last in self._groups(stretch):
            for decoded in self._decode(stretch, first, last):
                if isinstance(decoded, Damage):
                    yield decoded
                else:
                    start = stretch.position + stretch.scan.position[first]
                    yield from self._shaped(file, start, decoded)

    def fault_row(self, file: SegmentFile, fault: Damage) -> pa.RecordBatch:
        """The row of unreadable bytes."""
        known = {
            "topic": file.topic,
            "partition": file.partition,
            "file": file.name,
            "position": fault.position,
            "size": fault.size,
            "fault": fault.problem,
        }
        return pa.record_batch(
            [pa.array([known.get(field.name)], field.type) for field in self.schema], schema=self.schema
        )

    def _groups(self, stretch: Stretch) -> Iterator[tuple[int, int]]:
        """Runs of batches for one Arrow batch each, as first and last plus one."""
        scan = stretch.scan
        packed = np.frombuffer(scan.attributes, np.int16) & CODEC != 0
        sizes = np.frombuffer(scan.size, np.int32).astype(np.float64)
        sizes[packed] *= self._growth
        weights = np.cumsum(sizes)
        counts = np.cumsum(np.maximum(np.frombuffer(scan.record_count, np.int32), 1, dtype=np.int64))
        first, weight, count = 0, 0.0, 0
        while first < scan.count:
            fitting = min(
                int(np.searchsorted(weights, weight + TARGET_BYTES, "right")),
                int(np.searchsorted(counts, count + MAX_ROWS, "right")),
            )
            last = max(fitting, first + 1)
            yield first, last
            first, weight, count = last, float(weights[last - 1]), int(counts[last - 1])

    def _decode(self, stretch: Stretch, first: int, last: int) -> Iterator[pa.RecordBatch | Damage]:
        start = stretch.scan.position[first]
        end = stretch.scan.position[last - 1] + stretch.scan.size[last - 1]
        together = last - first
        try:
            decoded = to_arrow(
                stretch.data[start:end],
                columns=self._decoded,
                # The walk has checked the CRC of each batch. Messages inside wrappers of magic 0 and 1 have their own.
                verify=self._verify and min(stretch.scan.magic[first:last]) < 2,
                include_control=self._include_control,
                max_decompressed=MAX_DECOMPRESSED if together == 1 else min(MAX_DECOMPRESSED, MAX_TOGETHER // together),
            )
        except (CorruptRecordError, ColumnSizeError) as error:
            if together > 1:
                yield from self._decode_singly(stretch, first, last)
            else:
                yield Damage(stretch.position + start, end - start, str(error).partition(": ")[2])
            return
        if any(attributes & CODEC for attributes in stretch.scan.attributes[first:last]):
            self._growth = min(max(1.0, decoded.nbytes / (end - start), self._growth * 0.75), 1000.0)
        yield decoded

    def _decode_singly(self, stretch: Stretch, first: int, last: int) -> Iterator[pa.RecordBatch | Damage]:
        for number in range(first, last):
            yield from self._decode(stretch, number, number + 1)

    def _shaped(self, file: SegmentFile, start: int, decoded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Decoded rows in the types of Spark; `start` is the position of the decoded bytes in the file."""
        count = decoded.num_rows
        if not count:
            return
        constants = {"topic": file.topic, "partition": file.partition, "file": file.name, "fault": None}
        arrays = [
            pa.repeat(pa.scalar(constants[field.name], field.type), count)
            if field.name in constants
            else spark_column(field, decoded.column(field.name))
            for field in self.schema
        ]
        if "position" in self.schema.names:
            number = self.schema.get_field_index("position")
            arrays[number] = pc.add(arrays[number], pa.scalar(start, pa.int64()))
        shaped = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        yield from in_parts(shaped)
