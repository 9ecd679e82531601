"""What a task does: a range of a partition in, Arrow batches out; and the readers that a process keeps.

Rules:
- A reader, with its connections, is kept by the process for all tasks with the same client options.
- Offsets that vanish while they are read fail the task or are skipped, as asked; skipping never repeats a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.client.fetch import FETCH_BYTES, BulkReader
from kafkawire.messages.errors import OffsetOutOfRangeError
from kafkawire.spark.topic_batches import BatchShaper
from kafkawire.spark.topic_loss import report_loss
from kafkawire.spark.topic_rows import RowShaper
from kafkawire.spark.workers import settle_once

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from kafkawire.spark.topic_options import TopicOptions
    from kafkawire.spark.topic_ranges import OffsetRange

_readers: dict[tuple[tuple[str, str], ...], BulkReader] = {}


def pooled_reader(client: tuple[tuple[str, str], ...]) -> BulkReader:
    """The reader of this process for these client options."""
    reader = _readers.get(client)
    if reader is None:
        reader = _readers[client] = BulkReader(config=dict(client))
    return reader


def read_range(wanted: OffsetRange, columns: Sequence[str], options: TopicOptions) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in the columns asked for."""
    settle_once()
    reader = pooled_reader(options.client)
    rows = _batches if options.table == "batches" else _records
    start: int | None = wanted.start
    while start is not None:
        try:
            yield from rows(reader, wanted._replace(start=start), columns, options.fetch_bytes or FETCH_BYTES)
            return
        except OffsetOutOfRangeError as error:
            report_loss(str(error), fail=options.fail_on_data_loss)
        start = _start_after_loss(reader, wanted, start)


def _records(
    reader: BulkReader, wanted: OffsetRange, columns: Sequence[str], fetch_bytes: int
) -> Iterator[pa.RecordBatch]:
    shaper = RowShaper(columns, wanted.topic, wanted.partition)
    for decoded in reader.read(*wanted, columns=shaper.decoded, fetch_bytes=fetch_bytes):
        yield from shaper.rows(decoded)


def _batches(
    reader: BulkReader, wanted: OffsetRange, columns: Sequence[str], fetch_bytes: int
) -> Iterator[pa.RecordBatch]:
    shaper = BatchShaper(columns, wanted.topic, wanted.partition)
    for headers in reader.read_batches(*wanted, fetch_bytes=fetch_bytes):
        yield from shaper.rows(headers)


def _start_after_loss(reader: BulkReader, wanted: OffsetRange, start: int) -> int | None:
    """The log's first offset where that lies ahead in the range; None where nothing is left to read."""
    earliest = reader.earliest(wanted.topic, [wanted.partition])[wanted.partition]
    return earliest if start < earliest < wanted.end else None
