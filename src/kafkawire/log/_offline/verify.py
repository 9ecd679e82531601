"""The verification of a partition's files: each by itself, against the log, and against each other.

Rules:
- Everything that kafka-dump-log checks is checked: CRCs, every record, trailing bytes, and index entries against the
  batches that they name. `tests/interop/test_dump_log_segments.py` runs both over the same files.
- An `.index` entry names the batch at its position by its last offset. A `.timeindex` entry names a batch by its last
  offset, and has the batch's largest timestamp. Apache Kafka's tool rejects an offset inside a batch; so do we.
- Checked besides: overlaps of segments, index entries that are missing or not in order, aborted transactions without
  their marker, snapshots, epochs, topic ids.
- An index ends at its first entry of zeros, because a broker allocates its file ahead. Such an index belongs to a log
  that was not closed, so it may lack entries.
- If a log and an index disagree, the index is wrong.
- A finding names the file, the place in it, the value found and the value expected. Verification continues after it.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkawire.exceptions import KafkaWireError
from kafkawire.log import checkpoints
from kafkawire.log._offline.log_file import open_log
from kafkawire.log._position_index import INDEX, TIME_INDEX, OffsetIndex, TimeIndex
from kafkawire.log._producer_snapshots import SNAPSHOT, decode_snapshot
from kafkawire.log._segment import ABORTED, LOG
from kafkawire.log._txn_index import decode_aborted
from kafkawire.log.storage.files import DiskFiles
from kafkawire.records import HEADER_SIZE, CorruptRecordError, decompress, read_batches
from kafkawire.records import payload as payloads
from kafkawire.records.layout import APPEND_TIME, CODEC, CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kafkawire.log._offline.log_file import LogFile

DEFAULT_INTERVAL = 4096
LAYOUTS = {INDEX: OffsetIndex.layout, TIME_INDEX: TimeIndex.layout}


class Finding(NamedTuple):
    """A fault in a file.

    `position` is a byte in the file, or -1. The other numbers are set for a fault of one entry: the number of the
    entry, the offset and the position in the log that it names, and the value expected and found there.
    """

    path: Path
    position: int
    message: str
    entry: int | None = None
    offset: int | None = None
    log_position: int | None = None
    expected: int | None = None
    found: int | None = None


def verify_partition(directory: Path, *, interval: int = DEFAULT_INTERVAL) -> Iterator[Finding]:
    """Every finding in a partition's directory."""
    logs = [open_log(path) for path in sorted(directory.glob("*" + LOG)) if path.name[:20].isdigit()]
    for log in logs:
        yield from verify_log(log)
        yield from verify_offset_index(log, interval)
        yield from verify_time_index(log)
        yield from verify_aborted(log)
    yield from verify_overlaps(logs)
    yield from _verify_orphans(directory, logs)
    for path in sorted(directory.glob("*" + SNAPSHOT)):
        yield from verify_snapshot(path)
    if (path := directory / checkpoints.EPOCHS).exists():
        yield from verify_epochs(path, set[int]().union(*(log.leader_epochs for log in logs)))
    if (path := directory / checkpoints.PARTITION).exists():
        yield from verify_metadata(path)


def verify_log(log: LogFile) -> Iterator[Finding]:
    """Damage, the order of offsets, and every record."""
    yield from verify_order(log)
    for number, is_sound in enumerate(log.is_sound):
        if is_sound and (problem := _problem_in_records(log, number)):
            yield Finding(log.path, log.columns["position"][number], problem)
    for damage in log.damage:
        words = f"{damage.problem}; {damage.size} bytes are not readable"
        if damage.is_unfinished:
            words = f"{damage.size} trailing bytes are not a whole batch"
        yield Finding(log.path, damage.position, words)


def verify_order(log: LogFile) -> Iterator[Finding]:
    """Batches whose offsets do not follow those of the batches before them."""
    columns, expected = log.columns, log.base_offset
    for number, is_sound in enumerate(log.is_sound):
        if not is_sound:
            continue
        base, last = columns["base_offset"][number], columns["last_offset"][number]
        first = base if columns["magic"][number] == 2 else last
        if first < expected:
            words = f"batch of offsets {base} to {last}, expected {expected} or later"
            at = columns["position"][number]
            yield Finding(log.path, at, words, number, base, at, expected, first)
        expected = max(expected, last + 1)


