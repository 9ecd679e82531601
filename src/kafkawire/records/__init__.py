"""Record batches of every format: headers, records, codecs, Arrow columns, and writing them.

The public door of the layer. Reading:

- `parse_header(buffer, position=0) -> BatchHeader`: one header; only the header's bytes must be there.
- `read_batches(buffer, *, verify=True) -> BatchReader`: an iterator of `Batch`, with `.partial_tail`. A batch has
  the header fields, `.data`, `.records(*, verify=True, max_decompressed=...)` and, for control batches, `.markers()`.
- `scan_batches(buffer, *, start=0, verify=True, limit=None) -> BatchScan`: all headers as columns, checked in one
  native pass that never raises; `.end` is the end of the good batches, and `.error` the fault there.
- `to_arrow(buffer, *, columns, verify, include_control, aborted, start, end, max_decompressed) -> RecordBatch`: one
  row per record; `batches_to_arrow(buffer, *, verify=True) -> RecordBatch`: one row per batch. RECORD_SCHEMA and
  BATCH_SCHEMA have the names and types.

Writing:

- `BatchBuilder(*, magic, compression, level, base_offset, leader_epoch, producer_id, producer_epoch, base_sequence,
  is_transactional, is_control, append_timestamp, delete_horizon, size_limit)`, its `.append(key, value, timestamp=-1,
  headers=(), offset=None) -> bool` and `.build(*, last_offset=None) -> bytes`; `record_size(key, value, headers)`.
- `from_arrow(rows, *, ..., records_per_batch=None, batch_bytes=1 MiB) -> bytes`.
- `convert(buffer, to_magic) -> bytes`, `transaction_marker(type, coordinator_epoch) -> (key, value)`.

Also: `crc32c(data, value=0)`, `add_sequence(sequence, count)`, `compress(codec, data, *, level, magic)` and
`decompress(codec, data, *, magic, limit)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire._lazy import load_when_asked
from kafkawire.records._kernel.kernel import Buffer
from kafkawire.records._kernel.twins import decompression, kernel
from kafkawire.records._reader import Batch, BatchReader, read_batches
from kafkawire.records._scan import BatchScan, scan_batches
from kafkawire.records.batch import BatchHeader, add_sequence, crc32c, parse_header
from kafkawire.records.build import BatchBuilder, record_size
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, compress
from kafkawire.records.control import ControlType, Marker, read_marker, transaction_marker
from kafkawire.records.convert import convert
from kafkawire.records.errors import (
    ColumnSizeError,
    CorruptRecordError,
    DecompressedSizeError,
    InvalidRecordError,
    MissingCodecError,
    RecordsError,
)
from kafkawire.records.layout import HEADER_SIZE

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import SCAN_COLUMNS as SCAN_COLUMNS
    from kafkawire.records._kernel.twins import consumer_records as consumer_records
    from kafkawire.records._kernel.twins import payload
    from kafkawire.records._portable import decompress_portable
    from kafkawire.records.arrow import from_arrow
    from kafkawire.records.columns import BATCH_SCHEMA, RECORD_SCHEMA, batches_to_arrow, to_arrow

Record = kernel.Record
decompress = decompression.decompress

_LAZY: Final = {
    **dict.fromkeys(("BATCH_SCHEMA", "RECORD_SCHEMA", "batches_to_arrow", "to_arrow"), "columns"),
    "from_arrow": "arrow",
}
"""Names that need pyarrow, imported on first use, because it costs a process 50 MB and 0.2 s."""


# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "SCAN_COLUMNS": "_kernel.kernel",
    "consumer_records": "_kernel.twins",
    "decompress_portable": "_portable",
    "payload": "_kernel.twins",
}

if not TYPE_CHECKING:  # a type checker that sees it would accept any name
    __getattr__ = load_when_asked(__name__, _LAZY | _SHARED)


__all__ = [
    "BATCH_SCHEMA",
    "HEADER_SIZE",
    "MAX_DECOMPRESSED",
    "RECORD_SCHEMA",
    "Batch",
    "BatchBuilder",
    "BatchHeader",
    "BatchReader",
    "BatchScan",
    "Buffer",
    "Codec",
    "ColumnSizeError",
    "ControlType",
    "CorruptRecordError",
    "DecompressedSizeError",
    "InvalidRecordError",
    "Marker",
    "MissingCodecError",
    "Record",
    "RecordsError",
    "add_sequence",
    "batches_to_arrow",
    "compress",
    "convert",
    "crc32c",
    "decompress",
    "from_arrow",
    "parse_header",
    "read_batches",
    "read_marker",
    "record_size",
    "scan_batches",
    "to_arrow",
    "transaction_marker",
]
