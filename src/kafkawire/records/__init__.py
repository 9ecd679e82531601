"""Record batches of every format: headers, records, codecs, Arrow columns, and writing them.

The public door of the layer. Reading:

- `parse_header(buffer, position=0) -> BatchHeader`: one header; only the header's bytes must be there.
- `read_batches(buffer, *, verify=True) -> BatchReader`: an iterator of `Batch`, with `.partial_tail`. A batch has
  the header fields, `.data`, `.records(*, verify=True, max_decompressed=...)` and, for control batches, `.markers()`.
- `scan_batches(buffer, *, start=0, verify=True, limit=None) -> BatchScan`: all headers as columns, checked in one
  native pass that never raises; `.end` and `.error` say how far the bytes are good.
- `to_arrow(buffer, *, columns, verify, include_control, aborted, start, end, max_decompressed) -> RecordBatch`: one
  row a record; `batches_to_arrow(buffer, *, verify=True) -> RecordBatch`: one row a batch. RECORD_SCHEMA and
  BATCH_SCHEMA have the names and types.

Writing:

- `BatchBuilder(*, magic, compression, level, base_offset, leader_epoch, producer_id, producer_epoch, base_sequence,
  is_transactional, is_control, append_timestamp, delete_horizon, size_limit)`, its `.append(key, value, timestamp=-1,
  headers=(), offset=None) -> bool` and `.build(*, last_offset=None) -> bytes`; `record_size(key, value, headers)`.
- `from_arrow(rows, *, ..., records_per_batch=None, batch_bytes=1 MiB) -> bytes`.
- `convert(buffer, to_magic) -> bytes`, `transaction_marker(type, coordinator_epoch) -> (key, value)`.

Besides: `crc32c(data, value=0)`, `add_sequence(sequence, count)`, `compress(codec, data, *, level, magic)` and
`decompress(codec, data, *, magic, limit)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.loading import load_when_asked
from kafkawire.records.batch import HEADER_SIZE, BatchHeader, add_sequence, crc32c, parse_header
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
from kafkawire.records.form import kernel, unpacking
from kafkawire.records.kernel import Buffer
from kafkawire.records.reader import Batch, BatchReader, read_batches
from kafkawire.records.scan import BatchScan, scan_batches

if TYPE_CHECKING:
    from kafkawire.records.columns import BATCH_SCHEMA, RECORD_SCHEMA, batches_to_arrow, to_arrow
    from kafkawire.records.rows import from_arrow

Record = kernel.Record
decompress = unpacking.decompress

_LAZY: Final = {
    **dict.fromkeys(("BATCH_SCHEMA", "RECORD_SCHEMA", "batches_to_arrow", "to_arrow"), "columns"),
    "from_arrow": "rows",
}
"""What needs pyarrow, which costs a process 50 MB and 0.2 s: imported when first asked for."""

if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, _LAZY)


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
