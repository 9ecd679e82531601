"""Conversion of batches between formats, as brokers do for older clients.

Rules:
- A batch that already has the requested format is kept byte for byte.
- Down: control batches are dropped, because old clients cannot read them. Header, producer and transaction fields are
  lost. zstd is an error, because old formats lack it. Up: producer fields are absent.
- Offsets, keys, values and codecs are kept. Timestamps and their type are kept if both formats have them.
- Up: consecutive messages without a wrapper become one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records._reader import read_batches
from kafkawire.records.build import BatchBuilder
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec
from kafkawire.records.errors import InvalidRecordError
from kafkawire.records.layout import CODEC

if TYPE_CHECKING:
    from kafkawire.records._kernel.kernel import Buffer
    from kafkawire.records._reader import Batch

_BATCH_BYTES = 1024 * 1024


def convert(buffer: Buffer, to_magic: int, *, verify: bool = True, max_decompressed: int = MAX_DECOMPRESSED) -> bytes:
    """The batches of a buffer in the format `to_magic`; a cut tail is left out.

    >>> builder = BatchBuilder(magic=2)
    >>> builder.append(b"key", b"value", timestamp=5)
    True
    >>> old = convert(builder.build(), 1)
    >>> old[16], convert(old, 2) == builder.build()
    (1, True)
    """
    if to_magic not in (0, 1, 2):
        raise InvalidRecordError(f"magic {to_magic}, expected 0, 1 or 2")
    parts: list[bytes] = []
    loose: list[Batch] = []
    for batch in read_batches(buffer, verify=verify):
        if loose and not (_is_loose(batch, to_magic) and _can_join(loose, batch)):
            parts.append(_converted(loose, to_magic, verify, max_decompressed))
            loose = []
        if batch.magic == to_magic:
            parts.append(bytes(batch.data))
        elif _is_loose(batch, to_magic):
            loose.append(batch)
        elif not batch.is_control:
            parts.append(_converted([batch], to_magic, verify, max_decompressed))
    if loose:
        parts.append(_converted(loose, to_magic, verify, max_decompressed))
    return b"".join(parts)


def _is_loose(batch: Batch, to_magic: int) -> bool:
    return batch.magic < to_magic == 2 and not batch.attributes & CODEC


def _can_join(loose: list[Batch], batch: Batch) -> bool:
    """Whether one batch can hold the messages so far and one more."""
    return (
        batch.base_offset > loose[-1].base_offset
        and batch.base_offset - loose[0].base_offset < 2**31
        and batch.timestamp_type == loose[0].timestamp_type
        and (batch.timestamp_type != 1 or batch.max_timestamp == loose[0].max_timestamp)
        and batch.end - loose[0].position <= _BATCH_BYTES
    )


def _converted(batches: list[Batch], to_magic: int, verify: bool, max_decompressed: int) -> bytes:
    head = batches[0]
    if to_magic < 2 and head.codec is Codec.ZSTD:
        raise InvalidRecordError(f"batch at byte {head.position}: magic {to_magic} cannot hold zstd")
    records = [
        record for batch in batches for record in batch.records(verify=verify, max_decompressed=max_decompressed)
    ]
    if not records:
        return b""
    append = head.max_timestamp if head.timestamp_type == 1 else None
    builder = BatchBuilder(
        magic=to_magic,
        compression=head.codec,
        base_offset=records[0].offset if head.magic < 2 else head.base_offset,
        leader_epoch=head.leader_epoch if to_magic == 2 else -1,
        append_timestamp=append,
    )
    for record in records:
        builder.append(
            record.key, record.value, record.timestamp, record.headers if to_magic == 2 else (), record.offset
        )
    return builder.build()
