"""Record batches of every format: headers, records, codecs, Arrow columns, and writing them.

The public door of the layer. Reading:

- `parse_header(buffer, position=0) -> BatchHeader`: one header; only the header's bytes must be there.
- `read_batches(buffer, *, verify=True) -> BatchReader`: an iterator of `Batch`, with `.partial_tail`.
- `scan_batches(buffer, *, start=0, verify=True, limit=None) -> BatchScan`: all headers as columns, checked in one native
  pass that never raises; `.end` and `.error` say how far the bytes are good.
- `crc32c(data, value=0) -> int`, `add_sequence(sequence, count) -> int`.
- `compress(codec, data, *, level=None, magic=2)`, `decompress(codec, data, *, magic=2, limit=128 MiB)`.
"""

from kafkawire.records.batch import HEADER_SIZE, BatchHeader, add_sequence, crc32c, parse_header
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, compress, decompress
from kafkawire.records.errors import (
    CorruptRecordError,
    DecompressedSizeError,
    InvalidRecordError,
    MissingCodecError,
    RecordsError,
)
from kafkawire.records.kernel import Buffer
from kafkawire.records.reader import Batch, BatchReader, read_batches
from kafkawire.records.scan import BatchScan, scan_batches

__all__ = [
    "HEADER_SIZE",
    "MAX_DECOMPRESSED",
    "Batch",
    "BatchHeader",
    "BatchReader",
    "BatchScan",
    "Buffer",
    "Codec",
    "CorruptRecordError",
    "DecompressedSizeError",
    "InvalidRecordError",
    "MissingCodecError",
    "RecordsError",
    "add_sequence",
    "compress",
    "crc32c",
    "decompress",
    "parse_header",
    "read_batches",
    "scan_batches",
]
