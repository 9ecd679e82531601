"""What a task does: ranges of segment files in, Arrow batches out, faults handled as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.spark.errors import CorruptSegmentError
from kafkawire.spark.listing import OpenFile
from kafkawire.spark.overview import read_overviews
from kafkawire.spark.rows import RowMaker
from kafkawire.spark.walk import Fault, walk_range
from kafkawire.spark.workers import settle_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from kafkawire.spark.segments import Options
    from kafkawire.spark.splits import FileRange


def read_ranges(ranges: Iterable[FileRange], columns: Sequence[str], options: Options) -> Iterator[pa.RecordBatch]:
    """The rows of ranges, in the columns asked for."""
    settle_once()
    if options.is_about_files:
        yield from read_overviews([part.file for part in ranges], options.table, columns, verify=options.verify)
        return
    maker = RowMaker(options.table, columns, verify=options.verify, include_control=options.include_control)
    for part in ranges:
        for found in _contents(maker, part, options.verify):
            if not isinstance(found, Fault):
                yield found
            elif options.mode == "FAILFAST":
                raise CorruptSegmentError(part.file.name, found.position, found.problem)
            elif options.mode == "PERMISSIVE":
                yield maker.fault_row(part.file, found)


def _contents(maker: RowMaker, part: FileRange, verify: bool) -> Iterator[pa.RecordBatch | Fault]:
    with OpenFile(part.file.name) as file:
        for found in walk_range(file, part.start, part.end, file_size=part.file.size, verify=verify):
            if isinstance(found, Fault):
                yield found
            else:
                yield from maker.rows(part.file, found)
