"""A file system in memory: for brokers that keep nothing, and the ground on which disk faults are played.

Rules:
- It behaves like a disk that never fails and forgets everything at the end of the process.
- A file in somebody's hands outlives its name, as on a disk.
"""

from __future__ import annotations

import errno
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from kafkawire.log.files import Bytes, Entry

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
        """Nothing outlives this process anyway."""


class MemoryLock:
    """A lock nobody else can want."""

    def release(self) -> None:
        """There is no other holder to wait."""


class MemoryFiles:
    """Names and their files, in a dictionary."""

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        self.names: dict[Path, MemoryFile] = {}
        self.directories: set[Path] = {Path("/")}
        self.clock = clock
        self._guard = RLock()

    def make_file(self) -> MemoryFile:
        return MemoryFile(self.clock)

    def open(self, path: Path, *, create: bool = False) -> MemoryFile:
        file = self.names.get(path)
        if file is not None:
            return file
        with self._guard:
            if not create or path.parent not in self.directories:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            file = self.names[path] = self.make_file()
        return file

    def list(self, path: Path) -> list[Entry]:
        if path not in self.directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
        with self._guard:
            found = [
                Entry(name.name, file.size(), file.modified_ms, False)
                for name, file in self.names.items()
                if name.parent == path
            ]
            inside = [child for child in self.directories if child.parent == path and child != path]
        return found + [Entry(child.name, 0, 0, True) for child in inside]

    def exists(self, path: Path) -> bool:
        return path in self.names or path in self.directories

    def make_directory(self, path: Path) -> None:
        self.directories.update([path, *path.parents])

    def rename(self, source: Path, target: Path) -> None:
        with self._guard:
            if source in self.directories:
                self.directories = {moved(path, source, target) for path in self.directories}
                self.names = {moved(path, source, target): file for path, file in self.names.items()}
            elif source in self.names:
                self.names[target] = self.names.pop(source)
            else:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(source))

    def remove(self, path: Path) -> None:
        with self._guard:
            self.names.pop(path, None)

    def remove_directory(self, path: Path) -> None:
        if any(name.parent == path for name in self.names):
            raise OSError(errno.ENOTEMPTY, "directory not empty", str(path))
        self.directories.discard(path)

    def sync_directory(self, path: Path) -> None:
        """Nothing outlives this process anyway."""

    def lock(self, path: Path) -> MemoryLock:
        return MemoryLock()


def moved(path: Path, source: Path, target: Path) -> Path:
    """Where a path is after the rename of one of its parents."""
    return target / path.relative_to(source) if path == source or source in path.parents else path
