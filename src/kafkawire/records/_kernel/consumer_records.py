"""Records with their topic and partition: the loop over every record that a consumer returns.

Rules:
- A record behaves as a named tuple of its fields, but it is none: the garbage collector would visit every tuple, which
  costs more than decoding it. It is a sequence with `_fields`, by which libraries that make tables know its columns.
- Records are equal to records only, and are ordered by their fields.
- A pickled record may be read in either form.
- Most batches are plain: of the newest format, and without a fault. The compiled form decodes them in one pass over
  header, CRC and records. All others are decoded batch by batch, which words the errors. The Python form does this for
  every batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.records import Record
    from kafkawire.records._kernel.kernel import Buffer

FIELDS: Final = (
    *("topic", "partition", "offset", "timestamp", "timestamp_type"),
    *("key", "value", "headers", "leader_epoch"),
)
EACH: Final = 200
"""About the bytes that a record takes as an object, besides its key and value."""


@dataclass(frozen=True, slots=True, order=True)
class ConsumerRecord:
    """A record and its place."""

    _fields: ClassVar[tuple[str, ...]] = FIELDS

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, tuple(self)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)

    def __getitem__(self, at: Any) -> Any:
        return tuple(self)[at]

    def index(self, value: Any, *bounds: int) -> int:
        """The place of the first field with this value, as of a tuple."""
        return tuple(self).index(value, *bounds)

    def count(self, value: Any) -> int:
        """How many fields have this value."""
        return tuple(self).count(value)

    def _asdict(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(zip(FIELDS, self, strict=True))

    def _replace(self, **changes: Any) -> ConsumerRecord:
        """The record with other values in these fields.

        >>> ConsumerRecord("orders", 0, 7, 0, 0, None, b"7", ())._replace(value=7).value
        7
        """
        return ConsumerRecord(**{**self._asdict(), **changes})

    __replace__ = _replace

    def header(self, name: str, default: bytes | None = None) -> bytes | None:
        """The value of the first header with a name, which may be None; the default if there is no such header."""
        return next((value for key, value in self.headers if key == name), default)

    def last_header(self, name: str, default: bytes | None = None) -> bytes | None:
        """As `header`, of the last header with the name, which counts if a program replaced a header by adding one."""
        return next((value for key, value in reversed(self.headers) if key == name), default)


Sequence.register(ConsumerRecord)


def restored(*fields: Any) -> Any:
    """A record from a pickle."""
    from kafkawire.records._kernel.twins import consumer_records

    return consumer_records.ConsumerRecord(*fields)


def build_records(
    records: Iterable[Record], topic: str, partition: int, timestamp_type: int, leader_epoch: int
) -> list[ConsumerRecord]:
    """The records of a batch, with their place."""
    number, stamp, epoch = partition, timestamp_type, leader_epoch
    return [
        ConsumerRecord(topic, number, each.offset, each.timestamp, stamp, each.key, each.value, each.headers, epoch)
        for each in records
    ]


def plain_records(
    buffer: Buffer, first: int, verify: bool, most: int, enough: int, topic: str, partition: int
) -> tuple[list[ConsumerRecord], int, int]:
    """The records of plain batches from offset `first` on, the end of these batches, and the offset after them.

    Ends with the batch that gives `most` records or `enough` bytes. Control batches are skipped, all others returned.
    """
    return [], 0, first
