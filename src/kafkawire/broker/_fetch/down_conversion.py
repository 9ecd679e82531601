"""Stored records in an older format, for clients before Fetch v4.

Rules:
- The limits of a fetch are those of stored bytes. Conversion comes after reading, and any thread may do it.
- Records that cannot be converted are an error of their partition.
- A converted response begins at the requested offset. Clients of the old formats expect no records before it, unless
  they are in a compressed set (KAFKA-5030).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, cast

from kafkawire.log import FileRange
from kafkawire.messages.errors import ErrorCode, KafkaError, UnsupportedCompressionTypeError
from kafkawire.records import Codec, RecordsError, convert, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.messages import FetchResponse

_OFFSET_AND_SIZE: Final = Struct(">qi")


def convert_all(partitions: Iterable[tuple[FetchResponse.PartitionData, int]], magic: int) -> None:
    """Replace the stored records of partitions by records of an older format from an offset on, or by an error."""
    for data, offset in partitions:
        stored = cast("object", data.records)
        if not isinstance(stored, FileRange):
            continue
        try:
            data.records = _converted(stored.read(), magic, offset)
        except (KafkaError, RecordsError) as error:
            data.error_code = error.code if isinstance(error, KafkaError) else ErrorCode.CORRUPT_MESSAGE
            data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
            data.records, data.aborted_transactions = b"", None


def _converted(data: memoryview, magic: int, offset: int) -> memoryview:
    parts: list[bytes | memoryview] = []
    batches = read_batches(data, verify=False)
    for batch in batches:
        if batch.magic > magic and batch.codec is Codec.ZSTD:
            raise UnsupportedCompressionTypeError(f"zstd cannot be converted to magic {magic}")
        if batch.magic <= magic:
            parts.append(batch.data)
        else:
            converted = memoryview(convert(batch.data, magic, verify=False))
            parts.append(_from(converted, offset) if batch.base_offset < offset else converted)
    if batches.partial_tail == len(data):
        return data  # a first batch that is cut off makes the client ask for more bytes
    return memoryview(b"".join(parts))


def _from(converted: memoryview, offset: int) -> memoryview:
    """The messages of a set from an offset on; the offset of a compressed set is that of its last record."""
    position = 0
    while position < len(converted):
        found, size = _OFFSET_AND_SIZE.unpack_from(converted, position)
        if found >= offset:
            break
        position += _OFFSET_AND_SIZE.size + size
    return converted[position:]
