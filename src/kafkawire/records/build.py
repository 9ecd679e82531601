"""Writing batches, record by record or from Arrow columns.

Rules:
- A batch is built once its records are known; the builder keeps them as the bytes they will be.
- A batch without records keeps its offsets and producer fields, has no codec and the timestamp -1: what compaction
  leaves.
- Magic 0 and 1 have no batch around their messages: uncompressed they follow each other, compressed they go into one
  wrapper that carries the last offset.
- An append timestamp makes every record's time the broker's: on the batch in magic 2, on each message and the
  wrapper in magic 1; magic 0 has no timestamps.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from zlib import crc32

import pyarrow as pa

from kafkawire.implementation import load
from kafkawire.records.columns import HEADERS
from kafkawire.records.compression import Codec, compress
from kafkawire.records.encode import rows_of, seal
from kafkawire.records.errors import InvalidRecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.records import encode as form
    from kafkawire.records.kernel import Buffer
else:
    form = load("kafkawire.records._encode", "kafkawire.records.encode")

_TEMPLATE = struct.Struct(">qiibIhiqqqhii")
_NO_LIMIT = 2**31 - 1
_COLUMNS = {
    "offset": (pa.int64(),),
    "timestamp": (pa.timestamp("ms", tz="UTC"), pa.timestamp("ms"), pa.int64()),
    "key": (pa.binary(),),
    "value": (pa.binary(),),
    "headers": (HEADERS,),
}
"""The columns that are written; the first type is what others are cast to."""


def record_size(
    key: Buffer | None, value: Buffer | None, headers: Iterable[tuple[str, Buffer | None]] = (), *, magic: int = 2
) -> int:
    """The most bytes that a record can add to a batch, before compression, wherever it stands in it.

    >>> record_size(b"key", b"value")
    44
    """
    content = len(key or b"") + len(value or b"")
    if magic < 2:
        return 26 + 8 * magic + content
    return content + 36 + sum(10 + len(name.encode()) + len(item or b"") for name, item in headers)


def _template(
    codec: Codec,
    append_timestamp: int | None,
    delete_horizon: int | None,
    is_transactional: bool,
    is_control: bool,
    leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
) -> bytes:
    attributes = codec | is_transactional << 4 | is_control << 5
    attributes |= (append_timestamp is not None) << 3 | (delete_horizon is not None) << 6
    return _TEMPLATE.pack(
        *(0, 0, leader_epoch, 2, 0, attributes, 0, -1, -1, producer_id, producer_epoch, base_sequence, 0)
    )


class BatchBuilder(form.Appender):
    """One batch in the making: `append` records, then `build`.

    `size` is what the batch would take now, uncompressed; with `size_limit`, `append` tells by False that a record
    belongs into the next batch (the first record always fits). `count`, `next_offset` and `max_timestamp` tell the
    rest.

    >>> builder = BatchBuilder(compression="gzip", producer_id=7, producer_epoch=0, base_sequence=0)
    >>> builder.append(b"key", b"value", timestamp=1700000000000, headers=[("trace", b"1")])
    True
    >>> builder.count, builder.next_offset, builder.size
    (1, 1, 84)
    """

    def __init__(
        self,
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
        is_control: bool = False,
        append_timestamp: int | None = None,
        delete_horizon: int | None = None,
        size_limit: int | None = None,
    ) -> None:
        self.codec = Codec.of(compression)
        if magic not in (0, 1, 2):
            raise InvalidRecordError(f"magic {magic}, expected 0, 1 or 2")
        if magic < 2 and self.codec is Codec.ZSTD:
            raise InvalidRecordError(f"zstd needs magic 2, asked for with magic {magic}")
        special = is_transactional or is_control or producer_id != -1 or delete_horizon is not None
        if magic < 2 and special:
            raise InvalidRecordError(f"magic {magic} has no producers, transactions, control records or delete horizon")
        if base_offset < 0:
            raise InvalidRecordError(f"base offset {base_offset}, expected 0 or more")
        relative = magic == 1 and self.codec is not Codec.NONE
        super().__init__(
            *(magic, base_offset, relative, _NO_LIMIT if size_limit is None else size_limit),
            *(delete_horizon, append_timestamp),
        )
        self._level = level
        self._append_timestamp = append_timestamp
        self._delete_horizon = delete_horizon
        self._fields = (is_transactional, is_control, leader_epoch, producer_id, producer_epoch, base_sequence)

    def build(self, *, last_offset: int | None = None) -> bytes:
        """The batch; `last_offset` may lie behind the last record, as compaction leaves it.

        >>> builder = BatchBuilder()
        >>> builder.append(None, b"hello"), builder.append(None, b"world")
        (True, True)
        >>> len(builder.build())
        85
        """
        last = self.next_offset - 1 if last_offset is None else last_offset
        if last < self.next_offset - 1:
            raise InvalidRecordError(f"last offset {last} is before that of the last record, {self.next_offset - 1}")
        if self.magic < 2:
            return self._messages(last)
        codec = self.codec if self.count else Codec.NONE
        sequence = self._fields[-1]
        template = _template(codec, self._append_timestamp, self._delete_horizon, *self._fields)
        packed = compress(codec, self.payload(), level=self._level)
        base_timestamp, max_timestamp = self.base_timestamp, self.max_timestamp
        if self._append_timestamp is not None:
            max_timestamp = self._append_timestamp
        last = max(last, self.base_offset)
        return seal(template, packed, self.base_offset, last, base_timestamp, max_timestamp, sequence, self.count)

    def _messages(self, last_offset: int) -> bytes:
        if self.codec is Codec.NONE or not self.count:
            return self.payload()
        value = compress(self.codec, self.payload(), level=self._level, magic=self.magic)
        stamp = self.max_timestamp if self._append_timestamp is None else self._append_timestamp
        attributes = self.codec | (self._append_timestamp is not None and self.magic == 1) << 3
        rest = b"".join(
            (
                bytes((self.magic, attributes)),
                struct.pack(">q", stamp) if self.magic else b"",
                struct.pack(">ii", -1, len(value)),
                value,
            )
        )
        return struct.pack(">qiI", last_offset, len(rest) + 4, crc32(rest)) + rest


def _canonical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the columns that records have in the types that the kernel reads."""
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
    """Rows with any of the columns offset, timestamp, key, value and headers as batches; other columns are left out.

    Without offsets rows are numbered from `base_offset` on; with them, offsets must rise. A batch ends at
    `records_per_batch` records or before it would pass `batch_bytes` uncompressed, and where a table's chunk ends.

    >>> from kafkawire.records import to_arrow
    >>> data = from_arrow(pa.table({"key": [b"a", None], "value": ["one", "two"]}), compression="gzip")
    >>> to_arrow(data, columns=["offset", "key", "value"]).to_pylist()[1]
    {'offset': 1, 'key': None, 'value': b'two'}
    """
    codec = Codec.of(compression)
    if base_offset < 0:
        raise InvalidRecordError(f"base offset {base_offset}, expected 0 or more")
    most = _NO_LIMIT if records_per_batch is None else max(1, records_per_batch)
    chunks = [_canonical(chunk) for chunk in (rows.to_batches() if isinstance(rows, pa.Table) else [rows])]
    if magic < 2:
        return b"".join(_messages_of(chunks, magic, codec, level, base_offset, most, batch_bytes))
    fields = (is_transactional, False, leader_epoch, producer_id, producer_epoch, base_sequence)
    template = _template(codec, None, None, *fields)
    parts = []

    def pack(data: Buffer) -> Buffer:
        return compress(codec, data, level=level)

    for chunk in chunks:
        data, base_offset, base_sequence = form.encode(
            *(chunk, template, base_offset, base_sequence, most, batch_bytes, pack if codec else None)
        )
        parts.append(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _messages_of(
    chunks: Iterable[pa.RecordBatch],
    magic: int,
    codec: Codec,
    level: int | None,
    base_offset: int,
    most: int,
    batch_bytes: int,
) -> Iterator[bytes]:
    """Rows as magic 0 or 1 messages, or wrappers of them."""
    builder: BatchBuilder | None = None
    for chunk in chunks:
        for values in rows_of(chunk):
            offset = values.get("offset", base_offset)
            stamp = values.get("timestamp")
            record = (
                *(values.get("key"), values.get("value"), -1 if stamp is None else stamp),
                *([(entry["key"], entry["value"]) for entry in values.get("headers") or ()], offset),
            )
            if builder is None or builder.count >= most or not builder.append(*record):
                if builder is not None:
                    yield builder.build()
                builder = BatchBuilder(
                    magic=magic, compression=codec, level=level, base_offset=offset, size_limit=batch_bytes
                )
                builder.append(*record)
            base_offset = offset + 1
    if builder is not None:
        yield builder.build()
