"""Record batches of every format: headers, records, codecs, Arrow columns, and writing them.

The public door of the layer. Reading:

- `parse_header(buffer, position=0) -> BatchHeader`: one header; only the header's bytes must be there.
- `read_batches(buffer, *, verify=True) -> BatchReader`: an iterator of `Batch`, with `.partial_tail`.
- `scan_batches(buffer, *, start=0, verify=True, limit=None) -> BatchScan`: all headers as columns, checked in one
  native pass that never raises; `.end` and `.error` say how far the bytes are good.
- `crc32c(data, value=0) -> int`, `add_sequence(sequence, count) -> int`.
- `compress(codec, data, *, level=None, magic=2)`, `decompress(codec, data, *, magic=2, limit=128 MiB)`.
"""

from kafkawire.records.batch import HEADER_SIZE, BatchHeader, add_sequence, crc32c, parse_header
from kafkawire.records.build import BatchBuilder, from_arrow, record_size
from kafkawire.records.columns import BATCH_SCHEMA, RECORD_SCHEMA, batches_to_arrow, to_arrow
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, compress, decompress
from kafkawire.records.errors import (
    ColumnSizeError,
    CorruptRecordError,
    DecompressedSizeError,
    InvalidRecordError,
    MissingCodecError,
    RecordsError,
)
from kafkawire.records.form import kernel
from kafkawire.records.kernel import Buffer
from kafkawire.records.reader import Batch, BatchReader, read_batches
from kafkawire.records.scan import BatchScan, scan_batches

Record = kernel.Record

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
    "CorruptRecordError",
    "DecompressedSizeError",
    "InvalidRecordError",
    "MissingCodecError",
    "Record",
    "RecordsError",
    "add_sequence",
    "batches_to_arrow",
    "compress",
    "crc32c",
    "decompress",
    "from_arrow",
    "parse_header",
    "read_batches",
    "record_size",
    "scan_batches",
    "to_arrow",
]