def verify_overlaps(logs: Iterable[LogFile]) -> Iterator[Finding]:
    """Segments that reach past the start of the next one."""
    for one, other in pairwise(logs):
        if one.next_offset > other.base_offset:
            words = f"ends at offset {one.next_offset}, the next segment starts at {other.base_offset}"
            yield Finding(one.path, -1, words, expected=other.base_offset, found=one.next_offset)


def _problem_in_records(log: LogFile, number: int) -> str | None:
    columns = log.columns
    position, size, attributes = (columns[name][number] for name in ("position", "size", "attributes"))
    data = log.view[position : position + size]
    try:
        if columns["magic"][number] < 2:
            offsets = [record.offset for batch in read_batches(data) for record in batch.records()]
            return None if all(a < b for a, b in pairwise(offsets)) else f"offsets {offsets} do not rise"
        count, base_timestamp = columns["record_count"][number], columns["base_timestamp"][number]
        if not count:
            return None
        records = decompress(attributes & CODEC, data[HEADER_SIZE:])
        _, largest, _, _ = payloads.examine(records, count, base_timestamp)
    except CorruptRecordError as error:
        return str(error)
    stated = columns["max_timestamp"][number]
    if not attributes & (APPEND_TIME | CONTROL) and largest != stated:
        return f"largest timestamp {stated}, its records have {largest}"
    return None


def index_entries(path: Path) -> Iterator[tuple[Any, ...]]:
    """The entries of an `.index` or `.timeindex` as they are stored, up to the space allocated ahead."""
    layout = LAYOUTS[path.suffix]
    data = path.read_bytes()
    for entry in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        if entry == (0, 0):
            return
        yield entry


def _verify_file_size(path: Path) -> Iterator[Finding]:
    size = LAYOUTS[path.suffix].size
    if not path.exists():
        yield Finding(path, -1, "missing")
    elif path.stat().st_size % size:
        found = path.stat().st_size
        yield Finding(path, found, f"{found} bytes, expected a multiple of {size}")


def verify_offset_index(log: LogFile, interval: int = DEFAULT_INTERVAL) -> Iterator[Finding]:
    """Every entry against the batch that it names, and every batch that should have an entry."""
    path = log.path.with_suffix(INDEX)
    yield from _verify_file_size(path)
    if not path.exists():
        return
    starts, lasts = log.columns["position"], log.columns["last_offset"]
    indexed, before = [0], -1
    for entry, (relative, position) in enumerate(index_entries(path)):
        offset = log.base_offset + relative
        place = path, entry * OffsetIndex.layout.size
        named = entry, offset, position
        at = bisect_left(starts, position)
        if not 0 <= position < log.size:
            words = f"position {position}, the log has {log.size} bytes"
            yield Finding(*place, words, *named, log.size, position)
        elif at == len(starts) or starts[at] != position:
            yield Finding(*place, f"no batch starts at position {position}", *named)
        elif lasts[at] != offset:
            words = f"offset {offset}, the batch at position {position} ends at {lasts[at]}"
            yield Finding(*place, words, *named, lasts[at], offset)
        if position <= before:
            words = f"position {position} after {before}, expected it to rise"
            yield Finding(*place, words, *named, before + 1, position)
        before = max(before, position)
        indexed.append(max(indexed[-1], position))
    if path.stat().st_size // OffsetIndex.layout.size == len(indexed) - 1:
        yield from _missing_entries(path, starts, indexed, interval)


def _missing_entries(path: Path, starts: Any, indexed: list[int], interval: int) -> Iterator[Finding]:
    ends = [*indexed[1:], starts[-1] + 1 if starts else 0]
    for last, following in zip(indexed, ends, strict=True):
        due = bisect_left(starts, last + interval + 1)
        # An append of several batches may be indexed as one, so a single batch without an entry proves nothing.
        if due < len(starts) and starts[due] + interval < following:
            yield Finding(path, -1, f"no entry between positions {last} and {following}, one was due at {starts[due]}")


