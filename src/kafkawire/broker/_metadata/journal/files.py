"""The files of the journal, examined before the journal is opened, and written again after damage.

Rules:
- Every whole batch is kept, before and behind a damage, and the changes in them apply in order.
- A journal has no gaps: an offset that does not follow the one before it is damage. So is an end before the offset
  that a checkpoint names as durable.
- A damaged segment is copied beside itself before the journal changes.
- The journal is written as one segment under the suffix `.swap`, which then replaces all segments. A stop in between
  leaves a `.swap`, which the next start finishes.
- A journal of Apache Kafka is recognised and not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._metadata.journal.log import read_change
from kafkawire.broker._metadata.journal.state import JournalState
from kafkawire.broker._metadata.topics import CLUSTER_METADATA
from kafkawire.log import LOG_SUFFIX as LOG
from kafkawire.log import SEGMENT_SUFFIXES as SUFFIXES
from kafkawire.log import SNAPSHOT_SUFFIX as SNAPSHOT
from kafkawire.log import SWAP_SUFFIX as SWAP
from kafkawire.log import checkpoints, keep_copy, write_parts
from kafkawire.log import salvage_batches as salvage
from kafkawire.log import segment_stem as stem
from kafkawire.log.storage.files import read_file
from kafkawire.records import read_batches
from kafkawire.records.layout import ASSIGNED, PREFIX_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kafkawire.log.storage.files import FileSystem

JOURNAL: Final = f"{CLUSTER_METADATA}-0"
_KEY: Final = (CLUSTER_METADATA, 0)
_OF_KAFKA: Final = ("quorum-state", ".checkpoint")


class JournalFault(NamedTuple):
    """Something in the journal that is not as it was written."""

    path: Path
    position: int
    fault: str
    is_tail: bool


@dataclass
class JournalFiles:
    """The content of a journal's files."""

    directory: Path
    segments: list[Path] = field(default_factory=list)
    batches: list[memoryview] = field(default_factory=list)
    faults: list[JournalFault] = field(default_factory=list)
    state: JournalState = field(default_factory=JournalState)
    base_offset: int = 0
    end_offset: int = 0
    is_unfinished: bool = False
    """Whether a restoration was interrupted after the new journal was written."""
    of_kafka: str = ""
    """The file that shows that Apache Kafka wrote this journal."""

    @property
    def is_missing(self) -> bool:
        return not self.segments


def examine(files: FileSystem, root: Path) -> JournalFiles:
    """Read the journal of a data directory, as far as it is whole."""
    found = JournalFiles(root / JOURNAL)
    names = sorted(entry.name for entry in files.list(found.directory)) if files.exists(found.directory) else []
    found.of_kafka = _mark_of_kafka(names)
    if found.of_kafka:
        return found
    logs = [name for name in names if name.endswith(LOG) and name[:-4].isdigit()]
    swaps = [name for name in names if name.endswith(LOG + SWAP)]
    found.is_unfinished = bool(swaps)
    found.segments = [found.directory / name for name in swaps[:1] or logs]
    found.base_offset = found.end_offset = int(found.segments[0].name[:20]) if found.segments else 0
    for path in found.segments:
        _read_segment(files, path, found)
    durable = (checkpoints.read_offsets(files, root / checkpoints.RECOVERY_POINTS) or {}).get(_KEY, 0)
    if durable > found.end_offset and not found.is_unfinished:
        path = found.segments[-1] if found.segments else found.directory
        size = files.open(path).size() if found.segments else -1
        words = f"ends at offset {found.end_offset}, {checkpoints.RECOVERY_POINTS} says that {durable} was durable"
        found.faults.append(JournalFault(path, size, words, is_tail=True))
    return found


def is_of_kafka(files: FileSystem, root: Path) -> bool:
    """Whether the journal of a data directory has files that only Apache Kafka writes."""
    directory = root / JOURNAL
    return files.exists(directory) and bool(_mark_of_kafka(entry.name for entry in files.list(directory)))


def _mark_of_kafka(names: Iterable[str]) -> str:
    return next((name for name in names if name.endswith(_OF_KAFKA)), "")


