"""Records to bytes, in Python: the reference of `_encode.pyx`, and its replacement if it is not compiled.

Rules:
- The first record's timestamp is the base of a magic 2 batch, unless a base is given (a delete horizon).
- Offsets rise within a batch, by at most an int32 in all. The caller may leave gaps.
- Inner messages of magic 1 are numbered from the batch's base offset, those of magic 0 absolutely.
- Sequences advance by offsets, not by records, so that gaps count; the largest is followed by 0.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

from kafkawire.records._kernel.twins import kernel
from kafkawire.records.errors import InvalidRecordError
from kafkawire.records.layout import (
    APPEND_TIME,
    BASE_OFFSET_AT,
    BASE_SEQUENCE_AT,
    CHECKED_FROM,
    CRC_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    PREFIX_SIZE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from kafkawire.records._kernel.kernel import Buffer

_INT32_MAX = 2**31 - 1
_LARGEST = _INT32_MAX - 1024
_INT32 = struct.Struct(">i")

NewRecord = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]], int]
"""Key, value, timestamp, headers, offset: the arguments of `append`."""
Batch = TypeVar("Batch", bound="Appender")


@lru_cache(20_000)  # lengths and deltas repeat; almost all are small
def _varint(value: int) -> bytes:
    number = (value << 1) ^ (value >> 63)
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return b"\x01" if data is None else _varint(len(data)) + data


def _field(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else _INT32.pack(len(data)) + data


def _bytes(data: Buffer | None) -> bytes | None:
    return data if data is None or type(data) is bytes else bytes(memoryview(data))


def _encode_headers(pairs: tuple[tuple[str, Buffer | None], ...]) -> bytes:
    parts = [_varint(len(pairs))]
    for name, content in pairs:
        if not isinstance(name, str):
            raise TypeError(f"header key {name!r}: expected str")
        parts += (_sized(name.encode()), _sized(_bytes(content)))
    return b"".join(parts)


class Appender:
    """The encoded records of one batch."""

    def __init__(
        self,
        magic: int,
        base_offset: int,
        relative: bool,
        size_limit: int,
        base_timestamp: int | None,
        append_timestamp: int | None,
    ) -> None:
        self.magic = magic
        self.base_offset = self.next_offset = base_offset
        self._last_offset = min(base_offset + _INT32_MAX, 2**63 - 2)
        self.count = 0
        self.base_timestamp = -1 if base_timestamp is None else base_timestamp
        self.max_timestamp = -1
        self._relative = relative
        self._size_limit = size_limit
        self._has_fixed_base = base_timestamp is not None
        self._append_timestamp = append_timestamp
        self._head_size = HEADER_SIZE if magic == 2 else 0
        self._out = bytearray()

    @property
    def size(self) -> int:
        """The bytes of the batch if it were built now, before compression."""
        return self._head_size + len(self._out)

    def grow(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp: int = -1,
        headers: Iterable[tuple[str, Buffer | None]] = (),
    ) -> int:
        """Add a record as `append` does: the bytes by which it grew the batch, or 0 if it was not added.

        The first record also brings the bytes of the header.
        """
        before = self.size if self.count else 0
        return self.size - before if self.append(key, value, timestamp, headers) else 0

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp: int = -1,
        headers: Iterable[tuple[str, Buffer | None]] = (),
        offset: int | None = None,
    ) -> bool:
        """Add a record; False, without adding it, if the batch has records and would exceed its size limit."""
        if not -(2**63) <= timestamp < 2**63:
            raise OverflowError(f"timestamp {timestamp} is not an int64")
        if offset is None:
            offset = self.next_offset
        if not self.next_offset <= offset <= self._last_offset:
            raise InvalidRecordError(f"offset {offset}, expected {self.next_offset} to {self._last_offset}")
        pairs = tuple(headers)
        if pairs and self.magic < 2:
            raise InvalidRecordError(f"magic {self.magic} has no headers, {len(pairs)} given")
        make = self._record if self.magic == 2 else self._message
        if type(key) is not bytes:
            key = _bytes(key)
        if type(value) is not bytes:
            value = _bytes(value)
        entry = make(key, value, timestamp, pairs, offset)
        needed = self._head_size + len(self._out) + len(entry)
        if self.count and needed > self._size_limit:
            return False
        if needed > _LARGEST:
            raise InvalidRecordError(f"batch of {needed} bytes, expected at most {_LARGEST}")
        if not self.count and not self._has_fixed_base:
            self.base_timestamp = timestamp
        self._out += entry
        self.next_offset = offset + 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.count += 1
        return True

    def _record(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        pairs: tuple[tuple[str, Buffer | None], ...],
        offset: int,
    ) -> bytes:
        base = self.base_timestamp if self.count or self._has_fixed_base else timestamp
        delta = timestamp - base
        if not -(2**63) <= delta < 2**63:
            delta = (delta + 2**63) % 2**64 - 2**63
        places = (b"\x00", _varint(delta), _varint(offset - self.base_offset))
        body = b"".join((*places, _sized(key), _sized(value), _encode_headers(pairs) if pairs else b"\x00"))
        return _varint(len(body)) + body

    def _message(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        pairs: tuple[tuple[str, Buffer | None], ...],
        offset: int,
    ) -> bytes:
        attributes = 0
        if self.magic and self._append_timestamp is not None:
            attributes, timestamp = APPEND_TIME, self._append_timestamp
        stamp = struct.pack(">q", timestamp) if self.magic else b""
        rest = b"".join((bytes((self.magic, attributes)), stamp, _field(key), _field(value)))
        stored = offset - self.base_offset if self._relative else offset
        return struct.pack(">qiI", stored, len(rest) + 4, crc32(rest)) + rest

    def payload(self) -> bytes:
        """The encoded records of the batch, or the encoded messages of the set."""
        return bytes(self._out)

    def copy_into(self, space: bytearray, at: int) -> None:
        """Write the payload into this memory, from a place on; ValueError if it does not fit."""
        size = len(self._out)
        if at < 0 or len(space) - at < size:
            raise ValueError(f"{size} bytes at {at} of {len(space)}")
        space[at : at + size] = self._out


def seal(
    template: bytes,
    packed: Buffer,
    base_offset: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    sequence: int,
    count: int,
) -> bytes:
    """A magic 2 batch from a header with the constant fields, and the records as they are stored."""
    header = bytearray(template)
    _complete(header, packed, base_offset, last_offset, base_timestamp, max_timestamp, sequence, count)
    return b"".join((header, packed))


def seal_in_place(
    batch: memoryview,
    template: bytes,
    base_offset: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    sequence: int,
    count: int,
) -> None:
    """Write the header of a magic 2 batch before its records, which are in place as they are stored."""
    header, packed = batch[:HEADER_SIZE], batch[HEADER_SIZE:]
    header[:] = template
    _complete(header, packed, base_offset, last_offset, base_timestamp, max_timestamp, sequence, count)


def _complete(
    header: bytearray | memoryview,
    packed: Buffer,
    base_offset: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    sequence: int,
    count: int,
) -> None:
    """Write the fields of a header that depend on the records."""
    struct.pack_into(">qi", header, BASE_OFFSET_AT, base_offset, HEADER_SIZE - PREFIX_SIZE + len(packed))
    struct.pack_into(">iqq", header, LAST_OFFSET_DELTA_AT, last_offset - base_offset, base_timestamp, max_timestamp)
    struct.pack_into(">ii", header, BASE_SEQUENCE_AT, sequence, count)
    struct.pack_into(">I", header, CRC_AT, kernel.crc32c(packed, kernel.crc32c(header[CHECKED_FROM:])))


def records_of(batch: pa.RecordBatch, next_offset: int) -> Iterator[NewRecord]:
    """The rows of a batch as records, numbered from `next_offset` on if they have no offsets."""
    import pyarrow as pa  # a caller that has a batch has loaded it

    names = batch.schema.names
    if "timestamp" in names:
        at = names.index("timestamp")
        batch = batch.set_column(at, "timestamp", batch.column(at).view(pa.int64()))
    for row, values in enumerate(batch.to_pylist()):
        offset = values["offset"] if "offset" in names else next_offset
        headers = values.get("headers") or ()
        nameless = any(header is None or header["key"] is None for header in headers)
        if offset is None or not next_offset <= offset < 2**63 - 1 or nameless:
            raise InvalidRecordError(
                f"row {row}: expected an offset of {next_offset} or more and header keys that are not null"
            )
        stamp = values.get("timestamp")
        pairs = [(header["key"], header["value"]) for header in headers]
        yield values.get("key"), values.get("value"), -1 if stamp is None else stamp, pairs, offset
        next_offset = offset + 1


def divided(records: Iterable[NewRecord], begin: Callable[[int], Batch], most: int) -> Iterator[Batch]:
    """The records in batches of at most `most`, each created by `begin(base_offset)`, which also bounds its bytes."""
    batch: Batch | None = None
    for record in records:
        offset = record[-1]
        is_full = batch is not None and (batch.count >= most or offset - batch.base_offset > _INT32_MAX)
        if batch is None or is_full or not batch.append(*record):
            if batch is not None:
                yield batch
            batch = begin(offset)
            batch.append(*record)
    if batch is not None:
        yield batch


def encode(
    batch: pa.RecordBatch,
    template: bytes,
    base_offset: int,
    sequence: int,
    records_per_batch: int,
    batch_bytes: int,
    pack: Callable[[bytes], Buffer] | None,
) -> tuple[bytes, int, int]:
    """Rows as magic 2 batches with the constant fields of a template: the bytes, and the next offset and sequence."""
    parts: list[bytes] = []
    records = records_of(batch, base_offset)
    for done in divided(records, lambda first: Appender(2, first, False, batch_bytes, None, None), records_per_batch):
        packed = done.payload() if pack is None else pack(done.payload())
        last, stamps = done.next_offset - 1, (done.base_timestamp, done.max_timestamp)
        parts.append(seal(template, packed, done.base_offset, last, *stamps, sequence, done.count))
        base_offset = done.next_offset
        if sequence >= 0:
            sequence = (sequence + base_offset - done.base_offset) & _INT32_MAX
    return b"".join(parts), base_offset, sequence