def verify_time_index(log: LogFile) -> Iterator[Finding]:
    """Every entry against the batch that it names, and the order of all."""
    path = log.path.with_suffix(TIME_INDEX)
    yield from _verify_file_size(path)
    if not path.exists():
        return
    lasts, stamps = log.columns["last_offset"], log.columns["max_timestamp"]
    before = -1
    for entry, (timestamp, relative) in enumerate(index_entries(path)):
        offset = log.base_offset + relative
        place = path, entry * TimeIndex.layout.size
        named = entry, offset, None
        at = bisect_left(lasts, offset)
        if at == len(lasts):
            yield Finding(*place, f"no batch ends at offset {offset}", *named)
        elif lasts[at] != offset:
            words = f"no batch ends at offset {offset}, the next one ends at {lasts[at]}"
            yield Finding(*place, words, *named, lasts[at], offset)
        elif stamps[at] != timestamp:
            words = f"timestamp {timestamp}, the batch that ends at offset {offset} has {stamps[at]}"
            yield Finding(*place, words, *named, stamps[at], timestamp)
        if timestamp <= before:
            words = f"timestamp {timestamp} after {before}, expected it to rise"
            yield Finding(*place, words, *named, before + 1, timestamp)
        before = max(before, timestamp)


def verify_aborted(log: LogFile) -> Iterator[Finding]:
    """Every aborted transaction against its marker."""
    path = log.path.with_suffix(ABORTED)
    if not path.exists():
        return
    entries = decode_aborted(path.read_bytes())
    if entries is None:
        yield Finding(path, 0, "not a list of aborted transactions")
        return
    rows = zip(*(log.columns[name] for name in ("last_offset", "producer_id", "attributes")), strict=True)
    markers = {last: producer for last, producer, attributes in rows if attributes & CONTROL}
    for number, entry in enumerate(entries):
        found = markers.get(entry.last_offset)
        if found != entry.producer_id:
            words = f"no marker of producer {entry.producer_id} at offset {entry.last_offset}"
            yield Finding(path, -1, words, number, entry.last_offset, None, entry.producer_id, found)


def _verify_orphans(directory: Path, logs: list[LogFile]) -> Iterator[Finding]:
    stems = {log.path.stem for log in logs}
    for path in sorted(directory.iterdir()):
        if path.suffix in (INDEX, TIME_INDEX, ABORTED) and path.stem not in stems:
            yield Finding(path, -1, "there is no log of this name")


def verify_snapshot(path: Path) -> Iterator[Finding]:
    """Whether a snapshot of producers can be read."""
    try:
        decode_snapshot(path.read_bytes())
    except KafkaWireError as error:
        yield Finding(path, 0, str(error))


def verify_epochs(path: Path, seen: set[int]) -> Iterator[Finding]:
    """The order of leader epochs, and whether every epoch of a batch is listed."""
    lines = checkpoints.read_lines(DiskFiles(), path)
    if lines is None or not all(len(words) == 2 and all(map(_is_number, words)) for words in lines):
        yield Finding(path, 0, "expected a version of 0, a count, and as many lines of epoch and offset")
        return
    entries = [(int(epoch), int(start)) for epoch, start in lines]
    for number, ((epoch, start), (following, offset)) in enumerate(pairwise(entries), 1):
        if following <= epoch or offset < start:
            words = f"epoch {following} at offset {offset} follows epoch {epoch} at offset {start}"
            yield Finding(path, -1, words, number, offset, None, epoch + 1, following)
    for epoch in sorted(seen - {epoch for epoch, _ in entries}):
        yield Finding(path, -1, f"epoch {epoch} is not listed, and batches have it", expected=epoch)


def verify_metadata(path: Path) -> Iterator[Finding]:
    """Whether `partition.metadata` has the id of a topic."""
    if checkpoints.read_topic_id(DiskFiles(), path.parent) is None:
        yield Finding(path, 0, "expected a version of 0 and a topic id")


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 20
