"""The contents of log files as tables, for people and scripts.

Rules:
- A table has one kind of entry of one file; its rows are plain values.
- Bytes that are not a batch are a table of kind `fault`. The batches before them are shown.
- A file whose name is not that of a log file is refused, because its bytes would be shown as damage.
- A directory is shown file by file, in the order of offsets.
- Keys and values of internal topics and of control records are decoded. The directory of a log gives its topic.
- Snapshots of the metadata log (`*.checkpoint`) are shown as logs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log import checkpoints
from kafkawire.log._position_index import INDEX, TIME_INDEX, IndexFile, OffsetIndex, TimeIndex
from kafkawire.log._producer_snapshots import SNAPSHOT, SnapshotError, decode_snapshot
from kafkawire.log._segment import ABORTED, LOG
from kafkawire.log._txn_index import AbortedTransaction, decode_aborted
from kafkawire.log.errors import NotALogError
from kafkawire.log.internal_topics import decode_record
from kafkawire.log.storage.files import DiskFiles, map_file
from kafkawire.messages import uuid_text
from kafkawire.records import CorruptRecordError, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kafkawire.records import Batch, Record

BATCH_COLUMNS = (
    *("position", "base_offset", "last_offset", "records", "size", "magic", "codec", "max_timestamp"),
    *("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "crc", "flags"),
)
RECORD_COLUMNS = ("offset", "timestamp", "key", "value", "headers")
PRODUCER_COLUMNS = (
    *("producer_id", "epoch", "first_sequence", "last_sequence", "last_offset", "timestamp"),
    *("coordinator_epoch", "transaction_start"),
)
_SUFFIXES = (LOG, INDEX, TIME_INDEX, ABORTED, SNAPSHOT)
_NAMES = (checkpoints.EPOCHS, checkpoints.PARTITION)
_CHECKPOINT = "offset-checkpoint"
_STEM = re.compile(r"\d{20}")
_METADATA_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint")
_FOLDER = re.compile(r"(.+)-\d+(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")


class Table(NamedTuple):
    """Entries of one kind."""

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
        if path.suffix != LOG:
            raise NotALogError(f"{path}: not a log: expected a file with the suffix {LOG}, or a directory")
        return [path]
    return [log for partition in partitions_in(path) for log in sorted(partition.glob("*" + LOG))]


def dump_path(path: Path, *, records: bool = False, topic: str | None = None) -> Iterator[Table]:
    """The tables of a file, or of every known file in a directory; `topic` overrides the name of the directory."""
    if path.is_file():
        check_name(path)
        yield from _dump_file(path, records, topic)
        return
    if not partitions_in(path) and not any(path.glob("*" + _CHECKPOINT)):
        raise NotALogError(f"{path}: not a log directory: expected {LOG} files, or directories of partitions with some")
    for partition in partitions_in(path):
        for file in sorted(partition.iterdir()):
            if file.is_file():
                yield from _dump_file(file, records, topic)
    if partitions_in(path) != [path]:
        for file in sorted(path.iterdir()):
            if file.name.endswith(_CHECKPOINT):
                yield from _dump_file(file, records, topic)


def check_name(path: Path) -> None:
    """Refuse a file whose name is not that of a log, an index, a snapshot or a checkpoint."""
    is_known = path.suffix in _SUFFIXES or path.name in _NAMES or path.name.endswith(_CHECKPOINT)
    if not is_known and not _METADATA_SNAPSHOT.fullmatch(path.name):
        expected = ", ".join((*_SUFFIXES, *_NAMES, f"*-{_CHECKPOINT}"))
        raise NotALogError(f"{path}: not a file of a log directory: expected one of {expected}")


def _dump_file(path: Path, records: bool, topic: str | None) -> Iterator[Table]:
    stem = path.name[:20]
    base = int(stem) if _STEM.fullmatch(stem) else 0
    if path.suffix == LOG or _METADATA_SNAPSHOT.fullmatch(path.name):
        yield from _dump_log(path, records, topic or topic_of(path))
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
    elif path.name.endswith(_CHECKPOINT):
        yield _lines(path, ("topic", "partition", "offset"))


def _partition(path: Path) -> Table:
    topic_id = checkpoints.read_topic_id(DiskFiles(), path.parent)
    if topic_id is None:
        return _fault(path, "no topic id")
    return Table(path, "partition", ("topic_id", "uuid"), [(uuid_text(topic_id), topic_id)])


def _dump_log(path: Path, records: bool, topic: str | None) -> Iterator[Table]:
    view = map_file(path)
    reader = read_batches(view)
    batches: list[Batch] = []
    fault = None
    try:
        for batch in reader:
            batches.append(batch)
            if records:
                yield Table(path, "batch", BATCH_COLUMNS, [_batch(batch)])
                yield Table(
                    path, "record", RECORD_COLUMNS, [_record(topic, batch, record) for record in batch.records()]
                )
    except CorruptRecordError as error:
        fault = str(error)
    if batches and not records:
        yield Table(path, "batch", BATCH_COLUMNS, map(_batch, batches))
    end = batches[-1].end if batches else 0
    if fault is None and end < len(view):
        fault = f"{len(view) - end} trailing bytes at byte {end} are not a whole batch"
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
        *(batch.producer_epoch, batch.base_sequence, batch.crc, ",".join(flags)),
    )


def _record(topic: str | None, batch: Batch, record: Record) -> tuple[object, ...]:
    key, value = decode_record(topic, record, is_control=batch.is_control)
    return record.offset, record.timestamp, key, value, record.headers


def topic_of(path: Path) -> str | None:
    """The topic of a log file, by the name of its directory.

    >>> from pathlib import Path
    >>> topic_of(Path("/data/__transaction_state-7/00000000000000000000.log"))
    '__transaction_state'
    """
    found = _FOLDER.fullmatch(path.absolute().parent.name)
    return None if found is None else found[1]


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
