"""The size of records of magic 0 and 1, and of the same records in magic 2.

Rules:
- A wrapper with compressed messages becomes one batch. Messages that stand alone are collected into batches of up to
  BATCH_BYTES, the batch.size of producers, within one partition.
- Sizes by field compare the messages without compression with batches without compression. Every byte of an entry
  belongs to one field; keys and values are equal on both sides. The messages of wrappers count, not the wrappers.
- Offsets that do not rise, or that are too far apart for one batch, begin the next batch.
- Sizes by codec are those of whole batches, with their headers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Final

from kafkawire.records import HEADER_SIZE, BatchBuilder, compress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.records import Batch, Buffer, Record

BATCH_BYTES: Final = 16_384
OFFSETS, TIMESTAMPS, CHECKSUMS, LENGTHS, FLAGS, NEW, CONTENT = FIELDS = (
    *("offsets", "timestamps", "checksums", "lengths", "magic and attributes"),
    *("producer, leader epoch and headers", "keys and values"),
)
"""The fields by which sizes are compared."""
_SHORT: Final = {
    OFFSETS: "offsets",
    TIMESTAMPS: "timestamps",
    CHECKSUMS: "checksums",
    LENGTHS: "lengths",
    FLAGS: "flags",
    NEW: "others",
}
_OLD: Final = {OFFSETS: 8, CHECKSUMS: 4, LENGTHS: 12, FLAGS: 2}
_HEADER: Final = {OFFSETS: 12, TIMESTAMPS: 16, CHECKSUMS: 4, LENGTHS: 8, FLAGS: 3, NEW: 18}


@dataclass(slots=True)
class CodecTrial:
    """The size of the records with one codec, and the time to compress them."""

    codec: str
    size: int = 0
    seconds: float = 0.0

    def add(self, records: Buffer) -> None:
        """Compress the records of one batch."""
        start = perf_counter()
        self.size += HEADER_SIZE + len(compress(self.codec, records))
        self.seconds += perf_counter() - start


@dataclass(slots=True)
class OldFormats:
    """The messages of magic 0 and 1 that were added, and their sizes. `finish` ends a partition."""

    trials: list[CodecTrial] = field(default_factory=list)
    records: int = 0
    stored: int = 0
    """The bytes of the messages in the log, as they are compressed there."""
    old: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    _waiting: list[Record] = field(default_factory=list)
    _waiting_bytes: int = 0

    @property
    def old_size(self) -> int:
        """The bytes of the messages without compression."""
        return self.old.total()

    @property
    def new_size(self) -> int:
        """The bytes of the same records in batches of magic 2 without compression."""
        return self.new.total()

    def sizes(self) -> dict[str, int]:
        """The sizes by name: stored, old and new bytes, the bytes with each codec, and what each field saves."""
        named = {"records": self.records, "stored_bytes": self.stored}
        named |= {"old_bytes": self.old_size, "new_bytes": self.new_size}
        named |= {f"{trial.codec}_bytes": trial.size for trial in self.trials if trial.codec != "none"}
        return named | {f"saved_{short}": self.old[name] - self.new[name] for name, short in _SHORT.items()}

    def add(self, batch: Batch, records: Iterable[Record]) -> None:
        """Add a message, or a wrapper with its messages."""
        self.stored += batch.size
        own = list(records)
        self.records += len(own)
        for record in own:
            self.old.update(_OLD)
            self.old[TIMESTAMPS] += 8 if batch.magic == 1 else 0
            self.old[CONTENT] += _content(record)
        if batch.codec:
            self._convert(own)
            return
        for record in own:
            if self._waiting and self._waiting_bytes + _content(record) > BATCH_BYTES:
                self.finish()
            self._waiting.append(record)
            self._waiting_bytes += _content(record)

    def finish(self) -> None:
        """Convert the messages that still wait for others of their batch."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._convert(waiting)

    def _convert(self, records: list[Record]) -> None:
        start = 0
        for number, record in enumerate(records[1:], 1):
            reach = record.offset - records[start].offset
            if record.offset <= records[number - 1].offset or reach >= 2**31:
                self._batch(records[start:number])
                start = number
        if records:
            self._batch(records[start:])

    def _batch(self, records: list[Record]) -> None:
        first = records[0]
        builder = BatchBuilder(base_offset=max(first.offset, 0))
        self.new.update(_HEADER)
        for record in records:
            builder.append(record.key, record.value, record.timestamp, offset=max(record.offset, 0))
            lengths = _signed(_length(record.key)) + _signed(_length(record.value))
            offset, time = _signed(record.offset - first.offset), _signed(record.timestamp - first.timestamp)
            size = 1 + offset + time + lengths + _content(record) + 1
            self.new.update({OFFSETS: offset, TIMESTAMPS: time, FLAGS: 1, NEW: 1, CONTENT: _content(record)})
            self.new[LENGTHS] += lengths + _signed(size)
        body = bytes(builder.build())[HEADER_SIZE:]
        for trial in self.trials:
            trial.add(body)


def _content(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _signed(number: int) -> int:
    """The bytes of a number as a zigzag varint.

    >>> _signed(-1), _signed(63), _signed(64)
    (1, 1, 2)
    """
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return max(1, (zigzag.bit_length() + 6) // 7)