def _read_segment(files: FileSystem, path: Path, found: JournalFiles) -> None:
    data = memoryview(read_file(files, path))
    base = int(path.name[:20])
    saved = salvage(data, base)
    stated = counted = found.end_offset
    if base != stated:
        found.faults.append(JournalFault(path, 0, f"starts at offset {base}, expected {stated}", is_tail=False))
        stated = counted = base
    damage = {each.end: each for each in saved.damage}
    for batch in saved.batches:
        count = batch.last_offset - batch.base_offset + 1
        if (bad := damage.pop(batch.position, None)) is not None:
            words = f"{bad.size} bytes are not a whole batch: {bad.problem}"
            if batch.base_offset > stated:
                words += f"; the changes of offsets {stated} to {batch.base_offset - 1} are lost"
            found.faults.append(JournalFault(path, bad.position, words, is_tail=False))
            stated = batch.base_offset
        elif batch.base_offset not in (stated, counted):
            words = f"the batch states offset {batch.base_offset}, expected {stated}"
            found.faults.append(JournalFault(path, batch.position, words, is_tail=False))
        else:
            stated = batch.base_offset
        stated, counted = batch.last_offset + 1, stated + count
        content = data[batch.position : batch.end]
        for each in read_batches(content):
            found.of_kafka = found.of_kafka or (path.name if each.is_control else "")
            for change in read_change(each, path):
                found.state.apply(change)
        found.batches.append(content)
    for bad in damage.values():
        words = f"{bad.size} bytes at the end are not a whole batch: {bad.problem}"
        found.faults.append(JournalFault(path, bad.position, words, is_tail=True))
    found.end_offset = max(counted, base)


def read_kafka(files: FileSystem, directory: Path) -> JournalState:
    """The topics and settings in a journal of Apache Kafka: its latest snapshot, and the changes since."""
    names = sorted(entry.name for entry in files.list(directory))
    snapshots = [name for name in names if name.endswith(".checkpoint")]
    start = int(snapshots[-1][:20]) if snapshots else 0
    state = JournalState()
    for name in [*snapshots[-1:], *(name for name in names if name.endswith(LOG))]:
        data = read_file(files, directory / name)
        for span in salvage(data, 0 if name in snapshots else int(name[:20])).batches:
            if name in snapshots or span.last_offset >= start:
                for batch in read_batches(data[span.position : span.end]):
                    for change in read_change(batch, directory / name):
                        state.apply(change)
    return state


def rewrite(files: FileSystem, root: Path, found: JournalFiles, addition: bytes) -> list[Path]:
    """Write the journal from its whole batches and one more change; the copies that were kept of damaged segments."""
    files.make_directory(found.directory)
    damaged = dict.fromkeys(fault.path for fault in found.faults if fault.path in found.segments)
    finished = (path if files.exists(path) else path.with_name(path.name.removesuffix(SWAP)) for path in damaged)
    copies = [keep_copy(files, path) for path in finished]
    write_parts(files, found.directory / (stem(found.base_offset) + LOG + SWAP), _numbered(found, addition))
    finish(files, found.directory)
    first = found.base_offset
    for name, largest in (
        (checkpoints.RECOVERY_POINTS, 0),
        (checkpoints.LOG_STARTS, first),
        (checkpoints.HIGH_WATERMARKS, first),
    ):
        offsets = checkpoints.read_offsets(files, root / name)
        if offsets is not None and offsets.get(_KEY, 0) > largest:
            checkpoints.write_offsets(files, root / name, {**offsets, _KEY: largest})
    return copies


def _numbered(found: JournalFiles, addition: bytes) -> Iterator[bytes]:
    offset = found.base_offset
    for content in [*found.batches, memoryview(addition)] if addition else found.batches:
        last_delta = int.from_bytes(content[23:27], "big")
        yield ASSIGNED.pack(offset, len(content) - PREFIX_SIZE, 0) + bytes(content[ASSIGNED.size :])
        offset += last_delta + 1


def finish(files: FileSystem, directory: Path) -> None:
    """Let a journal under the suffix `.swap` replace all segments."""
    names = [entry.name for entry in files.list(directory)]
    swap = next(name for name in sorted(names) if name.endswith(LOG + SWAP))
    for name in names:
        if name.endswith((*SUFFIXES, SNAPSHOT)) and name[:20].isdigit():
            files.remove(directory / name)
    files.rename(directory / swap, directory / swap.removesuffix(SWAP))
    files.sync_directory(directory)
