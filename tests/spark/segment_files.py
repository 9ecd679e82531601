"""Small log files for tests, with the positions of their batches."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.records import BatchBuilder
from kafkawire.spark._segments.files import SegmentFile, topic_and_partition

if TYPE_CHECKING:
    from collections.abc import Sequence


def batch(base_offset: int, count: int = 10, *, value: bytes = b"value", **fields: Any) -> bytes:
    """A batch of records whose values end in their offset."""
    builder = BatchBuilder(base_offset=base_offset, **fields)
    for offset in range(base_offset, base_offset + count):
        builder.append(b"key", value + b" %06d" % offset, 1_700_000_000_000 + offset, offset=offset)
    return builder.build()


def batches(number: int, count: int = 10, **fields: Any) -> list[bytes]:
    """Batches that follow each other from offset 0 on."""
    return [batch(index * count, count, **fields) for index in range(number)]


def write_segment(directory: Path, data: Sequence[bytes] | bytes, base_offset: int = 0) -> SegmentFile:
    """A segment file with these bytes, as a listing would tell of it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base_offset:020}.log"
    path.write_bytes(data if isinstance(data, bytes) else b"".join(data))
    return SegmentFile(str(path), path.stat().st_size, *topic_and_partition(directory.name))


def write_index(file: SegmentFile, entries: Sequence[tuple[int, int]]) -> None:
    """The index of a segment, entries being relative offset and position."""
    Path(file.beside(".index")).write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))


def damage(data: bytes, at: int) -> bytes:
    """The bytes with one of them changed."""
    return data[:at] + bytes((data[at] ^ 0xFF,)) + data[at + 1 :]
