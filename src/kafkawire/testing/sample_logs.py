"""Log files with known content, in Kafka's directory layout: every format, every codec, and rare cases.

Rules:
- The expected rows are made from the same values as the files, not by reading them, so that a reader can be compared
  with them.
- All content derives from a seed: the same call writes the same bytes.
"""

from __future__ import annotations

import json
import random
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.records import BatchBuilder, Codec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Headers = list[tuple[str, bytes | None]]
_FIELDS: list[tuple[str, pa.DataType]] = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestamp_type", pa.int8()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
]
EXPECTED: Final = pa.schema(_FIELDS)
"""The columns of `expected`; the records table has the same ones."""

_START: Final = 1_700_000_000_000
_COMMIT: Final = 1


@dataclass
class PartitionWriter:
    """Writes the log of one partition."""

    root: Path
    topic: str
    partition: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    next_offset: int = 0
    clock: int = _START
    _segment: Path | None = None

    @property
    def directory(self) -> Path:
        return self.root / f"{self.topic}-{self.partition}"

    def roll(self) -> None:
        """Start a new segment."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._segment = self.directory / f"{self.next_offset:020}.log"
        self._segment.touch()

    def write(self, data: bytes) -> None:
        """Append raw bytes to the segment."""
        if self._segment is None:
            self.roll()
        assert self._segment is not None
        with self._segment.open("ab") as file:
            file.write(data)

    def append(
        self,
        records: Iterable[tuple[bytes | None, bytes | None, Headers]],
        *,
        magic: int = 2,
        compression: Codec | str = Codec.NONE,
        append_time: bool = False,
        gap: int = 0,
        **fields: Any,
    ) -> None:
        """Append one batch of (key, value, headers), with `gap` missing offsets between them, as after compaction."""
        stamped = self.clock + 500 if append_time else None
        builder = BatchBuilder(
            magic=magic, compression=compression, base_offset=self.next_offset, append_timestamp=stamped, **fields
        )
        for key, value, headers in records:
            offset = builder.next_offset + (gap if builder.count else 0)
            self.clock += 7
            builder.append(key, value, self.clock, headers, offset)
            self.rows.append(
                {
                    "topic": self.topic,
                    "partition": self.partition,
                    "offset": offset,
                    "timestamp": -1000 if magic == 0 else 1000 * (stamped or self.clock),
                    "timestamp_type": -1 if magic == 0 else int(append_time),
                    "key": key,
                    "value": value,
                    "headers": [{"key": name, "value": content} for name, content in headers] or None,
                }
            )
        self.write(builder.build())
        self.next_offset = builder.next_offset

    def mark(self, kind: int, **fields: Any) -> None:
        """Append the marker that ends a transaction; it has an offset, but is not a record."""
        builder = BatchBuilder(base_offset=self.next_offset, is_control=True, is_transactional=True, **fields)
        builder.append(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 1), self.clock)
        self.write(builder.build())
        self.next_offset = builder.next_offset


@dataclass(frozen=True)
class Sample:
    """The directories, and the records that a reader must find in them."""

    root: Path
    expected: pa.Table
    partitions: tuple[PartitionWriter, ...]


def write_sample(root: Path, *, scale: int = 40, seed: int = 7, clock: int = _START) -> Sample:
    """Write log directories below a directory; `scale` times about 900 records, the first at `clock`."""
    chance = random.Random(seed)
    writers = [
        _orders(root, chance, scale, clock),
        _clicks(root, chance, scale, clock),
        _customers(root, chance, scale, clock),
        _payments(root, chance, scale, clock),
        _audit(root, chance, scale, clock),
    ]
    rows = [row for writer in writers for row in writer.rows]
    return Sample(root, pa.Table.from_pylist(rows, schema=EXPECTED), tuple(writers))


def _orders(root: Path, chance: random.Random, scale: int, clock: int) -> PartitionWriter:
    """Keys, JSON and headers in two segments, every codec in turn, and an incomplete last batch."""
    writer = PartitionWriter(root, "orders", 0, clock=clock)
    for number in range(5 * scale):
        if number == 3 * scale:
            writer.roll()
        batch = [(f"order-{chance.randrange(10**6)}".encode(), _order(chance), _trace(chance)) for _ in range(60)]
        writer.append(batch, compression=Codec(number % 5), leader_epoch=number // scale)
    unfinished = BatchBuilder(base_offset=writer.next_offset)
    unfinished.append(b"order", b"cut short")
    writer.write(unfinished.build()[:-9])
    return writer


def _clicks(root: Path, chance: random.Random, scale: int, clock: int) -> PartitionWriter:
    """No keys, append time, many small batches."""
    writer = PartitionWriter(root, "page-clicks", 3, clock=clock)
    for _ in range(20 * scale):
        batch = [(None, chance.randbytes(chance.randrange(20, 200)), _NO_HEADERS) for _ in range(10)]
        writer.append(batch, compression="lz4", append_time=True)
    return writer


def _customers(root: Path, chance: random.Random, scale: int, clock: int) -> PartitionWriter:
    """A compacted log: gaps in its offsets, tombstones, an emptied batch."""
    writer = PartitionWriter(root, "customers", 0, next_offset=1_000_000, clock=clock)
    for number in range(2 * scale):
        batch = [
            (
                f"customer-{chance.randrange(1000)}".encode(),
                _order(chance) if chance.random() < 0.8 else None,
                _NO_HEADERS,
            )
            for _ in range(50)
        ]
        writer.append(batch, compression="gzip", gap=number % 4)
        writer.write(BatchBuilder(base_offset=writer.next_offset, producer_id=9, producer_epoch=0).build())
        writer.next_offset += 1
    return writer


def _payments(root: Path, chance: random.Random, scale: int, clock: int) -> PartitionWriter:
    """Transactions, each ended by a marker."""
    writer = PartitionWriter(root, "payments", 1, clock=clock)
    sequence = 0
    for _ in range(2 * scale):
        headers: Headers = [("attempt", None)]
        batch = [(chance.randbytes(16), _order(chance), headers) for _ in range(50)]
        writer.append(
            batch,
            compression="zstd",
            is_transactional=True,
            producer_id=4000,
            producer_epoch=2,
            base_sequence=sequence,
        )
        writer.mark(_COMMIT, producer_id=4000, producer_epoch=2)
        sequence += len(batch)
    return writer


def _audit(root: Path, chance: random.Random, scale: int, clock: int) -> PartitionWriter:
    """An old log: magic 0, 1 and 2 one after another in one file."""
    writer = PartitionWriter(root, "audit", 0, clock=clock)
    plan = [(0, "none"), (0, "gzip"), (0, "snappy"), (1, "none"), (1, "lz4"), (1, "gzip"), (2, "snappy")]
    for magic, codec in plan:
        for _ in range(scale):
            batch = [(b"user", f"event {chance.randrange(10**9)}".encode(), _NO_HEADERS) for _ in range(25)]
            writer.append(batch, magic=magic, compression=codec)
    return writer


_NO_HEADERS: Final[Headers] = []


def _order(chance: random.Random) -> bytes:
    return json.dumps({"item": chance.randrange(500), "price": round(chance.random() * 100, 2), "count": 1}).encode()


def _trace(chance: random.Random) -> Headers:
    return [("trace", chance.randbytes(8)), ("source", b"web")] if chance.random() < 0.3 else _NO_HEADERS
