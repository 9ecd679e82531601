"""A disk that fails on demand and remembers what a power cut would leave.

Rules:
- Contents are durable as of their last `sync`, names as of their directory's last `sync_directory`; nothing else is,
  save the name of a directory, which is durable at once.
- `killed` is the disk after the process alone died: all that was written. `unplugged` is the disk after a power cut:
  all that was durable.
- A fault is armed for the n-th operation of a kind from now on, fires once, and may let a write through in part.
- After a failed sync the bytes it was for count as clean: the next sync does not write them again, as on Linux.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.log.memory import MemoryFile, MemoryFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kafkawire.log.files import Bytes


@dataclass
class Fault:
    """Fail the `after`-th operation of a kind; a write keeps its first `keep` bytes."""

    kind: str
    after: int = 0
    error: int = errno.EIO
    keep: int = 0
    sticky: bool = False


class FaultyFile(MemoryFile):
    """A file with a durable past."""

    def __init__(self, files: FaultyFiles) -> None:
        super().__init__(files.clock)
        self.durable = b""
        self._files = files
        self._dirty: list[tuple[int, int]] = []

    def write(self, position: int, parts: Sequence[Bytes]) -> None:
        content = b"".join(parts)
        fault = self._files.due("write")
        if fault is not None:
            content = content[: fault.keep]
        super().write(position, [content])
        self._dirty.append((position, position + len(content)))
        if fault is not None:
            raise OSError(fault.error, "injected")

    def read(self, position: int, size: int) -> bytes:
        self._files.strike("read")
        return super().read(position, size)

    def truncate(self, size: int) -> None:
        self._files.strike("truncate")
        super().truncate(size)

    def sync(self) -> None:
        fault = self._files.due("sync")
        dirty, self._dirty = self._dirty, []
        if fault is not None:
            raise OSError(fault.error, "injected")
        durable = bytearray(self.durable[: len(self.data)].ljust(len(self.data), b"\0"))
        for start, end in dirty:
            durable[start:end] = self.data[start : min(end, len(self.data))]
        self.durable = bytes(durable)


class FaultyFiles(MemoryFiles):
    """A memory file system that counts, fails and crashes."""

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        super().__init__(clock)
        self.faults: list[Fault] = []
        self.counts: dict[str, int] = {}
        self._durable_names: dict[Path, MemoryFile] = {}

    def arm(self, fault: Fault) -> None:
        self.faults.append(fault)

    def due(self, kind: str) -> Fault | None:
        """The fault that strikes this operation, if any."""
        with self._guard:
            return self._due(kind)

    def _due(self, kind: str) -> Fault | None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        struck = None
        for fault in [fault for fault in self.faults if fault.kind == kind]:
            if fault.after == 0 and struck is None:
                struck = fault
                if not fault.sticky:
                    self.faults.remove(fault)
            elif fault.after:
                fault.after -= 1
        return struck

    def strike(self, kind: str) -> None:
        fault = self.due(kind)
        if fault is not None:
            raise OSError(fault.error, "injected")

    def make_file(self) -> FaultyFile:
        self.strike("create")
        return FaultyFile(self)

    def rename(self, source: Path, target: Path) -> None:
        self.strike("rename")
        if source in self.folders:
            self._durable_names = {_moved(name, source, target): file for name, file in self._durable_names.items()}
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self.strike("remove")
        super().remove(path)

    def sync_directory(self, path: Path) -> None:
        self.strike("sync_directory")
        with self._guard:
            self._durable_names = {name: file for name, file in self._durable_names.items() if name.parent != path}
            self._durable_names.update({name: file for name, file in self.names.items() if name.parent == path})

    def killed(self) -> FaultyFiles:
        """The disk as it stands when the process dies now."""
        return self._reborn({name: bytes(file.data) for name, file in self.names.items()})

    def unplugged(self) -> FaultyFiles:
        """The disk as it stands when the power goes now."""
        return self._reborn(
            {name: file.durable for name, file in self._durable_names.items() if isinstance(file, FaultyFile)}
        )

    def _reborn(self, contents: dict[Path, bytes]) -> FaultyFiles:
        files = FaultyFiles(self.clock)
        for folder in self.folders:
            files.make_directory(folder)
        for name, content in contents.items():
            if name.parent in files.folders:
                file = FaultyFile(files)
                file.data, file.durable = bytearray(content), content
                files.folders[name.parent][name.name] = files._durable_names[name] = file
        return files


def _moved(path: Path, source: Path, target: Path) -> Path:
    """Where a path is after the rename of one of its parents."""
    return target / path.relative_to(source) if path == source or source in path.parents else path
