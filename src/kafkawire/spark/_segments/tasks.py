"""The work of a task: read ranges of segment files, yield Arrow batches, and handle faults by `mode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records.walk import Damage, walk
from kafkawire.spark._segments.file_totals import read_file_tables
from kafkawire.spark._segments.files import OpenFile
from kafkawire.spark._segments.rows import RowMaker
from kafkawire.spark._segments.transactions import read_transactions
from kafkawire.spark._workers import tune_worker
from kafkawire.spark.errors import CorruptSegmentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from kafkawire.spark._segments.source import Options
    from kafkawire.spark._segments.splits import FileRange


def read_ranges(ranges: Iterable[FileRange], columns: Sequence[str], options: Options) -> Iterator[pa.RecordBatch]:
    """The rows of ranges, in the requested columns."""
    tune_worker()
    if options.is_about_files:
        yield from read_file_tables([part.file for part in ranges], options.table, columns, verify=options.verify)
        return
    if options.is_about_partitions:
        yield from read_transactions([part.file for part in ranges], columns, verify=options.verify)
        return
    maker = RowMaker(options.table, columns, verify=options.verify, include_control=options.include_control)
    for part in ranges:
        for found in _contents(maker, part, options.verify):
            if not isinstance(found, Damage):
                yield found
            elif options.mode == "FAILFAST":
                raise CorruptSegmentError(part.file.name, found.position, found.problem)
            elif options.mode == "PERMISSIVE":
                yield maker.fault_row(part.file, found)


def _contents(maker: RowMaker, part: FileRange, verify: bool) -> Iterator[pa.RecordBatch | Damage]:
    with OpenFile(part.file.name) as file:
        for found in walk(file, part.start, part.end, file_size=part.file.size, verify=verify):
            if not isinstance(found, Damage):
                yield from maker.rows(part.file, found)
            elif not found.is_unfinished:
                yield found
