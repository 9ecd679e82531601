"""A file system in memory: for brokers without data on disk, and the base of simulated disk faults.

Rules:
- It behaves like a disk that never fails. All data is lost at the end of the process.
- An open file stays readable after it is renamed or removed, as on a disk.
- Directories have texts as keys, because a `Path` is expensive to hash and to compare.
"""

from __future__ import annotations

import errno
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from kafkawire.log.storage.files import Bytes, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def place(text: str) -> tuple[str, str]:
    """The directory of a path, and its name there.

    >>> place("/data/orders-0"), place("/data"), place("data")
    (('/data', 'orders-0'), ('/', 'data'), ('.', 'data'))
    """
    parent, slash, name = text.rpartition("/")
    return parent or slash or ".", name


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
        self._folders: dict[str, dict[str, MemoryFile | None]] = {"/": {}}
        """The entries of each directory by name: a file, or None for a directory."""
        self.clock = clock
        self._guard = RLock()

    @property
    def folders(self) -> dict[Path, dict[str, MemoryFile | None]]:
        """The entries of every directory by its path."""
        return {Path(text): inside for text, inside in self._folders.items()}

    @property
    def names(self) -> dict[Path, MemoryFile]:
        """Every file by its path."""
        return {
            Path(folder, name): file
            for folder, inside in self._folders.items()
            for name, file in inside.items()
            if file is not None
        }

    def make_file(self, parent: str, name: str) -> MemoryFile:
        """The file of a new name in a directory."""
        return MemoryFile(self.clock)

    def open(self, path: Path, *, create: bool = False) -> MemoryFile:
        with self._guard:
            parent, name = place(path.as_posix())
            folder = self._folders.get(parent)
            file = None if folder is None else folder.get(name)
            if file is None:
                if not create or folder is None:
                    raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
                file = folder[name] = self.make_file(parent, name)
            return file

    def list(self, path: Path) -> list[Entry]:
        with self._guard:
            inside = self._folders.get(path.as_posix())
            if inside is None:
                raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
            return [
                Entry(name, 0, 0, True) if file is None else Entry(name, file.size(), file.modified_ms, False)
                for name, file in inside.items()
            ]

    def exists(self, path: Path) -> bool:
        return self._exists(path.as_posix())

    def _exists(self, text: str) -> bool:
        parent, name = place(text)
        return text in self._folders or name in self._folders.get(parent, {})

    def make_directory(self, path: Path) -> None:
        with self._guard:
            self._make_directory(path.as_posix())

    def _make_directory(self, text: str) -> None:
        if text not in self._folders:
            parent, name = place(text)
            if parent != text:
                self._make_directory(parent)
                self._folders[parent][name] = None
            self._folders[text] = {}

    def rename(self, source: Path, target: Path) -> None:
        with self._guard:
            before, after = source.as_posix(), target.as_posix()
            if not self._exists(before):
                raise FileNotFoundError(errno.ENOENT, "no such file", str(source))
            if before in self._folders:
                self._move(before, after)
            (parent, name), (new_parent, new_name) = place(before), place(after)
            self._folders[new_parent][new_name] = self._folders[parent].pop(name)

    def _move(self, source: str, target: str) -> None:
        inside = self._folders[target] = self._folders.pop(source)
        for name, file in inside.items():
            if file is None:
                self._move(f"{source}/{name}", f"{target}/{name}")

    def remove(self, path: Path) -> None:
        with self._guard:
            parent, name = place(path.as_posix())
            self._folders.get(parent, {}).pop(name, None)

    def remove_directory(self, path: Path) -> None:
        with self._guard:
            text = path.as_posix()
            if self._folders.get(text):
                raise OSError(errno.ENOTEMPTY, "directory not empty", str(path))
            if self._folders.pop(text, None) is not None:
                parent, name = place(text)
                del self._folders[parent][name]

    def sync_directory(self, path: Path) -> None:
        """Nothing to do: the data is lost with the process."""

    def whole_sync(self, path: Path) -> Callable[[], None] | None:
        return lambda: None

    def lock(self, path: Path) -> MemoryLock:
        return MemoryLock()
