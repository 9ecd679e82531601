"""Log directories as tables: their files, what is wrong with their indexes, their batches and records.

Rules:
- Every file of a partition has a row, with its state: ok, damaged (batches or entries are wrong), cut (bytes left
  over at the end), unread (an index whose log is not there), leftover (of a deletion or a cleaning; not looked into).
- Aborted transactions, snapshots, epochs and the topic's id are read, and held against the logs where those tell.
- Segments of a partition must not overlap; where they do, that is a row of index_errors of the kind log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkawire.inspect.batch_rows import Origin, RecordRows
from kafkawire.inspect.rows import Rows
from kafkawire.inspect.sources.companions import (
    COMPANIONS,
    Companion,
    check_aborted,
    check_companion,
    check_snapshot,
)
from kafkawire.inspect.sources.files import map_file
from kafkawire.inspect.sources.segments import (
    Disagreement,
    LogWalk,
    Partition,
    SegmentFile,
    check_index,
    check_time_index,
    find_partitions,
    read_index,
    walk_log,
)
from kafkawire.inspect.tables import BATCHES, INDEX_ERRORS, SEGMENT_FILES
from kafkawire.inspect.topics import show_id
from kafkawire.log import DiskFiles
from kafkawire.log.checkpoints import read_topic_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_CODECS: Final = pa.array(["none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"])
_CLOCKS: Final = pa.array(["create", "append"])


def read_directories(
    roots: Iterable[Path],
    *,
    records: bool = False,
    values: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, pa.Table]:
    """The tables of log directories; `progress` is told of bytes as they are read.

    >>> sorted(read_directories([]))
    ['batches', 'index_errors', 'segment_files']
    """
    reader = _Reader(records=records or values, values=values, progress=progress)
    for root in roots:
        for partition in find_partitions(root):
            reader.read(partition)
    return reader.tables()


class _Reader:
    def __init__(self, *, records: bool, values: bool, progress: Callable[[int], None] | None) -> None:
        self._wanted, self._progress = records, progress
        self._files, self._errors, self._records = Rows(SEGMENT_FILES), Rows(INDEX_ERRORS), RecordRows(values=values)
        self._batches: list[pa.Table] = []

    def tables(self) -> dict[str, pa.Table]:
        tables = {
            "segment_files": self._files.table(),
            "index_errors": self._errors.table(),
            "batches": pa.concat_tables([BATCHES.empty_table(), *self._batches]),
        }
        return tables | ({"records": self._records.table()} if self._wanted else {})

    def read(self, partition: Partition) -> None:
        """Every file of a partition."""
        topic_id = show_id(read_topic_id(DiskFiles(), partition.folder))
        common = {"topic": partition.topic, "partition": partition.number, "topic_id": topic_id}
        epochs: set[int] = set()
        by_offset: dict[int, dict[str, SegmentFile]] = {}
        for file in partition.files:
            if file.is_left_over:
                self._add(file.path, file.kind, Companion(0, []), common, "leftover")
                continue
            by_offset.setdefault(file.base_offset, {})[file.kind] = file
        end: tuple[int, SegmentFile] | None = None
        for _, files in sorted(by_offset.items()):
            log = self._read_log(files, partition, common) if "log" in files else None
            if log is not None and len(log):
                self._check_overlap(files["log"], int(log.columns["base_offset"][0]), end)
                end = int(log.columns["last_offset"].max()), files["log"]
                epochs |= {epoch for epoch in np.unique(log.columns["leader_epoch"]).tolist() if epoch >= 0}
            for kind in ("index", "timeindex"):
                if kind in files:
                    self._read_index(files[kind], log, files.get("log"), common)
            if "txnindex" in files:
                self._add(files["txnindex"].path, "txnindex", check_aborted(files["txnindex"].path, log), common)
            if "snapshot" in files:
                self._add(files["snapshot"].path, "snapshot", check_snapshot(files["snapshot"].path), common)
        for name, kind in COMPANIONS.items():
            if (path := partition.folder / name).is_file():
                self._add(path, kind, check_companion(path, epochs), common)

    def _read_log(self, files: dict[str, SegmentFile], partition: Partition, common: dict[str, Any]) -> LogWalk:
        file = files["log"]
        size = file.path.stat().st_size
        data = map_file(file.path) if size else np.empty(0, np.uint8)
        resume = np.sort(read_index(files["index"])["position"].astype(np.int64)) if "index" in files else None
        log = walk_log(data, resume)
        place = str(file.path)
        self._batches.append(_batch_table(log, place, partition))
        if self._wanted:
            origin = Origin("segment", place, None, None, partition.topic, partition.number)
            self._records.unpack(origin, data.data)
        steps = log.columns["base_offset"][1:] - log.columns["last_offset"][:-1]
        for index in np.flatnonzero(steps <= 0).tolist():
            offset, before = int(log.columns["base_offset"][index + 1]), int(log.columns["last_offset"][index])
            self._error(file, index + 1, offset, f"a batch that begins at offset {offset} follows offset {before}")
        whole = bool(log.good.all())
        self._files.add(
            common
            | {
                "file": place,
                "kind": "log",
                "base_offset": file.base_offset,
                "bytes": size,
                "entries": len(log),
                "first_offset": int(log.columns["base_offset"][0]) if len(log) else None,
                "last_offset": int(log.columns["last_offset"].max()) if len(log) else None,
                "max_ts": int(log.columns["max_timestamp"].max()) if len(log) else None,
                "state": "ok" if not log.faults else ("cut" if whole and len(log.faults) == 1 else "damaged"),
                "fault": "; ".join(log.faults[:3]) or None,
            }
        )
        if self._progress is not None:
            self._progress(size)
        return log

    def _read_index(
        self, file: SegmentFile, log: LogWalk | None, log_file: SegmentFile | None, common: dict[str, Any]
    ) -> None:
        entries = read_index(file)
        wrong: list[Disagreement] = []
        if log is not None and log_file is not None:
            checked = (
                check_index(file, entries, log, log_file.path.stat().st_size)
                if file.kind == "index"
                else check_time_index(file, entries, log)
            )
            wrong = list(checked)
        state = None if log is not None else "unread"
        self._add(file.path, file.kind, Companion(len(entries), wrong), common, state)

    def _add(self, path: Path, kind: str, checked: Companion, common: dict[str, Any], state: str | None = None) -> None:
        """The row of a file that is no log, and of what is wrong in it."""
        wrong = checked.wrong
        for each in wrong:
            self._errors.add(each._asdict() | {"file": str(path), "kind": kind})
        fault = f"{len(wrong)} entries disagree with the log" if wrong and wrong[0].entry is not None else None
        self._files.add(
            common
            | {
                "file": str(path),
                "kind": kind,
                "base_offset": int(path.name[:20]) if path.name[:20].isdecimal() else None,
                "bytes": path.stat().st_size,
                "entries": checked.entries,
                "state": state or ("damaged" if wrong else "ok"),
                "fault": fault or (wrong[0].text if wrong else None),
            }
        )

    def _check_overlap(self, file: SegmentFile, first: int, end: tuple[int, SegmentFile] | None) -> None:
        if end is not None and first <= end[0]:
            text = f"begins at offset {first}, but {end[1].path.name} goes up to {end[0]}"
            self._error(file, 0, first, text)

    def _error(self, file: SegmentFile, entry: int, offset: int, text: str) -> None:
        self._errors.add({"file": str(file.path), "kind": "log", "entry": entry, "offset": offset, "text": text})


def _batch_table(log: LogWalk, place: str, partition: Partition) -> pa.Table:
    columns, count = log.columns, len(log)
    attributes, new = columns["attributes"], columns["magic"] == 2
    clock = np.where(columns["magic"] == 0, 0, attributes >> 3 & 1).astype(np.int32)
    plain = (attributes & 7) == 0
    made: dict[str, Any] = {
        "source": pa.array(["segment"]).take(np.zeros(count, np.int32)),
        "location": pa.array([f"{place}@{position}" for position in columns["position"].tolist()], pa.string()),
        "topic": pa.array([partition.topic]).take(np.zeros(count, np.int32)),
        "partition": np.full(count, partition.number),
        "base_offset": columns["base_offset"],
        "last_offset": columns["last_offset"],
        "count": _absent(columns["record_count"]),
        "magic": columns["magic"],
        "codec": _CODECS.take((attributes & 7).astype(np.int32)),
        "ts_type": _CLOCKS.take(clock),
        "base_ts": columns["base_timestamp"],
        "max_ts": columns["max_timestamp"],
        "producer_id": _absent(columns["producer_id"]),
        "epoch": _absent(columns["producer_epoch"]),
        "base_seq": _absent(columns["base_sequence"]),
        "txn": new & (attributes & 0x10 != 0),
        "control": new & (attributes & 0x20 != 0),
        "leader_epoch": columns["leader_epoch"],
        "bytes": columns["size"],
        "raw_bytes": pa.array(columns["size"], mask=~plain),
        "crc": columns["crc"],
        "crc_ok": log.good,
    }
    arrays = [
        pa.array(made[column.name]).cast(column.type) if column.name in made else pa.nulls(count, column.type)
        for column in BATCHES
    ]
    return pa.Table.from_arrays(arrays, schema=BATCHES)


def _absent(values: Any) -> pa.Array[Any]:
    made: pa.Array[Any] = pa.array(values, mask=values < 0)
    return made
