"""A file system in memory: for brokers without data on disk, and the base of simulated disk faults.

Rules:
- It behaves like a disk that never fails. All data is lost at the end of the process.
- An open file stays readable after it is renamed or removed, as on a disk.
"""

from __future__ import annotations

import errno
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from kafkawire.log.storage.files import Bytes, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class MemoryFile:
    """One file's bytes."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.data = bytearray()
        self.modified_ms = clock()
        self._clock = clock

    def fileno(self) -> int:
        return -1

    def size(self) -> int:
        return len(self.data)

    def read(self, position: int, size: int) -> bytes:
        with memoryview(self.data) as data:
            return bytes(data[position : position + size])

    def write(self, position: int, parts: Sequence[Bytes]) -> None:
        content = b"".join(parts)
        if position > len(self.data):
            self.data.extend(bytes(position - len(self.data)))
        self.data[position : position + len(content)] = content
        self.modified_ms = self._clock()

    def truncate(self, size: int) -> None:
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))

    def sync(self) -> None:
        """Nothing to do: the data is lost with the process."""


class MemoryLock:
    """A lock that no other process can take."""

    def release(self) -> None:
        """Nothing waits for it."""


class MemoryFiles:
    """Directories and their entries."""

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        self.folders: dict[Path, dict[str, MemoryFile | None]] = {Path("/"): {}}
        """The entries of each directory by name: a file, or None for a directory."""
        self.clock = clock
        self._guard = RLock()

    @property
    def names(self) -> dict[Path, MemoryFile]:
        """Every file by its path."""
        return {
            folder / name: file
            for folder, inside in self.folders.items()
            for name, file in inside.items()
            if file is not None
        }

    def make_file(self) -> MemoryFile:
        return MemoryFile(self.clock)

    def open(self, path: Path, *, create: bool = False) -> MemoryFile:
        with self._guard:
            folder = self.folders.get(path.parent, {})
            file = folder.get(path.name)
            if file is None:
                if not create or path.parent not in self.folders:
                    raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
                file = folder[path.name] = self.make_file()
            return file

    def list(self, path: Path) -> list[Entry]:
        with self._guard:
            if path not in self.folders:
                raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
            return [
                Entry(name, 0, 0, True) if file is None else Entry(name, file.size(), file.modified_ms, False)
                for name, file in self.folders[path].items()
            ]

    def exists(self, path: Path) -> bool:
        return path in self.folders or path.name in self.folders.get(path.parent, {})

    def make_directory(self, path: Path) -> None:
        with self._guard:
            for folder in (*reversed(path.parents), path):
                if folder not in self.folders:
                    self.folders[folder] = {}
                    if folder != folder.parent:
                        self.folders[folder.parent][folder.name] = None

    def rename(self, source: Path, target: Path) -> None:
        with self._guard:
            if not self.exists(source):
                raise FileNotFoundError(errno.ENOENT, "no such file", str(source))
            if source in self.folders:
                self._move(source, target)
            self.folders[target.parent][target.name] = self.folders[source.parent].pop(source.name)

    def _move(self, source: Path, target: Path) -> None:
        inside = self.folders[target] = self.folders.pop(source)
        for name, file in inside.items():
            if file is None:
                self._move(source / name, target / name)

    def remove(self, path: Path) -> None:
        with self._guard:
            self.folders.get(path.parent, {}).pop(path.name, None)

    def remove_directory(self, path: Path) -> None:
        with self._guard:
            if self.folders.get(path):
                raise OSError(errno.ENOTEMPTY, "directory not empty", str(path))
            if self.folders.pop(path, None) is not None:
                del self.folders[path.parent][path.name]

    def sync_directory(self, path: Path) -> None:
        """Nothing to do: the data is lost with the process."""

    def whole_sync(self, path: Path) -> Callable[[], None] | None:
        return lambda: None

    def lock(self, path: Path) -> MemoryLock:
        return MemoryLock()
