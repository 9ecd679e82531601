"""Statistics of a log: bytes by format, codec and key, the fill of its batches, and its size with other codecs.

Rules:
- Sizes are stored bytes. The bytes of a batch are split among its keys by their share of its uncompressed records.
- A key is alive if its last record is not a tombstone. A compaction would leave the last records of alive keys.
- The size with another codec is measured by compressing the records, batch by batch, as magic 2. Messages of magic 0
  and 1 are converted first (`old_formats`). Control batches and batches without records are not tried.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.log._offline.old_formats import CodecTrial, OldFormats
from kafkawire.log.errors import NotALogError
from kafkawire.log.storage.files import map_file
from kafkawire.records import (
    HEADER_SIZE,
    Codec,
    CorruptRecordError,
    MissingCodecError,
    compress,
    decompress,
    read_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from kafkawire.records import Batch

FILLS = (1, 10, 100, 1000)


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
    what_if: list[CodecTrial] = field(default_factory=list)
    tried_bytes: int = 0
    """The stored bytes of the batches that were tried."""
    old_formats: OldFormats = field(default_factory=OldFormats)
    alive: dict[bytes, int] = field(default_factory=dict)

    @property
    def alive_bytes(self) -> int:
        """The uncompressed bytes that a compaction would leave."""
        return sum(self.alive.values())


def collect(
    paths: Iterable[Path],
    *,
    max_bytes: int | None = None,
    codecs: Iterable[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Stats:
    """Collect the statistics of log files, in order; with `max_bytes`, of their first bytes only."""
    stats = Stats(what_if=[CodecTrial(codec) for codec in codecs])
    stats.old_formats.trials = stats.what_if
    partition, next_offset, newest = None, 0, -1
    for path in paths:
        if path.parent != partition:
            partition, next_offset, newest = path.parent, 0, -1
            stats.old_formats.finish()
        stats.files += 1
        for batch in _batches(path):
            if max_bytes is not None and stats.size + batch.size > max_bytes:
                stats.old_formats.finish()
                return stats
            stats.offset_gaps += next_offset > 0 and batch.base_offset > next_offset
            stats.late_batches += batch.max_timestamp < newest
            next_offset, newest = batch.next_offset, max(newest, batch.max_timestamp)
            _count(stats, batch)
            progress(batch.size)
    stats.old_formats.finish()
    return stats


def _batches(path: Path) -> Iterator[Batch]:
    """The batches of a file; an error names the file."""
    view = map_file(path)
    count = 0
    try:
        for batch in read_batches(view, verify=False):
            count += 1
            yield batch
    except CorruptRecordError as error:
        raise NotALogError(f"{path}: {error}; `kafkawire log dump` shows the batches before") from error
    if not count and len(view):
        raise NotALogError(f"{path}: its {len(view)} bytes are not a batch of Kafka's log")


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
    if not stats.what_if or not records:
        return
    stats.tried_bytes += batch.size
    if batch.magic < 2:
        stats.old_formats.add(batch, records)
        return
    unpacked = decompress(batch.codec, batch.data[HEADER_SIZE:])
    for trial in stats.what_if:
        trial.add(unpacked)


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
