"""Log directories as tables: their files, what is wrong with their indexes, their batches and records.

Rules:
- Every file of a partition has a row with its state: ok; damaged (batches or entries are wrong); cut (an unfinished
  batch at the end); unread (an index without its log); leftover (from a deletion or a cleaning, not read).
- `kafkawire.log` verifies the files, as it does for `kafkawire log dump --verify`. Each finding is a row of
  index_errors. Batches out of order and segments that overlap are rows of the kind log.
- An index that is missing has no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkawire.inspect._logdir.segments import CHECKPOINT, COMPANIONS, count_entries, find_partitions
from kafkawire.inspect._tables.batches import Origin, RecordRows, header_columns
from kafkawire.inspect._tables.old_names import checked_columns, selected
from kafkawire.inspect._tables.rows import Rows
from kafkawire.inspect._tables.schemas import BATCHES, INDEX_ERRORS, SEGMENT_FILES
from kafkawire.inspect._tables.topics import show_id
from kafkawire.inspect._transactions.tables import StoredTransactions
from kafkawire.log import (
    DiskFiles,
    open_log,
    verify_aborted,
    verify_epochs,
    verify_metadata,
    verify_offset_index,
    verify_order,
    verify_overlaps,
    verify_snapshot,
    verify_time_index,
)
from kafkawire.log.checkpoints import read_topic_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from kafkawire.inspect._logdir.segments import Partition, SegmentFile
    from kafkawire.log import LogFile, LogFinding
    from kafkawire.records.walk import Damage

_LARGEST_TIME: Final = (2**63 - 1) // 1000
_VERIFIED: Final = {"index": verify_offset_index, "timeindex": verify_time_index, "txnindex": verify_aborted}


def read_directories(
    roots: Iterable[Path],
    *,
    records: bool = False,
    values: bool = False,
    columns: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, pa.Table]:
    """The tables of log directories; `progress` is called with the number of bytes of each log that was read.

    `columns` selects columns by table; it accepts names of before 0.2, with a DeprecationWarning.

    >>> sorted(read_directories([]))
    ['batches', 'index_errors', 'segment_files', 'transactions']
    """
    if columns:
        checked_columns(columns)
    reader = _Reader(records=records or values, values=values, progress=progress)
    for root in roots:
        for partition in find_partitions(root):
            reader.read(partition)
    return selected(reader.tables(), columns) if columns else reader.tables()


class _Reader:
    def __init__(self, *, records: bool, values: bool, progress: Callable[[int], None] | None) -> None:
        self._wanted, self._progress = records, progress
        self._files, self._errors, self._records = Rows(SEGMENT_FILES), Rows(INDEX_ERRORS), RecordRows(values=values)
        self._batches: list[pa.Table] = []
        self._transactions = StoredTransactions()

    def tables(self) -> dict[str, pa.Table]:
        tables = {
            "segment_files": self._files.table(),
            "index_errors": self._errors.table(),
            "batches": pa.concat_tables([BATCHES.empty_table(), *self._batches]),
            "transactions": self._transactions.table(),
        }
        return tables | ({"records": self._records.table()} if self._wanted else {})

    def read(self, partition: Partition) -> None:
        """Every file of a partition."""
        topic_id = show_id(read_topic_id(DiskFiles(), partition.folder))
        common = {"topic": partition.topic, "partition": partition.number, "topic_id": topic_id}
        by_offset: dict[int, dict[str, SegmentFile]] = {}
        for file in partition.files:
            if file.is_left_over:
                self._add(file.path, file.kind, [], common, "leftover")
                continue
            by_offset.setdefault(file.base_offset, {})[file.kind] = file
        logs: list[LogFile] = []
        for _, files in sorted(by_offset.items()):
            if "log" in files:
                logs.append(self._read_log(files["log"], partition, common))
            log = logs[-1] if "log" in files else None
            for kind, verify in _VERIFIED.items():
                if kind in files:
                    wrong = [] if log is None else list(verify(log))
                    self._add(files[kind].path, kind, wrong, common, "unread" if log is None else None)
            if "snapshot" in files:
                path = files["snapshot"].path
                self._add(path, "snapshot", list(verify_snapshot(path)), common)
        self._report("log", [each for log in logs for each in verify_order(log)], common)
        self._report("log", list(verify_overlaps(logs)), common)
        self._transactions.read(partition.topic, partition.number, logs)
        epochs = set[int]().union(*(log.leader_epochs for log in logs))
        for name, kind in COMPANIONS.items():
            if (path := partition.folder / name).is_file():
                wrong = list(verify_epochs(path, epochs) if kind == CHECKPOINT else verify_metadata(path))
                self._add(path, kind, wrong, common)

    def _read_log(self, file: SegmentFile, partition: Partition, common: dict[str, Any]) -> LogFile:
        log = open_log(file.path)
        columns = {name: np.asarray(column).astype(np.int64) for name, column in log.columns.items()}
        place = str(file.path)
        self._batches.append(_batch_table(columns, np.frombuffer(log.is_sound, np.bool_), place, partition))
        if self._wanted:
            origin = Origin("segment", place, None, None, partition.topic, partition.number, place)
            self._records.unpack(origin, log.view)
        faults = [fault_text(damage) for damage in log.damage]
        is_cut = len(log.damage) == 1 and log.damage[0].is_unfinished
        sound = np.frombuffer(log.is_sound, np.bool_)
        counts = columns["record_count"][sound]
        times = [columns[name][sound] for name in ("base_timestamp", "max_timestamp")]
        first, last = (each[(each >= 0) & (each <= _LARGEST_TIME)] * 1000 for each in times)
        self._files.add(
            common
            | {
                "file": place,
                "kind": "log",
                "base_offset": file.base_offset,
                "size": log.size,
                "entries": len(log),
                "records": None if (counts < 0).any() else int(counts.sum()),
                "first_offset": int(columns["base_offset"][0]) if len(log) else None,
                "last_offset": int(columns["last_offset"].max()) if len(log) else None,
                "first_timestamp": int(first.min()) if len(first) else None,
                "max_timestamp": int(last.max()) if len(last) else None,
                "tail_bytes": sum(each.size for each in log.damage if each.is_unfinished),
                "faults": sum(not each.is_unfinished for each in log.damage),
                "state": "ok" if not faults else ("cut" if is_cut else "damaged"),
                "fault": "; ".join(faults[:3]) or None,
            }
        )
        if self._progress is not None:
            self._progress(log.size)
        return log

    def _add(
        self, path: Path, kind: str, wrong: list[LogFinding], common: dict[str, Any], state: str | None = None
    ) -> None:
        """The row of a file that is not a log, and the rows of its findings."""
        self._report(kind, wrong, common)
        fault = f"{len(wrong)} entries disagree with the log" if wrong and wrong[0].entry is not None else None
        self._files.add(
            common
            | {
                "file": str(path),
                "kind": kind,
                "base_offset": int(path.name[:20]) if path.name[:20].isdecimal() else None,
                "size": path.stat().st_size,
                "entries": 0 if state == "leftover" else count_entries(path, kind),
                "state": state or ("damaged" if wrong else "ok"),
                "fault": fault or (wrong[0].message if wrong else None),
            }
        )

    def _report(self, kind: str, findings: list[LogFinding], common: dict[str, Any]) -> None:
        for each in findings:
            self._errors.add(common | error_row(kind, each))


def error_row(kind: str, finding: LogFinding) -> dict[str, Any]:
    """The columns of index_errors that a finding of the log fills."""
    return {
        "file": str(finding.path),
        "kind": kind,
        "entry": finding.entry,
        "position": finding.position if finding.position >= 0 else None,
        "offset": finding.offset,
        "log_position": finding.log_position,
        "expected": finding.expected,
        "found": finding.found,
        "problem": finding.message,
    }


def fault_text(damage: Damage) -> str:
    """The fault of a log file, for people."""
    if damage.is_unfinished:
        return f"byte {damage.position}: {damage.size} bytes are not a whole batch"
    return f"byte {damage.position}: {damage.problem}; {damage.size} bytes are not readable"


def _batch_table(
    columns: dict[str, NDArray[np.int64]], good: NDArray[np.bool_], place: str, partition: Partition
) -> pa.Table:
    count = len(good)
    made = header_columns(columns)
    made["location"] = pa.array([f"{place}@{position}" for position in columns["position"].tolist()], pa.string())
    made["crc_ok"] = pa.array(good)
    known = {"topic": partition.topic, "partition": partition.number, "file": place, "source": "segment"}
    for name, value in known.items():
        made[name] = pa.repeat(pa.scalar(value, BATCHES.field(name).type), count)
    arrays = [made[field.name] if field.name in made else pa.nulls(count, field.type) for field in BATCHES]
    return pa.Table.from_arrays(arrays, schema=BATCHES)
