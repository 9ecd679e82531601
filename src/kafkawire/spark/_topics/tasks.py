"""The work of a task: read an offset range and yield Arrow batches. Also the readers that a process keeps.

Rules:
- A process keeps one reader, with its connections, for all tasks with the same client options.
- Offsets that vanish during the read fail the task or are skipped, as `failOnDataLoss` says. A skip never repeats a
  record.
- Rows of batches come from headers alone: nothing is decompressed. A batch is a row of the range that has its last
  offset, so that adjacent ranges give each batch once. Batches of aborted transactions have a row too.
- An Arrow batch has at most 50 000 rows and about 3 MiB, also if the reader decompressed more at once.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.client import FETCH_BYTES, BulkReader
from kafkawire.messages.errors import OffsetOutOfRangeError
from kafkawire.spark._columns import MAX_ROWS, in_parts, spark_column, topic_arrow_schema
from kafkawire.spark._workers import tune_worker
from kafkawire.spark.errors import DataLossError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark._topics.lookup import OffsetRange
    from kafkawire.spark._topics.options import TopicOptions
    from kafkawire.values import ValueColumns

_DECODED: Final = {"timestampType": "timestamp_type"}
_log = logging.getLogger("kafkawire.spark")
_readers: dict[tuple[tuple[str, str], ...], BulkReader] = {}


def pooled_reader(client: tuple[tuple[str, str], ...]) -> BulkReader:
    """The reader of this process for these client options."""
    reader = _readers.get(client)
    if reader is None:
        reader = _readers[client] = BulkReader(config=dict(client))
    return reader


def report_loss(problem: str, *, fail: bool) -> None:
    """Raise DataLossError, or log a warning and continue with the data that exists."""
    if fail:
        raise DataLossError(
            f"{problem}. Retention may have deleted it, or the topic was deleted or recreated before it was read;"
            " set failOnDataLoss to false to continue with the data that exists"
        )
    _log.warning("%s; continuing, because failOnDataLoss is false", problem)


def read_range(
    wanted: OffsetRange, columns: Sequence[str], options: TopicOptions, values: ValueColumns | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in the requested columns."""
    tune_worker()
    reader = pooled_reader(options.client)
    shaper = RowShaper(columns, wanted.topic, wanted.partition, values)
    fetch_bytes = options.fetch_bytes or FETCH_BYTES
    start: int | None = wanted.start
    while start is not None:
        rest = wanted._replace(start=start)
        try:
            found = (
                reader.read_batches(*rest, fetch_bytes=fetch_bytes)
                if options.table == "batches"
                else reader.read(*rest, columns=shaper.decoded, fetch_bytes=fetch_bytes, values=values)
            )
            for decoded in found:
                yield from shaper.rows(decoded)
            return
        except OffsetOutOfRangeError as error:
            report_loss(str(error), fail=options.fail_on_data_loss)
        start = _start_after_loss(reader, wanted, start)


def _value_fields(values: ValueColumns | None) -> dict[str, pa.Field[Any]]:
    if values is None:
        return {}
    from kafkawire.spark._topics.values import value_fields

    return value_fields(values)


def _start_after_loss(reader: BulkReader, wanted: OffsetRange, start: int) -> int | None:
    """The first offset of the log if it is later in the range; None if nothing is left to read."""
    earliest = reader.earliest(wanted.topic, [wanted.partition])[wanted.partition]
    return earliest if start < earliest < wanted.end else None


class RowShaper:
    """Shapes decoded records or batch headers of one partition into rows for Spark."""

    def __init__(self, columns: Sequence[str], topic: str, partition: int, values: ValueColumns | None = None) -> None:
        self.schema = topic_arrow_schema(columns, _value_fields(values))
        self.decoded = [_DECODED.get(name, name) for name in columns if name not in ("topic", "partition")] or [
            "offset"
        ]
        known = {"topic": topic, "partition": partition}
        self._constants: dict[str, pa.Array[Any]] = {
            field.name: pa.repeat(pa.scalar(known[field.name], field.type), MAX_ROWS)
            for field in self.schema
            if field.name in known
        }

    def rows(self, decoded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return map(self._shaped, in_parts(decoded))

    def _shaped(self, decoded: pa.RecordBatch) -> pa.RecordBatch:
        count = decoded.num_rows
        arrays = [
            self._constants[field.name].slice(0, count)
            if field.name in self._constants
            else spark_column(field, decoded.column(_DECODED.get(field.name, field.name)))
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
