"""Producer snapshots, and the replay of batches after them: the producers of a partition at any offset.

Rules:
- The name of a snapshot is the end offset of the log at that time; nothing at or after it is in the file.
- Kafka's format holds the last batch of each producer. An extension behind it holds all cached batches, because a
  client may resend any of them after a restart. Kafka computes the CRC over the whole file and ignores bytes after
  its entries; a file that Kafka wrote has no extension.
- An extension that is unknown, malformed, or contradicts Kafka's part is ignored.
- A snapshot that does not check is removed and the next older one is taken. Without any, the replay starts at the
  beginning of the log.
- Batches in the log were accepted once: a replay checks nothing and refuses nothing.
- A small log without producers has no snapshot at a clean stop, because replaying it costs less than the file. Kafka
  takes a cleanly stopped log without a snapshot for one without producers.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError
from kafkawire.log._producers import (
    CACHED_BATCHES,
    NONE,
    CachedBatch,
    Producer,
    ProducerBatch,
    Producers,
    transaction_end,
)
from kafkawire.log.storage.files import read_file, replace_file
from kafkawire.messages import ProducerSnapshot
from kafkawire.records import add_sequence, crc32c, read_batches
from kafkawire.records.layout import CONTROL, TRANSACTIONAL
from kafkawire.records.walk import sweep

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kafkawire.log._segment import Segment
    from kafkawire.log._txn_index import AbortedTransaction
    from kafkawire.log.storage.files import File, FileSystem
    from kafkawire.records import BatchScan

SNAPSHOT = ".snapshot"
REPLAYED = 64 * 1024
"""So many bytes of a log are replayed rather than kept in a snapshot without producers."""
VERSION = 1
CHECKED_FROM = 6
MAX_SEQUENCE = 2**31 - 1
ENTRIES_AT, ENTRY_SIZE = 10, 46
EXTENSION = Struct(">4shi")
"""The head of the extension: its tag, its version, and the number of batches after it."""
EXTENSION_TAG, EXTENSION_VERSION = b"kwcb", 1
CACHED = Struct(">qiiqqq")
"""A cached batch: producer id, first and last sequence, first and last offset, timestamp."""


class SnapshotError(KafkaWireError):
    """A snapshot file that is damaged, or of another version."""


def encode_snapshot(producers: Iterable[Producer]) -> bytes:
    """The bytes of a snapshot file."""
    known = list(producers)
    message = ProducerSnapshot(crc=0, producer_entries=[_row(producer) for producer in known])
    data = bytearray(VERSION.to_bytes(2, "big") + bytes(message.encode(VERSION)))
    if known:
        data += _extension(known)
    data[2:6] = crc32c(memoryview(data)[CHECKED_FROM:]).to_bytes(4, "big")
    return bytes(data)


def decode_snapshot(data: bytes) -> list[Producer]:
    """The producers in a snapshot file.

    >>> decode_snapshot(encode_snapshot([]))
    []
    """
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < CHECKED_FROM or version != VERSION:
        raise SnapshotError(f"snapshot of {len(data)} bytes and version {version}, expected version {VERSION}")
    stated, computed = int.from_bytes(data[2:6], "big"), crc32c(memoryview(data)[CHECKED_FROM:])
    if stated != computed:
        raise SnapshotError(f"snapshot with stated CRC {stated:#010x}, computed {computed:#010x}")
    end = ENTRIES_AT + ENTRY_SIZE * int.from_bytes(data[CHECKED_FROM:ENTRIES_AT], "big", signed=True)
    if not ENTRIES_AT <= end <= len(data):
        raise SnapshotError(f"snapshot of {len(data)} bytes, its entries end at byte {end}")
    producers = [_producer(row) for row in ProducerSnapshot.decode(data[2:end], VERSION).producer_entries]
    _extend(producers, data[end:])
    return producers


def is_needed(producers: Producers, size: int) -> bool:
    """Whether a log of some bytes has a snapshot at a clean stop."""
    return bool(producers.entries) or size > REPLAYED


class Snapshots:
    """The snapshot files of one partition."""

    def __init__(self, files: FileSystem, directory: Path, offsets: Iterable[int] = ()) -> None:
        self._files = files
        self._directory = directory
        self.offsets = sorted(offsets)

    def save(self, offset: int, producers: Producers) -> None:
        path, content = self._path(offset), encode_snapshot(producers.entries.values())
        if offset in self.offsets:
            replace_file(self._files, path, content, durable=False)
            return
        # A new file needs no rename, because its CRC detects a partial write.
        file = self._files.open(path, create=True)
        file.truncate(0)
        file.write(0, [content])
        self.offsets = sorted([*self.offsets, offset])

    def file(self, offset: int) -> File:
        """The file of a snapshot that was saved."""
        return self._files.open(self._path(offset))

    def load(self, offset: int) -> tuple[int, Producers]:
        """The latest valid snapshot at or before an offset; (-1, no producers) if there is none."""
        for found in [known for known in reversed(self.offsets) if known <= offset]:
            try:
                return found, Producers(decode_snapshot(read_file(self._files, self._path(found))))
            except KafkaWireError:
                self.remove([found])
            except OSError:  # it may be valid: the disk may be readable again later
                continue
        return NONE, Producers()

    def remove(self, offsets: Iterable[int]) -> None:
        gone = set(offsets)
        for offset in gone:
            self._files.remove(self._path(offset))
        self.offsets = [offset for offset in self.offsets if offset not in gone]

    def keep(self, offsets: Iterable[int]) -> None:
        """Remove all snapshots but these and the latest."""
        kept = {*offsets, *self.offsets[-1:]}
        self.remove([offset for offset in self.offsets if offset not in kept])

    def _path(self, offset: int) -> Path:
        return self._directory / f"{offset:020d}{SNAPSHOT}"


def replay_producers(
    scan: BatchScan, data: memoryview, count: int, producers: Producers, *, before: int | None = None
) -> list[AbortedTransaction]:
    """Apply the first `count` batches of a scan to producers, or those before an offset; the transactions aborted."""
    aborted = []
    for number, producer_id in enumerate(scan.producer_id[:count]):
        if producer_id < 0:
            continue
        last_offset, attributes = scan.last_offset[number], scan.attributes[number]
        if before is not None and last_offset >= before:
            break
        if attributes & CONTROL:
            start = scan.position[number]
            batch = next(read_batches(data[start : start + scan.size[number]], verify=False))
            end = transaction_end(batch)
            if end is not None and (closed := producers.append_marker(end)) is not None:
                aborted.append(closed)
        elif scan.base_sequence[number] >= 0 or attributes & TRANSACTIONAL:
            first, base = scan.base_sequence[number], scan.base_offset[number]
            producers.append(
                ProducerBatch(
                    producer_id,
                    scan.producer_epoch[number],
                    first,
                    add_sequence(first, last_offset - base) if first >= 0 else NONE,
                    base,
                    last_offset,
                    scan.max_timestamp[number],
                    attributes & TRANSACTIONAL != 0,
                )
            )
    return aborted


def replay_segments(segments: list[Segment], producers: Producers, start: int, end: int) -> None:
    """Apply the batches between two offsets to producers; the segments are known to be whole."""
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else None
        if segment.base_offset >= end or (following is not None and following <= start):
            continue
        first = segment.locate(start)
        if first is None:
            continue
        for _, data, scan in sweep(segment.file, first.position, segment.size):
            replay_producers(scan, data, scan.count, producers, before=end)


def _row(producer: Producer) -> ProducerSnapshot.ProducerEntry:
    last = producer.batches[-1] if producer.batches else CachedBatch(NONE, NONE, NONE, NONE, NONE)
    return ProducerSnapshot.ProducerEntry(
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        last_sequence=last.last_sequence,
        last_offset=last.last_offset,
        offset_delta=last.last_offset - last.first_offset,
        timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_first_offset=producer.transaction_start,
    )


def _producer(row: ProducerSnapshot.ProducerEntry) -> Producer:
    producer = Producer(row.producer_id, row.epoch, row.coordinator_epoch, row.timestamp, row.current_txn_first_offset)
    if row.last_offset >= 0:
        first_sequence = (row.last_sequence - row.offset_delta) & MAX_SEQUENCE
        producer.batches.append(
            CachedBatch(
                first_sequence, row.last_sequence, row.last_offset - row.offset_delta, row.last_offset, row.timestamp
            )
        )
    return producer


def _extension(producers: Iterable[Producer]) -> bytes:
    """All cached batches, also the last ones, because Kafka's part does not have their own timestamps."""
    rows = [CACHED.pack(producer.producer_id, *batch) for producer in producers for batch in producer.batches]
    return EXTENSION.pack(EXTENSION_TAG, EXTENSION_VERSION, len(rows)) + b"".join(rows)


