"""The contents of log files as tables: what a person, or a script, wants to see.

Rules:
- A table is of one kind of thing in one file; its rows are plain values.
- Bytes that are no batch are a table of kind `fault`; what could be read before them is shown.
- A directory is shown file by file, in the order of offsets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log import checkpoints
from kafkawire.log.aborted import AbortedTransaction, decode_aborted
from kafkawire.log.files import DiskFiles, map_file
from kafkawire.log.index import IndexFile, OffsetIndex, TimeIndex
from kafkawire.log.lookup import INDEX, TIME_INDEX
from kafkawire.log.segment import ABORTED, LOG
from kafkawire.log.snapshots import SNAPSHOT, SnapshotError, decode_snapshot
from kafkawire.messages.uuids import uuid_text
from kafkawire.records import CorruptRecordError, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kafkawire.records import Batch

BATCH_COLUMNS = (
    *("position", "base_offset", "last_offset", "records", "size", "magic", "codec", "max_timestamp"),
    *("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "flags"),
)
RECORD_COLUMNS = ("offset", "timestamp", "key", "value", "headers")
PRODUCER_COLUMNS = (
    *("producer_id", "epoch", "first_sequence", "last_sequence", "last_offset", "timestamp"),
    *("coordinator_epoch", "transaction_start"),
)
_STEM = re.compile(r"\d{20}")


class Table(NamedTuple):
    """Things of one kind."""

    path: Path
    kind: str
    columns: tuple[str, ...]
    rows: Iterable[Sequence[object]]


def partitions_in(path: Path) -> list[Path]:
    """The partition directories under a path, or the path itself if it is one."""
    if any(path.glob("*" + LOG)):
        return [path]
    return sorted(child for child in path.iterdir() if child.is_dir() and any(child.glob("*" + LOG)))


def log_files(path: Path) -> list[Path]:
    """The log files at a path, in the order of partitions and offsets."""
    if path.is_file():
        return [path]
    return [log for partition in partitions_in(path) for log in sorted(partition.glob("*" + LOG))]


def dump_path(path: Path, *, records: bool = False) -> Iterator[Table]:
    """The tables of a file, or of every known file in a directory."""
    if path.is_file():
        yield from _dump_file(path, records)
        return
    for partition in partitions_in(path):
        for file in sorted(partition.iterdir()):
            if file.is_file():
                yield from _dump_file(file, records)
    if partitions_in(path) != [path]:
        for file in sorted(path.iterdir()):
            if file.name.endswith("offset-checkpoint"):
                yield _lines(file, ("topic", "partition", "offset"))


def _dump_file(path: Path, records: bool) -> Iterator[Table]:
    stem = path.name[:20]
    base = int(stem) if _STEM.fullmatch(stem) else 0
    if path.suffix == LOG:
        yield from _dump_log(path, records)
    elif path.suffix == INDEX:
        yield _index(path, ("offset", "position"), OffsetIndex(DiskFiles(), path, base, 2**31, path.stat().st_size))
    elif path.suffix == TIME_INDEX:
        yield _index(path, ("timestamp", "offset"), TimeIndex(DiskFiles(), path, base, 2**31, path.stat().st_size))
    elif path.suffix == ABORTED:
        entries = decode_aborted(path.read_bytes())
        yield (
            _fault(path, "not a list of aborted transactions")
            if entries is None
            else Table(path, "aborted", AbortedTransaction._fields, entries)
        )
    elif path.suffix == SNAPSHOT:
        yield _snapshot(path)
    elif path.name == checkpoints.EPOCHS:
        yield _lines(path, ("epoch", "start_offset"))
    elif path.name == checkpoints.PARTITION:
        yield _partition(path)


def _partition(path: Path) -> Table:
    topic_id = checkpoints.read_topic_id(DiskFiles(), path.parent)
    if topic_id is None:
        return _fault(path, "no topic id")
    return Table(path, "partition", ("topic_id", "uuid"), [(uuid_text(topic_id), topic_id)])


def _dump_log(path: Path, records: bool) -> Iterator[Table]:
    view = map_file(path)
    reader = read_batches(view)
    batches: list[Batch] = []
    fault = None
    try:
        for batch in reader:
            batches.append(batch)
            if records:
                yield Table(path, "batch", BATCH_COLUMNS, [_batch(batch)])
                yield Table(path, "record", RECORD_COLUMNS, [_record(record) for record in batch.records()])
    except CorruptRecordError as error:
        fault = str(error)
    if batches and not records:
        yield Table(path, "batch", BATCH_COLUMNS, map(_batch, batches))
    end = batches[-1].end if batches else 0
    if fault is None and end < len(view):
        fault = f"{len(view) - end} trailing bytes at byte {end} that are no whole batch"
    if fault is not None:
        yield _fault(path, fault)


def _batch(batch: Batch) -> tuple[object, ...]:
    flags = [
        name
        for name, is_set in (
            ("transactional", batch.is_transactional),
            ("control", batch.is_control),
            ("append-time", batch.timestamp_type == 1),
            ("delete-horizon", batch.has_delete_horizon),
        )
        if is_set
    ]
    return (
        *(batch.position, batch.base_offset, batch.last_offset, batch.record_count, batch.size, batch.magic),
        *(batch.codec.name.lower(), batch.max_timestamp, batch.leader_epoch, batch.producer_id),
        *(batch.producer_epoch, batch.base_sequence, ",".join(flags)),
    )


def _record(record: object) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in RECORD_COLUMNS)


def _index(path: Path, columns: tuple[str, ...], index: OffsetIndex | TimeIndex) -> Table:
    return Table(path, "index" if isinstance(index, OffsetIndex) else "time index", columns, _entries(index))


def _entries(index: OffsetIndex | TimeIndex) -> Iterator[Sequence[object]]:
    for number in range(len(index)):
        if number and IndexFile.fields(index, number) == (0, 0):
            return
        yield index.entry(number)


def _snapshot(path: Path) -> Table:
    try:
        producers = decode_snapshot(path.read_bytes())
    except SnapshotError as error:
        return _fault(path, str(error))
    rows = []
    for producer in producers:
        last = producer.batches[-1] if producer.batches else None
        batch = (last.first_sequence, last.last_sequence, last.last_offset) if last else (None, None, None)
        state = (producer.last_timestamp, producer.coordinator_epoch, producer.transaction_start)
        rows.append((producer.producer_id, producer.epoch, *batch, *state))
    return Table(path, "producer", PRODUCER_COLUMNS, rows)


def _lines(path: Path, columns: tuple[str, ...]) -> Table:
    if not path.stat().st_size:
        return Table(path, "checkpoint", columns, [])
    lines = checkpoints.read_lines(DiskFiles(), path)
    if lines is None or any(len(words) != len(columns) for words in lines):
        return _fault(path, "not a checkpoint of version 0")
    rows = [tuple(int(word) if word.lstrip("-").isdigit() else word for word in words) for words in lines]
    return Table(path, "checkpoint", columns, rows)


def _fault(path: Path, message: str) -> Table:
    return Table(path, "fault", ("fault",), [(message,)])
