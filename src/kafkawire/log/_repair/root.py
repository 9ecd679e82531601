"""The repair of the checkpoints of a data directory, planned from the findings of verification.

Rules:
- An entry past the end of its log is removed. A broker then checks the whole log, or takes the log start from the log.
- An unreadable checkpoint is removed, because a broker rebuilds it. A copy stays beside it.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from kafkawire.log import checkpoints
from kafkawire.log._offline.log_file import open_log
from kafkawire.log._repair.plan import Repair
from kafkawire.log._repair.salvage import keep_copy
from kafkawire.log._segment import LOG

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.log._offline.verify import Finding
    from kafkawire.log.storage.files import FileSystem


def plan_checkpoints(files: FileSystem, root: Path, findings: list[Finding]) -> list[Repair]:
    """The faults of the checkpoints and their repairs; nothing is changed yet."""
    found = []
    for path, group in groupby(findings, key=lambda finding: finding.path):
        first, *others = group
        words = f"{first.message}, and {len(others)} faults more" if others else first.message
        remedy = "the entries past the end of their log are removed"
        if checkpoints.read_offsets(files, path) is None:
            remedy = "removed, and a copy kept; the next start of a broker writes it"
        found.append(Repair(path, first.position, words, remedy, work=partial(_correct, files, root, path)))
    return found


def _correct(files: FileSystem, root: Path, path: Path) -> None:
    offsets = checkpoints.read_offsets(files, path)
    if offsets is None:
        keep_copy(files, path)
        files.remove(path)
        files.sync_directory(root)
        return
    ends = {(topic, number): _end(root / f"{topic}-{number}") for topic, number in offsets}
    kept = {key: offset for key, offset in offsets.items() if (end := ends[key]) is None or offset <= end}
    checkpoints.write_offsets(files, path, kept)


def _end(partition: Path) -> int | None:
    logs = sorted(partition.glob("*" + LOG))
    return open_log(logs[-1]).next_offset if logs else None
