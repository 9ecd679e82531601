"""Verification of any path: a root, a partition, or a single file.

Rules:
- A root is a directory with partitions in it: each of them is verified, then the checkpoints of the root.
- A single file is verified with its log, if there is one.
- The partitions of a topic must agree on the topic's id.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kafkawire.log import checkpoints
from kafkawire.log._offline import verify
from kafkawire.log._offline.dump import check_name, partitions_in
from kafkawire.log._offline.log_file import open_log
from kafkawire.log._offline.verify import Finding
from kafkawire.log._position_index import INDEX, TIME_INDEX
from kafkawire.log._producer_snapshots import SNAPSHOT
from kafkawire.log._segment import ABORTED, LOG
from kafkawire.log.storage.files import DiskFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PARTITION = re.compile(r"(.+)-(\d+)")
_OFFSETS = (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS, checkpoints.CLEANED)


def verify_paths(paths: Iterable[Path], *, interval: int = verify.DEFAULT_INTERVAL) -> Iterator[Finding]:
    """Every finding in directories and files."""
    for path in paths:
        if not path.is_dir():
            check_name(path)
            yield from _verify_file(path, interval)
            continue
        partitions = partitions_in(path)
        for partition in partitions:
            yield from verify.verify_partition(partition, interval=interval)
        if partitions != [path]:
            yield from _verify_root(path, partitions)


def _verify_file(path: Path, interval: int) -> Iterator[Finding]:
    if path.suffix == SNAPSHOT:
        yield from verify.verify_snapshot(path)
        return
    log_path = path.with_suffix(LOG)
    if not log_path.exists():
        yield Finding(path, -1, "there is no log of this name")
        return
    log = open_log(log_path)
    if path.suffix == LOG:
        yield from verify.verify_log(log)
    elif path.suffix == INDEX:
        yield from verify.verify_offset_index(log, interval)
    elif path.suffix == TIME_INDEX:
        yield from verify.verify_time_index(log)
    elif path.suffix == ABORTED:
        yield from verify.verify_aborted(log)


def _verify_root(root: Path, partitions: list[Path]) -> Iterator[Finding]:
    files = DiskFiles()
    ids: dict[str, tuple[object, Path]] = {}
    for partition in partitions:
        match = _PARTITION.fullmatch(partition.name)
        topic_id = checkpoints.read_topic_id(files, partition)
        if match is None or topic_id is None:
            continue
        first, where = ids.setdefault(match[1], (topic_id, partition))
        if first != topic_id:
            message = f"topic id {topic_id}, {where.name} has {first}"
            yield Finding(partition / checkpoints.PARTITION, -1, message)
    for name in _OFFSETS:
        yield from _verify_offsets(root / name, root, files)


def _verify_offsets(path: Path, root: Path, files: DiskFiles) -> Iterator[Finding]:
    if not path.exists() or not path.stat().st_size:
        return
    offsets = checkpoints.read_offsets(files, path)
    if offsets is None:
        yield Finding(path, 0, "expected a version of 0, a count, and as many lines of topic, partition and offset")
        return
    for (topic, number), offset in offsets.items():
        logs = sorted((root / f"{topic}-{number}").glob("*" + LOG))
        if logs and offset > (end := open_log(logs[-1]).next_offset):
            yield Finding(path, -1, f"{topic}-{number} at offset {offset}, its log ends at {end}")
