"""What is in a log: space by format, codec and key, how full its batches are, and what other codecs would make of it.

Rules:
- Sizes are of bytes stored. A batch's bytes are shared out to its keys by their share of its unpacked records.
- Alive are the keys whose last record is no tombstone; what a compaction would leave is their last records.
- What another codec would make of the log is measured on its records, batch by batch, not guessed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from kafkawire.log.files import map_file
from kafkawire.records import HEADER_SIZE, Codec, MissingCodecError, compress, decompress, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from kafkawire.records import Batch

FILLS = (1, 10, 100, 1000)


@dataclass(slots=True)
class WhatIf:
    """What one codec would make of the records."""

    codec: str
    size: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Stats:
    """Counts over the batches that were read."""

    files: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    unpacked_bytes: int = 0
    control_batches: int = 0
    empty_batches: int = 0
    tombstones: int = 0
    keyless: int = 0
    first_timestamp: int = -1
    last_timestamp: int = -1
    late_batches: int = 0
    offset_gaps: int = 0
    by_format: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    batches_by_format: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    fill: Counter[int] = field(default_factory=Counter)
    key_records: Counter[bytes] = field(default_factory=Counter)
    key_bytes: Counter[bytes] = field(default_factory=Counter)
    what_if: list[WhatIf] = field(default_factory=list)
    alive: dict[bytes, int] = field(default_factory=dict)

    @property
    def alive_bytes(self) -> int:
        """The unpacked bytes that a compaction would leave."""
        return sum(self.alive.values())


def collect(
    paths: Iterable[Path],
    *,
    max_bytes: int | None = None,
    codecs: Iterable[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Stats:
    """Count what is in log files, in order; with `max_bytes`, only the beginning of them."""
    stats = Stats(what_if=[WhatIf(codec) for codec in codecs])
    partition, next_offset, newest = None, 0, -1
    for path in paths:
        if path.parent != partition:
            partition, next_offset, newest = path.parent, 0, -1
        stats.files += 1
        for batch in read_batches(map_file(path), verify=False):
            if max_bytes is not None and stats.size + batch.size > max_bytes:
                return stats
            stats.offset_gaps += next_offset > 0 and batch.base_offset > next_offset
            stats.late_batches += batch.max_timestamp < newest
            next_offset, newest = batch.next_offset, max(newest, batch.max_timestamp)
            _count(stats, batch)
            progress(batch.size)
    return stats


def _count(stats: Stats, batch: Batch) -> None:
    kind = batch.magic, batch.codec.name.lower(), {0: "create", 1: "append"}.get(batch.timestamp_type, "none")
    stats.size += batch.size
    stats.batches += 1
    stats.by_format[kind] += batch.size
    stats.batches_by_format[kind] += 1
    stats.last_timestamp = max(stats.last_timestamp, batch.max_timestamp)
    if batch.max_timestamp >= 0 and (stats.first_timestamp < 0 or batch.max_timestamp < stats.first_timestamp):
        stats.first_timestamp = batch.max_timestamp
    if batch.is_control:
        stats.control_batches += 1
        return
    records = list(batch.records(verify=False))
    stats.records += len(records)
    stats.empty_batches += not records
    stats.fill[next((most for most in FILLS if len(records) <= most), FILLS[-1] + 1)] += 1
    sizes = [len(record.key or b"") + len(record.value or b"") for record in records]
    stats.unpacked_bytes += sum(sizes)
    share = batch.size / max(1, sum(sizes))
    for record, size in zip(records, sizes, strict=True):
        if record.key is None:
            stats.keyless += 1
            continue
        stats.key_records[record.key] += 1
        stats.key_bytes[record.key] += round(size * share)
        stats.alive[record.key] = size
        if record.value is None:
            stats.tombstones += 1
            del stats.alive[record.key]
    if batch.magic == 2 and stats.what_if and records:
        _try_codecs(stats, batch)


def _try_codecs(stats: Stats, batch: Batch) -> None:
    records = decompress(batch.codec, batch.data[HEADER_SIZE:])
    for trial in stats.what_if:
        start = perf_counter()
        trial.size += HEADER_SIZE + len(compress(trial.codec, records))
        trial.seconds += perf_counter() - start


def available_codecs() -> list[str]:
    """The codecs whose libraries are installed, by name."""
    found = []
    for codec in Codec:
        try:
            compress(codec, b"probe")
        except MissingCodecError:
            continue
        found.append(codec.name.lower())
    return found
