"""Batches for tests, in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from kafkawire.log import Partition
    from kafkawire.records import Record

NOW = 1_700_000_000_000


class Clock:
    """A clock that the test advances."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


def batch(
    *values: bytes | None,
    key: bytes | None = b"key",
    timestamp: int = NOW,
    codec: str = "none",
    producer: tuple[int, int, int] | None = None,
    transactional: bool = False,
    magic: int = 2,
) -> bytes:
    """One batch of values under one key; `producer` is id, epoch and first sequence."""
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    builder = BatchBuilder(
        magic=magic,
        compression=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    for value in values:
        builder.append(key, value, timestamp=timestamp)
    return builder.build()


def keyed(pairs: dict[bytes, bytes | None], *, timestamp: int = NOW, codec: str = "none") -> bytes:
    """One batch of keys and their values."""
    builder = BatchBuilder(compression=codec)
    for key, value in pairs.items():
        builder.append(key, value, timestamp=timestamp)
    return builder.build()


def records(log: Partition, *, start: int | None = None, control: bool = False) -> list[Record]:
    """Every record a reader from an offset on gets to see."""
    offset = log.log_start_offset if start is None else start
    found: list[Record] = []
    while offset < log.high_watermark:
        data = log.read(offset, 1).read()
        if not data:
            break
        for stored in read_batches(data):
            if control or not stored.is_control:
                found += [record for record in stored.records() if record.offset >= offset]
            offset = stored.next_offset
    return found


def values(log: Partition) -> list[bytes | None]:
    return [record.value for record in records(log)]
