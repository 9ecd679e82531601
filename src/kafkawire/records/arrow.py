"""Batches from Arrow columns, in one native pass per chunk.

Rules:
- Columns that records do not have are ignored. The others are cast to the types that the kernel reads.
- Only this module and `columns` import pyarrow, so a broker that uses neither does not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kafkawire._native import load
from kafkawire.records._kernel.encode import divided, records_of
from kafkawire.records.build import NO_LIMIT, BatchBuilder, checked_codec, header_template
from kafkawire.records.columns import HEADERS
from kafkawire.records.compression import Codec, compress

if TYPE_CHECKING:
    from kafkawire.records._kernel import encode as form
    from kafkawire.records._kernel.kernel import Buffer
else:
    form = load("kafkawire.records._kernel._encode", "kafkawire.records._kernel.encode")

_COLUMNS = {
    "offset": (pa.int64(),),
    "timestamp": (pa.timestamp("ms", tz="UTC"), pa.timestamp("ms"), pa.int64()),
    "key": (pa.binary(),),
    "value": (pa.binary(),),
    "headers": (HEADERS,),
}
"""The columns that are written; other types are cast to the first one."""


def _canonical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that records have, in the types that the kernel reads."""
    schema = batch.schema
    names = schema.names
    present = [name for name in names if name in _COLUMNS]
    if len(present) == len(names) and all(schema.field(name).type in _COLUMNS[name] for name in present):
        return batch
    arrays = []
    for name in present:
        column = batch.column(name)
        if column.type not in _COLUMNS[name]:
            column = column.cast(_COLUMNS[name][0], safe=not pa.types.is_timestamp(column.type))
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, present)


def from_arrow(
    rows: pa.RecordBatch | pa.Table,
    *,
    magic: int = 2,
    compression: Codec | int | str = Codec.NONE,
    level: int | None = None,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    records_per_batch: int | None = None,
    batch_bytes: int = 1024 * 1024,
) -> bytes:
    """Batches from rows with any of the columns offset, timestamp, key, value and headers; others are ignored.

    Without offsets, rows are numbered from `base_offset` on; with them, offsets must rise. A batch ends at
    `records_per_batch` records, before it would exceed `batch_bytes` uncompressed, and at the end of a table's chunk.

    >>> from kafkawire.records import to_arrow
    >>> data = from_arrow(pa.table({"key": [b"a", None], "value": ["one", "two"]}), compression="gzip")
    >>> to_arrow(data, columns=["offset", "key", "value"]).to_pylist()[1]
    {'offset': 1, 'key': None, 'value': b'two'}
    """
    codec = checked_codec(magic, compression, base_offset, is_transactional or producer_id != -1)
    most = NO_LIMIT if records_per_batch is None else max(1, records_per_batch)
    chunks = [_canonical(chunk) for chunk in (rows.to_batches() if isinstance(rows, pa.Table) else [rows])]
    fields = (is_transactional, False, leader_epoch, producer_id, producer_epoch, base_sequence)
    template = header_template(codec, None, None, *fields)
    parts = []

    def pack(data: Buffer) -> Buffer:
        return compress(codec, data, level=level)

    def begin(offset: int) -> BatchBuilder:
        return BatchBuilder(magic=magic, compression=codec, level=level, base_offset=offset, size_limit=batch_bytes)

    for chunk in chunks:
        if magic == 2:
            data, base_offset, base_sequence = form.encode(
                *(chunk, template, base_offset, base_sequence, most, batch_bytes, pack if codec else None)
            )
            parts.append(data)
            continue
        for builder in divided(records_of(chunk, base_offset), begin, most):
            parts.append(builder.build())
            base_offset = builder.next_offset
    return parts[0] if len(parts) == 1 else b"".join(parts)
