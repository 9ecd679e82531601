"""Batches that several tests of records use, and how two readers' rows are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkawire.records import BatchBuilder, Codec, read_batches, to_arrow

if TYPE_CHECKING:
    from kafkawire.records import Buffer

FORMATS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]
RECORDS: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]] = [
    (b"key", b"value", 1_700_000_000_000, [("trace", b"1"), ("trace", None), ("", b"")]),
    (None, b"x" * 90, 1_700_000_000_123, []),
    (b"tombstone", None, 1_699_999_999_000, []),
    (b"", b"", 1_700_000_000_000, [("né", b"\xff")]),
]


def sample(magic: int, codec: Codec, base_offset: int = 100, **options: Any) -> bytes:
    """A batch with null and empty fields, a gap between its offsets, and headers where the format has them."""
    builder = BatchBuilder(magic=magic, compression=codec, base_offset=base_offset, **options)
    for step, (key, value, timestamp, headers) in enumerate(RECORDS):
        offset = base_offset + step + (5 if step > 1 else 0)
        builder.append(key, value, timestamp, headers if magic == 2 else (), offset)
    return builder.build()


Row = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def rows_of_records(buffer: Buffer, *, verify: bool = True, control: bool = False) -> list[Row]:
    """The result of `read_batches`, as rows."""
    return [
        (record.offset, record.timestamp, batch.timestamp_type, record.key, record.value, record.headers)
        for batch in read_batches(buffer, verify=verify)
        if control or not batch.is_control
        for record in batch.records(verify=verify)
    ]


def rows_of_columns(buffer: Buffer, **options: Any) -> list[Row]:
    """The result of `to_arrow`, as rows."""
    table = to_arrow(buffer, **options)
    table.validate(full=True)
    stamps: list[Any] = table.column("timestamp").view(pa.int64()).to_pylist()
    return [
        (
            *(row["offset"], stamp, row["timestamp_type"], row["key"], row["value"]),
            tuple((header["key"], header["value"]) for header in row["headers"]),
        )
        for row, stamp in zip(table.drop_columns(["timestamp"]).to_pylist(), stamps, strict=True)
    ]
