"""The compaction of a Parquet table in a local directory, beside readers, but without a writer.

Rules:
- The table is built again in a directory beside it: merged files are written, all others are hard links, and the log of
  Spark's sink lists the new files under the same batches. Then both directories are exchanged by one call of the
  system, and the old table is removed. So there is one moment of change, for readers that follow the log and for those
  that list files.
- A kill before the exchange leaves the old table, a kill after it the new one. The directory beside it is never needed.
- Merged files have new names. A reader that has listed the old files fails on a missing file, and never reads a record
  twice.
- The new table survives a power cut before the old one is removed.
- Files that the log does not list are of a batch that was not committed. They are left out.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire._platforms import datasync, exchange, sync_directory
from kafkawire.spark._pipeline.compaction.choice import STAGING, files_to_merge
from kafkawire.spark._pipeline.compaction.parquet_files import kind_of, merge
from kafkawire.spark._pipeline.compaction.sink_log import DIRECTORY, SinkLog
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSUPPORTED: Final = (errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EXDEV)


@dataclass(frozen=True)
class Merge:
    """Files of a table that become one, with a new name in their directory."""

    inputs: tuple[str, ...]
    output: str


@dataclass
class ParquetTable:
    """A table in a directory of results."""

    root: Path
    name: str
    _log: SinkLog | None = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.root / self.name
        if self.path.is_symlink():
            raise PipelineError(f"{self.path} is a symbolic link; only a directory can be compacted")
        places = self.path / DIRECTORY
        listed = [each.name for each in places.iterdir()] if places.is_dir() else []
        self._log = SinkLog.parse(self.name, listed, lambda entry: (places / entry).read_text("utf-8"))

    def files(self) -> list[str]:
        """The files of the table, in the order of their batches; by name if no stream wrote it."""
        there = {each.relative_to(self.path).as_posix() for each in self.path.rglob("*.parquet")}
        if self._log is None:
            return sorted(there)
        names = [file.name for file in self._log.files]
        missing = sorted(set(names) - there)
        if missing:
            raise PipelineError(f"{self.path / missing[0]} is missing; {DIRECTORY} lists it")
        return names

    def merges(self, target: int) -> list[Merge]:
        """The merges that are worth their cost."""
        directories: dict[str, list[str]] = {}
        for name in self.files():
            directories.setdefault(name[: name.rfind("/") + 1], []).append(name)
        found = []
        for directory, names in directories.items():
            sizes = {name: (self.path / name).stat().st_size for name in names}
            if not files_to_merge([*sizes.values()], target):
                continue  # then no part of them is worth a merge either, and nothing has to be read
            for alike in _by_kind(self.path, [name for name in names if sizes[name] < target]):
                for group in files_to_merge([sizes[name] for name in alike], target):
                    inputs = tuple(alike[position] for position in group)
                    ending = ".".join(inputs[0].rpartition("/")[2].rsplit(".", 2)[1:])
                    found.append(Merge(inputs, f"{directory}merged-{uuid4()}.{ending}"))
        return found

    def replace(self, merges: Iterable[Merge]) -> int:
        """Merge; returns the bytes that were written."""
        staging = self.root / STAGING
        remove_unfinished(self.root)
        staging.mkdir()
        try:
            return self._replace(staging, list(merges))
        finally:
            remove_unfinished(self.root)

    def _replace(self, staging: Path, merges: list[Merge]) -> int:
        _check_support(staging)
        draft = staging / self.name
        self._copy_others(draft, set(self.files()).difference(*(each.inputs for each in merges)))
        sizes: dict[Merge, int] = {}
        for each in merges:
            sizes[each] = merge([self.path / name for name in each.inputs], draft / each.output)
            newest = max((self.path / name).stat().st_mtime_ns for name in each.inputs)
            os.utime(draft / each.output, ns=(newest, newest))
        if self._log is not None:
            self._write_log(draft / DIRECTORY, self._log, sizes)
        for directory in [each for each in draft.rglob("*") if each.is_dir()]:
            sync_directory(directory)
        sync_directory(draft)
        sync_directory(staging)
        exchange(self.path, draft)
        sync_directory(self.root)
        sync_directory(staging)
        return sum(sizes.values())

    def _copy_others(self, draft: Path, kept: set[str]) -> None:
        """Build the directories of the table, with links to all of its files that stay."""
        rewritten = set(self._log.names) if self._log is not None else set()
        for place, inner_directories, names in os.walk(self.path):
            source = Path(place)
            names += [name for name in inner_directories if (source / name).is_symlink()]
            inner = source.relative_to(self.path)
            target = draft / inner
            target.mkdir()
            _copy_access(source, target)
            for name in names:
                whole = (inner / name).as_posix()
                of = name[1:-4] if name.startswith(".") and name.endswith(".crc") else name  # a checksum of Hadoop
                if inner.as_posix() == DIRECTORY:
                    is_kept = of not in rewritten
                else:
                    is_kept = not of.endswith(".parquet") or (inner / of).as_posix() in kept
                if is_kept:
                    os.link(self.path / whole, draft / whole, follow_symlinks=False)

    def _write_log(self, places: Path, log: SinkLog, sizes: dict[Merge, int]) -> None:
        merged = {name: each for each in sizes for name in each.inputs}
        times = {file.name: int(file.status.get("modificationTime", 0)) for file in log.files}
        files = []
        for file in log.files:
            each = merged.get(file.name)
            if each is None:
                files.append(file)
            elif file.name == each.inputs[0]:
                newest = max(times[name] for name in each.inputs)
                files.append(file.replaced(each.output.rpartition("/")[2], sizes[each], newest))
        for entry, text in log.rewritten(files).items():
            with (places / entry).open("x", encoding="utf-8", newline="") as opened:
                opened.write(text)
                opened.flush()
                datasync(opened.fileno())


def remove_unfinished(root: Path) -> None:
    """Remove what a compaction that was killed has left: an unfinished table, or the old one."""
    shutil.rmtree(root / STAGING, ignore_errors=True)


def can_exchange(root: Path) -> bool:
    """Whether tables in a directory can be compacted beside readers."""
    staging = root / STAGING
    remove_unfinished(root)
    staging.mkdir()
    try:
        _check_support(staging)
    except PipelineError:
        return False
    finally:
        remove_unfinished(root)
    return True


def _check_support(staging: Path) -> None:
    one, other = staging / "one", staging / "other"
    one.mkdir()
    other.mkdir()
    (one / "file").touch()
    try:
        exchange(one, other)
        os.link(other / "file", one / "link")
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        raise PipelineError(
            f"{staging.parent}: this file system cannot exchange two directories at once or has no hard links"
            f" ({error.strerror}), so a table of Parquet cannot be compacted beside its readers; use --format delta or"
            " iceberg"
        ) from error
    shutil.rmtree(one)
    shutil.rmtree(other)


def _by_kind(path: Path, names: list[str]) -> list[list[str]]:
    """Files with equal schemas, in their order; nothing is read if there is only one."""
    if len(names) < 2:
        return []
    kinds: dict[object, list[str]] = {}
    for name in names:
        kinds.setdefault(kind_of(path / name), []).append(name)
    return list(kinds.values())


def _copy_access(source: Path, target: Path) -> None:
    """Give a directory the owner and the permissions of another, as far as this user may."""
    found = source.stat()
    if hasattr(os, "chown") and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(target, found.st_uid, found.st_gid)
    shutil.copymode(source, target)
