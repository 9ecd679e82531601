"""The table `transactions` of log files: one row per transaction in a partition, and one in the transaction log.

Rules:
- A task reads all files of a partition in the order of offsets, because a transaction spans segments.
- Only transactional ids of the transaction log itself are known, because tasks do not see each other.
- The newest time of a partition is the end of its open transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.inspect import TRANSACTIONS, follower_of
from kafkawire.records import SCAN_COLUMNS
from kafkawire.records.walk import Stretch, walk
from kafkawire.spark._segments.files import OpenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkawire.spark._segments.files import SegmentFile

_ROWS: Final = 10_000
_LATEST: Final = (2**63 - 1) // 1000


def partitions_of(files: Iterable[SegmentFile]) -> list[list[SegmentFile]]:
    """Files by partition, in the order of offsets; a file outside of a partition is on its own."""
    found: dict[Any, list[SegmentFile]] = {}
    for file in files:
        found.setdefault(file.name if file.topic is None else _folder(file), []).append(file)
    return [sorted(own, key=lambda file: file.base_offset or 0) for own in found.values()]


def _folder(file: SegmentFile) -> str:
    return file.name.rpartition("/")[0]


def read_transactions(
    files: Sequence[SegmentFile], columns: Sequence[str], *, verify: bool = True
) -> Iterator[pa.RecordBatch]:
    """The transactions of whole partitions, in the requested columns."""
    rows: list[dict[str, Any]] = []
    for own in partitions_of(files):
        for row in _partition_rows(own, verify=verify):
            rows.append(row)
            if len(rows) == _ROWS:
                yield from _batches(rows, columns)
                rows = []
    yield from _batches(rows, columns)


def _partition_rows(files: Sequence[SegmentFile], *, verify: bool) -> Iterator[dict[str, Any]]:
    follower, newest = follower_of(files[0].topic, files[0].partition), None
    for file in files:
        with OpenFile(file.name) as log:
            for part in walk(log, 0, file.size, file_size=file.size, verify=verify):
                if isinstance(part, Stretch):
                    scan = {name: getattr(part.scan, name) for name in SCAN_COLUMNS}
                    times = [time for time in scan["max_timestamp"] if 0 <= time <= _LATEST]
                    newest = max([newest or 0, *times])
                    for each in follower.add(scan, part.data):
                        yield each.row()
    for each in follower.still_open():
        yield each.row(None if newest is None else newest * 1000)


def _batches(rows: list[dict[str, Any]], columns: Sequence[str]) -> list[pa.RecordBatch]:
    return pa.Table.from_pylist(rows, TRANSACTIONS).select(columns).to_batches() if rows else []
