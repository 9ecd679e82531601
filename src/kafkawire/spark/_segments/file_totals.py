"""Segment files as wholes: one row per log file, and one row per index entry that disagrees with its log.

Rules:
- A file is walked once, in pieces, and only sums of it are kept.
- Numbers that the headers do not contain are null, such as the records of compressed batches of magic 0 and 1.
- Only log files have a row; the inspector's table has rows of indexes and checkpoints too.
- `old_formats` has one row per file with records of magic 0 or 1: their size, and that of the same records in magic 2.
- Indexes are checked by the log layer, which needs local files.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkawire.inspect import error_row, fault_text, new_names, select_columns
from kafkawire.log import (
    CodecTrial,
    OldFormats,
    available_codecs,
    open_log,
    verify_aborted,
    verify_offset_index,
    verify_time_index,
)
from kafkawire.records import RecordsError, read_batches
from kafkawire.records.walk import Stretch, walk
from kafkawire.spark._columns import arrow_schema
from kafkawire.spark._segments.files import OpenFile
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.spark._segments.files import SegmentFile

_LARGEST_TIME: Final = (2**63 - 1) // 1000
_ROWS: Final = 10_000


@dataclass
class Totals:
    """The sums of a walk over a file; times are in microseconds."""

    entries: int = 0
    records: int | None = 0
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    max_timestamp: int | None = None
    tail_bytes: int = 0
    faults: int = 0
    state: str = "ok"
    fault: str | None = None

    def add(self, stretch: Stretch) -> None:
        scan = stretch.scan
        counts = np.array(scan.record_count, np.int64)
        self.entries += scan.count
        self.records = None if self.records is None or (counts < 0).any() else self.records + int(counts.sum())
        self.first_offset = scan.base_offset[0] if self.first_offset is None else self.first_offset
        self.last_offset = scan.last_offset[-1]
        times = [np.array(column, np.int64) for column in (scan.base_timestamp, scan.max_timestamp)]
        first, last = (column[(column >= 0) & (column <= _LARGEST_TIME)] * 1000 for column in times)
        if len(first):
            self.first_timestamp = min(int(first.min()), self.first_timestamp or int(first.min()))
        if len(last):
            self.max_timestamp = max(int(last.max()), self.max_timestamp or 0)


def read_file_tables(
    files: Iterable[SegmentFile], table: str, columns: Sequence[str], *, verify: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of `segment_files`, `index_errors` or `old_formats`."""
    schema = arrow_schema(new_names(table, columns))
    for file in files:
        if table == "old_formats":
            rows = old_formats(file, verify=verify)
        else:
            rows = iter([file_row(file, verify=verify)]) if table == "segment_files" else index_errors(file)
        while some := list(islice(rows, _ROWS)):
            yield from select_columns(table, pa.Table.from_pylist(some, schema), columns).to_batches()


def file_row(file: SegmentFile, *, verify: bool = True) -> dict[str, Any]:
    """The row of a file."""
    totals, reached = Totals(), 0
    with OpenFile(file.name) as log:
        for part in walk(log, 0, file.size, file_size=file.size, verify=verify):
            if isinstance(part, Stretch):
                totals.add(part)
                reached = part.position + part.scan.end
            elif not part.is_unfinished:
                totals.faults += 1
                totals.fault = totals.fault or fault_text(part)
                reached = part.end
    totals.tail_bytes = file.size - reached
    totals.state = "damaged" if totals.faults else "cut" if totals.tail_bytes else "ok"
    return {**_origin(file), "kind": "log", "base_offset": file.base_offset, "size": file.size, **asdict(totals)}


def index_errors(file: SegmentFile) -> Iterator[dict[str, Any]]:
    """The errors in the indexes beside a log."""
    if "://" in file.name:
        raise SourceOptionError(f"{file.name}: indexes are checked in local files only")
    if file.base_offset is None or not file.size:
        return
    log = open_log(Path(file.name))
    for check in (verify_offset_index, verify_time_index, verify_aborted):
        for finding in check(log):
            yield {**_origin(file), **error_row(finding.path.suffix.removeprefix("."), finding)}


def old_formats(file: SegmentFile, *, verify: bool = True) -> Iterator[dict[str, Any]]:
    """The row of a file with records of magic 0 or 1."""
    found = OldFormats([CodecTrial(codec) for codec in available_codecs()])
    with OpenFile(file.name) as log:
        for part in walk(log, 0, file.size, file_size=file.size, verify=verify):
            if isinstance(part, Stretch) and min(part.scan.magic, default=2) < 2:
                _add_old(found, part)
    found.finish()
    if found.records:
        yield {**_origin(file), **found.sizes()}


def _add_old(found: OldFormats, part: Stretch) -> None:
    for batch in read_batches(part.data, verify=False):
        if batch.magic < 2:
            with suppress(RecordsError):
                found.add(batch, list(batch.records(verify=False)))


def _origin(file: SegmentFile) -> dict[str, Any]:
    return {"topic": file.topic, "partition": file.partition, "file": file.name}
