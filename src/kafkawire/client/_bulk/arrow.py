"""Fetched bytes as Arrow columns, in parts of limited size.

Rules:
- A chunk of uncompressed batches is decoded at once. A fetch may decompress to a thousand times its size. So at most
  `MOST_STORED` bytes of compressed batches are decoded at once, and fewer after a part that grew beyond `MOST_DECODED`.
  A part is at least one batch.
- The rest of a chunk lists the aborted transactions that have not ended before it.
- Bytes that cannot be decoded raise an error with partition and offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.client._consume.records import Chunk, located
from kafkawire.records import RECORD_SCHEMA, CorruptRecordError, scan_batches, to_arrow
from kafkawire.records.layout import CODEC, CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.records import BatchScan

_PLACES: Final = ("topic", "partition")
ARROW_COLUMNS: Final = (*_PLACES, *RECORD_SCHEMA.names)
MOST_STORED: Final = 512 * 1024
MOST_DECODED: Final = 8 * 1024 * 1024


class ArrowDecoder:
    """Decodes chunks into columns; each range has its own decoder, which learns the compression ratio.

    Columns are those of `kafkawire.records.to_arrow`, and topic and partition.
    """

    def __init__(self, columns: Sequence[str] | None, *, verify: bool, end: int | None = None) -> None:
        self._names = list(RECORD_SCHEMA.names if columns is None else columns)
        self._stored = [name for name in self._names if name not in _PLACES]
        self._verify = verify
        self._end = end
        self._most = MOST_STORED

    def decode(self, chunk: Chunk, partition: TopicPartition) -> tuple[pa.RecordBatch, Chunk | None]:
        """Rows from the start of a chunk, and the rest of the chunk."""
        scan = scan_batches(chunk.records, verify=False)
        count = self._count(scan)
        if count == scan.count:
            batch, rest = self._columns(chunk, partition), None
        else:
            stop, position = scan.position[count], scan.last_offset[count - 1] + 1
            part = Chunk(chunk.position, position, chunk.records[:stop], chunk.aborted)
            batch = self._columns(part, partition)
            aborted = _still_aborted(chunk.aborted, scan, count)
            begin = max(chunk.position, position)
            rest = chunk._replace(position=begin, records=chunk.records[stop:], aborted=aborted)
        if len(self._stored) == len(self._names):
            return batch, rest
        return self._with_places(batch, partition), rest

    def parts(self, chunk: Chunk, partition: TopicPartition) -> Iterator[pa.RecordBatch]:
        """All rows of a chunk, in batches of at least one row and about `MOST_DECODED` bytes at most."""
        rest: Chunk | None = chunk
        while rest is not None:
            batch, rest = self.decode(rest, partition)
            rows = -(-batch.num_rows // max(1, -(-batch.nbytes // MOST_DECODED)))
            for first in range(0, batch.num_rows, max(1, rows)):
                yield batch.slice(first, rows)

    def _count(self, scan: BatchScan) -> int:
        """How many batches to decode now."""
        count = scan.count
        if count > 1 and scan.end > self._most and any(attributes & CODEC for attributes in scan.attributes):
            count = next(at for at in range(1, count) if at + 1 == count or scan.position[at + 1] > self._most)
        return count

    def _columns(self, chunk: Chunk, partition: TopicPartition) -> pa.RecordBatch:
        try:
            batch = to_arrow(
                chunk.records,
                columns=self._stored or ["offset"],
                verify=self._verify,
                aborted=chunk.aborted,
                start=chunk.position,
                end=self._end,
            )
        except CorruptRecordError as error:
            raise located(error, partition, chunk.records) from error
        self._most = min(MOST_STORED, MOST_DECODED * len(chunk.records) // max(1, batch.nbytes))
        return batch

    def _with_places(self, batch: pa.RecordBatch, partition: TopicPartition) -> pa.RecordBatch:
        arrays: list[Any] = []
        for name in self._names:
            if name == "topic":
                arrays.append(pa.repeat(pa.scalar(partition.topic), batch.num_rows))
            elif name == "partition":
                arrays.append(pa.repeat(pa.scalar(partition.partition, pa.int32()), batch.num_rows))
            else:
                arrays.append(batch.column(name))
        return pa.RecordBatch.from_arrays(arrays, self._names)


def _still_aborted(aborted: list[tuple[int, int]], scan: BatchScan, count: int) -> list[tuple[int, int]]:
    """The aborted transactions that no marker among the first batches ended."""
    for index in range(count) if aborted else ():
        if scan.attributes[index] & CONTROL:
            producer, offset = scan.producer_id[index], scan.base_offset[index]
            aborted = [(other, begun) for other, begun in aborted if other != producer or begun > offset]
    return aborted