def _extend(producers: Iterable[Producer], extension: bytes) -> None:
    """Add the batches of an extension to producers; those that contradict a producer's entry are ignored."""
    if len(extension) < EXTENSION.size:
        return
    tag, version, count = EXTENSION.unpack_from(extension)
    rows = memoryview(extension)[EXTENSION.size :]
    if tag != EXTENSION_TAG or version != EXTENSION_VERSION or count * CACHED.size != len(rows):
        return
    cached: dict[int, list[CachedBatch]] = {}
    for producer_id, *batch in CACHED.iter_unpack(rows):
        cached.setdefault(producer_id, []).append(CachedBatch(*batch))
    for producer in producers:
        batches = cached.get(producer.producer_id, [])
        if producer.batches and _continue(batches, producer.batches[-1]):
            producer.batches.clear()
            producer.batches.extend(batches)


def _continue(batches: list[CachedBatch], last: CachedBatch) -> bool:
    """Whether batches can be those that a producer wrote up to its last one."""
    if not 0 < len(batches) <= CACHED_BATCHES or batches[-1]._replace(timestamp=last.timestamp) != last:
        return False
    return all(
        0 <= batch.first_offset <= batch.last_offset
        and add_sequence(batch.first_sequence, batch.last_offset - batch.first_offset) == batch.last_sequence
        for batch in batches
    ) and all(one.last_offset < other.first_offset for one, other in pairwise(batches))
