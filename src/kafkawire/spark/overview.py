"""Segment files as wholes: a row a file, and a row for everything in their indexes that does not agree with the log.

Rules:
- A file is walked once, in pieces, and nothing is kept of it but sums.
- Numbers that the headers do not tell are null: how many records are in compressed batches of magic 0 and 1.
- Indexes are checked by the log layer, which needs local files.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkawire.log.verify import open_log, verify_aborted, verify_offset_index, verify_time_index
from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.listing import OpenFile
from kafkawire.spark.rows import arrow_schema
from kafkawire.spark.walk import Fault, walk_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.spark.listing import SegmentFile
    from kafkawire.spark.walk import Stretch

_LARGEST_TIME: Final = (2**63 - 1) // 1000
_ROWS: Final = 10_000


@dataclass
class Totals:
    """What a walk over a file adds up to; times are in microseconds."""

    batches: int = 0
    records: int | None = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    max_timestamp: int | None = None
    tail_bytes: int = 0
    faults: int = 0

    def add(self, stretch: Stretch) -> None:
        scan = stretch.scan
        counts = np.array(scan.record_count, np.int64)
        self.batches += scan.count
        self.records = None if self.records is None or (counts < 0).any() else self.records + int(counts.sum())
        self.first_offset = scan.base_offset[0] if self.first_offset is None else self.first_offset
        self.last_offset = scan.last_offset[-1]
        times = [np.array(column, np.int64) for column in (scan.base_timestamp, scan.max_timestamp)]
        first, last = (column[(column >= 0) & (column <= _LARGEST_TIME)] * 1000 for column in times)
        if len(first):
            self.first_timestamp = min(int(first.min()), self.first_timestamp or int(first.min()))
        if len(last):
            self.max_timestamp = max(int(last.max()), self.max_timestamp or 0)


def read_overviews(
    files: Iterable[SegmentFile], table: str, columns: Sequence[str], *, verify: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of a table about files."""
    schema = arrow_schema(columns)
    for file in files:
        rows = iter([file_row(file, verify=verify)]) if table == "segment_files" else index_errors(file)
        while some := list(islice(rows, _ROWS)):
            yield pa.RecordBatch.from_pylist(some, schema)


def file_row(file: SegmentFile, *, verify: bool = True) -> dict[str, Any]:
    """One file in numbers."""
    totals, reached = Totals(), 0
    with OpenFile(file.name) as log:
        for part in walk_range(log, 0, file.size, file_size=file.size, verify=verify):
            if isinstance(part, Fault):
                totals.faults += 1
                reached = part.position + part.size
            else:
                totals.add(part)
                reached = part.position + part.scan.end
    totals.tail_bytes = file.size - reached
    return {**_origin(file), "base_offset": file.base_offset, "size": file.size, **asdict(totals)}


def index_errors(file: SegmentFile) -> Iterator[dict[str, Any]]:
    """What is wrong in the indexes beside a log: the file, the byte in it (null for the whole file), the problem."""
    if "://" in file.name:
        raise SourceOptionError(f"{file.name}: indexes are checked in local files only")
    if file.base_offset is None or not file.size:
        return
    log = open_log(Path(file.name))
    for check in (verify_offset_index, verify_time_index, verify_aborted):
        for finding in check(log):
            position = None if finding.position < 0 else finding.position
            yield {**_origin(file), "file": str(finding.path), "position": position, "problem": finding.message}


def _origin(file: SegmentFile) -> dict[str, Any]:
    return {"topic": file.topic, "partition": file.partition, "file": file.name}
