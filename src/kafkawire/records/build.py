"""Writing batches, record by record.

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

from kafkawire.implementation import load
from kafkawire.records.compression import Codec, compress
from kafkawire.records.encode import seal
from kafkawire.records.errors import InvalidRecordError
from kafkawire.records.kernel import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.records import encode as form
    from kafkawire.records.kernel import Buffer
else:
    form = load("kafkawire.records._encode", "kafkawire.records.encode")

NO_LIMIT = 2**31 - 1


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


def checked_codec(magic: int, compression: Codec | int | str, base_offset: int, has_extras: bool) -> Codec:
    """The codec asked for, where the format has it and the rest; extras are what only magic 2 has."""
    codec = Codec.of(compression)
    if magic not in (0, 1, 2):
        raise InvalidRecordError(f"magic {magic}, expected 0, 1 or 2")
    if magic < 2 and codec is Codec.ZSTD:
        raise InvalidRecordError(f"zstd needs magic 2, asked for with magic {magic}")
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
    attributes = codec | is_transactional << 4 | is_control << 5
    attributes |= (append_timestamp is not None) << 3 | (delete_horizon is not None) << 6
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
        if last - self.base_offset > 2**31 - 1:
            raise InvalidRecordError(f"last offset {last}, expected at most {self.base_offset + 2**31 - 1}")
        if self.magic < 2:
            return self._messages(last)
        codec = self.codec if self.count else Codec.NONE
        sequence = self._fields[-1]
        template = header_template(codec, self._append_timestamp, self._delete_horizon, *self._fields)
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
