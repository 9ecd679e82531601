"""Log directories as Kafka writes them: the partitions, their files, and how many entries a file has.

Rules:
- A partition is a directory `topic-N` that holds files named by an offset; a log directory holds partitions.
- A file that is named for deletion, or that cleaning has not finished, is left over: it is not part of the log.
- A file that cannot be read as its kind has no entries.
- `kafkawire.log` reads the logs and verifies the other files; nothing is checked here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError
from kafkawire.log import DiskFiles, decode_aborted, decode_snapshot, index_entries
from kafkawire.log.checkpoints import EPOCHS, PARTITION, read_lines, read_topic_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER: Final = re.compile(r"(.+)-(\d+)(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")
_SEGMENT: Final = re.compile(r"(\d{20})\.(log|index|timeindex|txnindex|snapshot)(\.(?:deleted|cleaned|swap))?")
CHECKPOINT, METADATA = "checkpoint", "metadata"
COMPANIONS: Final = {EPOCHS: CHECKPOINT, PARTITION: METADATA}
"""The kinds of the files of a partition that are not named by an offset."""


class SegmentFile(NamedTuple):
    """A file of a partition that is named by an offset."""

    path: Path
    kind: str
    base_offset: int
    is_left_over: bool = False


@dataclass(slots=True)
class Partition:
    """A partition's directory."""

    folder: Path
    topic: str
    number: int
    files: list[SegmentFile] = field(default_factory=list)


def find_partitions(root: Path) -> list[Partition]:
    """The partition that a directory is, or those that it holds."""
    found = []
    for folder in (root, *sorted(path for path in root.iterdir() if path.is_dir())):
        name = _FOLDER.fullmatch(folder.name)
        files = list(_segment_files(folder))
        if name is not None and files:
            found.append(Partition(folder, name[1], int(name[2]), files))
    return found


def _segment_files(folder: Path) -> Iterator[SegmentFile]:
    for path in sorted(folder.iterdir()):
        name = _SEGMENT.fullmatch(path.name)
        if name is not None and path.is_file():
            yield SegmentFile(path, name[2], int(name[1]), name[3] is not None)


def count_entries(path: Path, kind: str) -> int:
    """The number of entries in a file beside the logs."""
    if kind in ("index", "timeindex"):
        return sum(1 for _ in index_entries(path))
    if kind == "txnindex":
        return len(decode_aborted(path.read_bytes()) or ())
    if kind == "snapshot":
        try:
            return len(decode_snapshot(path.read_bytes()))
        except KafkaWireError:
            return 0
    if kind == METADATA:
        return int(read_topic_id(DiskFiles(), path.parent) is not None)
    return len(read_lines(DiskFiles(), path) or ())
