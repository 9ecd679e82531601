"""Rows of a table in the Arrow types that Spark takes, from stretches of batches.

Rules:
- Spark compares types exactly: timestamps in microseconds, UTC, and every column nullable.
- An Arrow batch has at most 50 000 rows and about 8 MiB, and as near to that as the pieces read allow: small ones cost
  Spark more than their rows do.
- Batches are decoded many at a time. How many is guessed from how far compressed ones grew so far; while several are
  decoded at once each may only grow by its share of a bound, and where one does not fit, or is corrupt, they are
  decoded one by one. So memory is bounded by what one batch may unpack to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from kafkawire.spark.tables import OF_THE_SOURCE
from kafkawire.spark.values import HEADERS, TIME, as_microseconds, null_where_empty
from kafkawire.spark.walk import Fault, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark.listing import SegmentFile

MAX_ROWS: Final = 50_000
MAX_BYTES: Final = 8 * 1024 * 1024
TARGET_BYTES: Final = 4 * 1024 * 1024
MAX_TOGETHER: Final = 64 * 1024 * 1024
_FIRST_GUESS: Final = 8.0

_TYPES: Final[dict[str, pa.DataType]] = {
    **dict.fromkeys(("topic", "file", "fault", "codec", "problem"), pa.string()),
    **dict.fromkeys(("key", "value"), pa.binary()),
    **dict.fromkeys(("timestamp", "base_timestamp", "max_timestamp", "first_timestamp"), TIME),
    **dict.fromkeys(("timestamp_type", "magic"), pa.int8()),
    **dict.fromkeys(("attributes", "producer_epoch"), pa.int16()),
    **dict.fromkeys(("partition", "record_count", "leader_epoch", "base_sequence"), pa.int32()),
    **dict.fromkeys(("offset", "position", "size", "base_offset", "last_offset", "producer_id", "crc"), pa.int64()),
    **dict.fromkeys(("batches", "records", "first_offset", "tail_bytes", "faults"), pa.int64()),
    **dict.fromkeys(("is_transactional", "is_control", "has_delete_horizon"), pa.bool_()),
    "headers": HEADERS,
}


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """Columns in the types that Spark takes."""
    return pa.schema([(name, _TYPES[name]) for name in columns])


class RowMaker:
    """Makes the rows of one table, with the columns asked for, out of what a walk finds."""

    def __init__(
        self, table: str, columns: Sequence[str], *, verify: bool = True, include_control: bool = False
    ) -> None:
        self.schema = arrow_schema(columns)
        self._table = table
        self._decoded = [name for name in columns if name not in OF_THE_SOURCE] or ["offset"]
        self._verify = verify
        self._include_control = include_control
        self._growth = _FIRST_GUESS

    def rows(self, file: SegmentFile, stretch: Stretch) -> Iterator[pa.RecordBatch | Fault]:
        """The rows of a stretch, and the batches in it whose records could not be had."""
        if self._table == "batches":
            yield from self._shaped(file, stretch.position, batches_to_arrow(stretch.data, verify=False))
            return
        for first, last in self._groups(stretch):
            for decoded in self._decode(stretch, first, last):
                if isinstance(decoded, Fault):
                    yield decoded
                else:
                    start = stretch.position + stretch.scan.position[first]
                    yield from self._shaped(file, start, decoded)

    def fault_row(self, file: SegmentFile, fault: Fault) -> pa.RecordBatch:
        """The row that stands for bytes that could not be read."""
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
        """Runs of batches that should give one Arrow batch each, as first and last plus one."""
        scan = stretch.scan
        packed = np.frombuffer(scan.attributes, np.int16) & 7 != 0
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

    def _decode(self, stretch: Stretch, first: int, last: int) -> Iterator[pa.RecordBatch | Fault]:
        start = stretch.scan.position[first]
        end = stretch.scan.position[last - 1] + stretch.scan.size[last - 1]
        together = last - first
        try:
            decoded = to_arrow(
                stretch.data[start:end],
                columns=self._decoded,
                # The walk has checked the CRC of each batch; messages inside magic 0 and 1 wrappers have their own.
                verify=self._verify and min(stretch.scan.magic[first:last]) < 2,
                include_control=self._include_control,
                max_decompressed=MAX_DECOMPRESSED if together == 1 else min(MAX_DECOMPRESSED, MAX_TOGETHER // together),
            )
        except (CorruptRecordError, ColumnSizeError) as error:
            if together > 1:
                yield from self._decode_singly(stretch, first, last)
            else:
                yield Fault(stretch.position + start, end - start, str(error).partition(": ")[2])
            return
        if any(attributes & 7 for attributes in stretch.scan.attributes[first:last]):
            self._growth = min(max(1.0, decoded.nbytes / (end - start), self._growth * 0.75), 1000.0)
        yield decoded

    def _decode_singly(self, stretch: Stretch, first: int, last: int) -> Iterator[pa.RecordBatch | Fault]:
        for number in range(first, last):
            yield from self._decode(stretch, number, number + 1)

    def _shaped(self, file: SegmentFile, start: int, decoded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Decoded rows as Spark wants them, `start` being where the decoded bytes start in the file."""
        count = decoded.num_rows
        if not count:
            return
        constants = {"topic": file.topic, "partition": file.partition, "file": file.name, "fault": None}
        arrays = [
            pa.repeat(pa.scalar(constants[field.name], field.type), count)
            if field.name in constants
            else _as_spark_has_it(field, decoded.column(field.name), start)
            for field in self.schema
        ]
        shaped = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        step = max(1, min(MAX_ROWS, count, MAX_BYTES * count // max(shaped.nbytes, 1)))
        for position in range(0, count, step):
            yield shaped.slice(position, step)


def _as_spark_has_it(field: pa.Field[Any], column: pa.Array[Any], start: int) -> pa.Array[Any]:
    if field.name == "headers":
        return null_where_empty(column)
    if field.name == "position":
        return pc.add(column, pa.scalar(start, pa.int64()))
    if field.type == TIME:
        return as_microseconds(column)
    return column if column.type == field.type else column.cast(field.type)
