"""Building batches, record by record.

Rules:
- The builder encodes records as they are appended; `build` adds the header.
- A batch without records has its offsets and producer fields, no codec, and the timestamp -1, as compaction leaves it.
- Messages of magic 0 and 1 have no batch around them: uncompressed messages follow each other, compressed ones are in
  one wrapper that has the last offset.
- An append timestamp replaces the time of every record: in the batch for magic 2, in each message and the wrapper for
  magic 1. Magic 0 has no timestamps.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from zlib import crc32

from kafkawire._native import load
from kafkawire.records._kernel.encode import seal, seal_in_place
from kafkawire.records.compression import Codec, compress
from kafkawire.records.errors import InvalidRecordError
from kafkawire.records.layout import (
    APPEND_TIME,
    BATCH,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LEGACY_KEY_AT,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.records._kernel import encode as form
    from kafkawire.records._kernel.kernel import Buffer
else:
    form = load("kafkawire.records._kernel._encode", "kafkawire.records._kernel.encode")

NO_LIMIT = 2**31 - 1


def record_size(
    key: Buffer | None, value: Buffer | None, headers: Iterable[tuple[str, Buffer | None]] = (), *, magic: int = 2
) -> int:
    """The most bytes that a record can add to a batch, before compression.

    >>> record_size(b"key", b"value")
    44
    """
    content = len(key or b"") + len(value or b"")
    if magic < 2:
        return LEGACY_KEY_AT[magic] + 8 + content
    return content + 36 + sum(10 + len(name.encode()) + len(item or b"") for name, item in headers)


def checked_codec(magic: int, compression: Codec | int | str, base_offset: int, has_extras: bool) -> Codec:
    """The requested codec; InvalidRecordError if the format lacks it, or the extras that only magic 2 has."""
    codec = compression if isinstance(compression, Codec) else Codec.of(compression)
    if magic not in (0, 1, 2):
        raise InvalidRecordError(f"magic {magic}, expected 0, 1 or 2")
    if magic < 2 and codec is Codec.ZSTD:
        raise InvalidRecordError(f"zstd needs magic 2, found magic {magic}")
    if magic < 2 and has_extras:
        raise InvalidRecordError(f"magic {magic} has no producers, transactions, control records or delete horizon")
    if base_offset < 0:
        raise InvalidRecordError(f"base offset {base_offset}, expected 0 or more")
    return codec


def header_template(
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
    attributes = codec | is_transactional * TRANSACTIONAL | is_control * CONTROL
    attributes |= (append_timestamp is not None) * APPEND_TIME | (delete_horizon is not None) * DELETE_HORIZON
    try:
        return BATCH.pack(
            *(0, 0, leader_epoch, 2, 0, attributes, 0, -1, -1, producer_id, producer_epoch, base_sequence, 0)
        )
    except struct.error as error:
        raise InvalidRecordError(
            f"leader epoch {leader_epoch}, producer id {producer_id}, producer epoch {producer_epoch} or base sequence "
            f"{base_sequence} does not fit its field: {error}"
        ) from None


class BatchBuilder(form.Appender):
    """Builds one batch: `append` records, then `build`.

    `size` is the current size of the batch, uncompressed. With `size_limit`, `append` returns False for a record that
    belongs in the next batch; the first record always fits. `count`, `next_offset` and `max_timestamp` are current too.

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
        has_extras = is_transactional or is_control or producer_id != -1 or delete_horizon is not None
        self.codec = checked_codec(magic, compression, base_offset, has_extras)
        relative = magic == 1 and self.codec is not Codec.NONE
        super().__init__(
            *(magic, base_offset, relative, NO_LIMIT if size_limit is None else size_limit),
            *(delete_horizon, append_timestamp),
        )
        self._level = level
        self._append_timestamp = append_timestamp
        self._delete_horizon = delete_horizon
        self._fields = (is_transactional, is_control, leader_epoch, producer_id, producer_epoch, base_sequence)

    def build(self, *, last_offset: int | None = None) -> bytes:
        """The batch; `last_offset` may be after the last record, as compaction leaves it.

        >>> builder = BatchBuilder()
        >>> builder.append(None, b"hello"), builder.append(None, b"world")
        (True, True)
        >>> len(builder.build())
        85
        """
        last = self.next_offset - 1 if last_offset is None else last_offset
        if last < self.next_offset - 1:
            raise InvalidRecordError(f"last offset {last} is before that of the last record, {self.next_offset - 1}")
        if last - self.base_offset > 2**31 - 1:
            raise InvalidRecordError(f"last offset {last}, expected at most {self.base_offset + 2**31 - 1}")
        if self.magic < 2:
            return self._messages(last)
        codec = self.codec if self.count else Codec.NONE
        sequence = self._fields[-1]
        template = header_template(codec, self._append_timestamp, self._delete_horizon, *self._fields)
        packed = self.payload() if codec is Codec.NONE else compress(codec, self.payload(), level=self._level)
        base_timestamp, max_timestamp = self.base_timestamp, self.max_timestamp
        if self._append_timestamp is not None:
            max_timestamp = self._append_timestamp
        last = max(last, self.base_offset)
        return seal(template, packed, self.base_offset, last, base_timestamp, max_timestamp, sequence, self.count)

    def build_into(self, space: bytearray, producer_id: int, producer_epoch: int, base_sequence: int) -> memoryview:
        """The batch in memory of the caller, which must have room for its `size`, with these fields of the producer.

        Only for magic 2 without compression: the records are copied once.

        >>> builder = BatchBuilder()
        >>> builder.append(None, b"hello")
        True
        >>> len(builder.build_into(bytearray(1000), 7, 0, 12))
        73
        """
        if self.magic < 2 or self.codec is not Codec.NONE:
            raise InvalidRecordError(f"magic {self.magic} with {self.codec.name}, expected magic 2 without compression")
        fields = (*self._fields[:3], producer_id, producer_epoch, base_sequence)
        template = header_template(self.codec, self._append_timestamp, self._delete_horizon, *fields)
        self.copy_into(space, HEADER_SIZE)
        batch = memoryview(space)[: self.size]
        max_timestamp = self.max_timestamp if self._append_timestamp is None else self._append_timestamp
        last = max(self.next_offset - 1, self.base_offset)
        stamps = self.base_timestamp, max_timestamp
        seal_in_place(batch, template, self.base_offset, last, *stamps, base_sequence, self.count)
        return batch

    def _messages(self, last_offset: int) -> bytes:
        if self.codec is Codec.NONE or not self.count:
            return self.payload()
        value = compress(self.codec, self.payload(), level=self._level, magic=self.magic)
        stamp = self.max_timestamp if self._append_timestamp is None else self._append_timestamp
        attributes = self.codec | (self._append_timestamp is not None and self.magic == 1) * APPEND_TIME
        rest = b"".join(
            (
                bytes((self.magic, attributes)),
                struct.pack(">q", stamp) if self.magic else b"",
                struct.pack(">ii", -1, len(value)),
                value,
            )
        )
        return struct.pack(">qiI", last_offset, len(rest) + 4, crc32(rest)) + rest
